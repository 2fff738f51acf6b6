package sink

import "github.com/millrace/millrace/internal/pipeline/sink/buffer"

// Level implements buffer.Fetched.
func (w *worker) Level() buffer.Level {
	w.mu.Lock()
	defer w.mu.Unlock()
	return buffer.Level{
		Sealed: w.sealed, Next: w.open.Next(), Bytes: w.open.Bytes(), Exact: w.isForced(), Whole: w.complete(),
		AtEnd: w.logEnd > 0 && w.open.Next() >= w.logEnd, Halted: w.haltReason != "", Ending: w.ending != running,
		Restoring: !w.restored && !w.sampling,
	}
}

// isForced reports whether the next range is a span that has to be whole. mu is held.
func (w *worker) isForced() bool { return w.forced != nil && w.forced.exact }

// Bench implements buffer.Fetched.
func (w *worker) Bench(wait bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.benched = wait
	w.regulate()
}

// regulate has the partition fetched, or not: it is not while its next range is
// complete, because the one in flight has to be settled first, while it is
// halted, and while it waits for its turn. mu is held.
func (w *worker) regulate() {
	stop := w.haltReason != "" || w.complete() || w.benched
	if stop == w.paused {
		return
	}
	w.paused = stop
	if stop {
		w.deps.Source.Pause(w.partition)
	} else {
		w.deps.Source.Resume(w.partition)
	}
}
