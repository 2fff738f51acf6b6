package main

import (
	"context"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// loopSpinning is loopOpen for a server beside which nothing else runs on the load's core: one
// thread that never sleeps sends at the moments, and looks for responses in between. At tens of
// thousands of requests a second sleeping goroutines are woken late, and their lateness would
// count as the server's.
func loopSpinning(ctx context.Context, j job, say func(result) error) error {
	s := spinner{between: time.Second * connections / time.Duration(j.Rate), took: newHistogram()}
	defer s.close()
	for range connections {
		l, err := dial(ctx, j.Addr, j.requests())
		if err != nil {
			return err
		}
		s.lines = append(s.lines, &timedLine{line: l})
	}
	runtime.LockOSThread()
	debug.SetGCPercent(-1) // it allocates next to nothing
	start := time.Now()
	for i, l := range s.lines {
		l.due = start.Add(s.between * time.Duration(i) / connections)
	}
	for end := start.Add(j.For); ctx.Err() == nil; {
		if left, err := s.pass(end); err != nil || !left {
			return s.say(start, err, say)
		}
	}
	return ctx.Err()
}

// spinner is connections, each with requests at moments of its own.
type spinner struct {
	between time.Duration // between two requests of a connection
	lines   []*timedLine
	took    *hdrhistogram.Histogram // microseconds, from when a request was due
}

type timedLine struct {
	*line

	due  time.Time // when the request that is under way, or the next one, is to be sent
	busy bool
}

// pass goes over the connections once; left says that there is something to wait for.
func (s *spinner) pass(end time.Time) (left bool, err error) {
	for _, l := range s.lines {
		if err := s.step(l, end); err != nil {
			return false, err
		}
		left = left || l.busy || l.due.Before(end)
	}
	return left, nil
}

func (s *spinner) step(l *timedLine, end time.Time) error {
	if l.busy {
		answered, err := l.move()
		if err != nil || !answered {
			return err
		}
		if err := s.took.RecordValue(max(1, time.Since(l.due).Microseconds())); err != nil {
			return err
		}
		l.busy, l.due = false, l.due.Add(s.between)
	}
	if l.due.After(time.Now()) || !l.due.Before(end) {
		return nil
	}
	l.busy = true
	_, err := l.move()
	return err
}

func (s *spinner) close() {
	for _, l := range s.lines {
		l.file.Close()
	}
}

func (s *spinner) say(start time.Time, err error, say func(result) error) error {
	if err != nil {
		return err
	}
	return say(
		result{Events: float64(s.took.TotalCount()), Seconds: time.Since(start).Seconds(), Latency: latencyOf(s.took)})
}
