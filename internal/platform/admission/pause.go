package admission

import "time"

// A rejection costs the processor nearly as much as a small request that is done: most of it is
// the system's work of reading and writing. Callers who send again at once, as fast as they are
// rejected, so keep a host from the work that it has let in, and by what that waits for the gate
// sees a queue where there is none and lets in less: of 31,000 requests a second 800 were left
// (tests/fault, three times the capacity over 3,000 connections). A rejection that comes a moment
// later holds up its connection alone, and so bounds how many there are.
const (
	// shortestPause and longestPause bound how long a rejection is held back. With the longest,
	// as many connections as an edge has by default bring 16,000 rejections a second.
	shortestPause, longestPause = 10 * time.Millisecond, 250 * time.Millisecond
	// pauseStep is what the pause grows and shrinks by from one look to the next.
	pauseStep = 1.5
	// fewRejections a second are no trouble: they take some fiftieth of a processor.
	fewRejections = 1000
)

// CountRejection counts a rejection that somebody else made for want of room.
func (g *Gate) CountRejection() { g.turned.Add(1) }

// Pause returns how long whoever rejects a claim should hold the rejection back, once all that
// the request holds is given back: 0 unless there are more rejections than work that is done.
func (g *Gate) Pause() time.Duration { return time.Duration(g.pause.Load()) }

// paused returns the pause that follows one, where so many claims were rejected and so many done
// in some time. In between it stays: there are about as many of the one as of the other then.
func paused(now time.Duration, rejected, done int64, in time.Duration) time.Duration {
	many := float64(rejected) > fewRejections*in.Seconds()
	switch {
	case many && rejected > done:
		return min(max(shortestPause, time.Duration(float64(now)*pauseStep)), longestPause)
	case many && 2*rejected > done:
		return now
	}
	if now = time.Duration(float64(now) / pauseStep); now < shortestPause {
		return 0
	}
	return now
}
