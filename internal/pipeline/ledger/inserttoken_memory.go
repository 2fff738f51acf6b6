package ledger

import "time"

// InsertTokenMemory is what a server remembers of insert tokens.
type InsertTokenMemory struct {
	Inserts int           // the latest, of which every table has the tokens
	For     time.Duration // and no longer than this; 0 means no bound in time
}

// Horizon returns how long a token is remembered, when so many inserts a second come from
// everybody.
func (m InsertTokenMemory) Horizon(insertsPerSecond float64) time.Duration {
	horizon := time.Duration(1<<63 - 1)
	if m.For > 0 {
		horizon = m.For
	}
	// In seconds: few inserts make more of them than a Duration holds.
	if seconds := float64(m.Inserts) / insertsPerSecond; insertsPerSecond > 0 && seconds < horizon.Seconds() {
		horizon = time.Duration(seconds * float64(time.Second))
	}
	return horizon
}
