package sink

import (
	"context"
	"log/slog"
	"slices"
	"time"
)

// Assigned implements RebalanceListener.
func (s *Sink) Assigned(ctx context.Context, assigned []Assignment) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range assigned {
		if s.workers[a.Partition] != nil {
			continue // kept through a change of the group
		}
		w := newWorker(s.common, a)
		s.workers[a.Partition] = w
		w.start(ctx)
	}
	s.lookSoon()
	s.deps.Log.LogAttrs(ctx, slog.LevelInfo, "partitions assigned", slog.Int("new", len(assigned)),
		slog.Int("owned", len(s.workers)))
}

// Revoked implements RebalanceListener. An insert under way may finish and be committed, so
// that the next owner does not have to do it again; all else is dropped.
func (s *Sink) Revoked(ctx context.Context, revoked []Partition) {
	workers := s.remove(revoked)
	for _, w := range workers {
		w.end(aborting)
	}
	late := s.await(workers, s.cfg.InsertTimeout)
	s.deps.Log.LogAttrs(ctx, slog.LevelInfo, "partitions revoked", slog.Int("partitions", len(workers)),
		slog.Int("cut_off", late))
}

// Lost implements RebalanceListener: nothing may be committed any more.
func (s *Sink) Lost(ctx context.Context, lost []Partition) {
	workers := s.remove(lost)
	s.await(workers, 0)
	s.deps.Log.LogAttrs(ctx, slog.LevelWarn, "partitions lost", slog.Int("partitions", len(workers)))
}

// Gone implements RebalanceListener.
func (s *Sink) Gone(_ context.Context, p Partition, err error) {
	s.mu.Lock()
	w := s.workers[p]
	s.mu.Unlock()
	if w != nil {
		w.gone(err)
	}
}

// await waits for workers to end by themselves, then ends the rest at once. It
// returns how many those were.
func (s *Sink) await(workers []*worker, patience time.Duration) (late int) {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	expired := patience <= 0
	for _, w := range workers {
		if !expired {
			select {
			case <-w.done:
			case <-timer.C:
				expired = true
			}
		}
		if expired {
			select {
			case <-w.done:
			default:
				late++
			}
			w.cancel()
		}
	}
	for _, w := range workers {
		<-w.done
		w.cancel()
	}
	return late
}

func (s *Sink) remove(ps []Partition) []*worker {
	s.mu.Lock()
	defer s.mu.Unlock()
	var workers []*worker
	for _, p := range ps {
		if w := s.workers[p]; w != nil {
			delete(s.workers, p)
			workers = append(workers, w)
		}
	}
	return workers
}

func (s *Sink) owned() []*worker {
	s.mu.Lock()
	defer s.mu.Unlock()
	workers := make([]*worker, 0, len(s.workers))
	for _, w := range s.workers {
		workers = append(workers, w)
	}
	slices.SortFunc(workers, func(a, b *worker) int { return int(a.partition.Index - b.partition.Index) })
	return workers
}
