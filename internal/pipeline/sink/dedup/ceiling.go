package dedup

import "slices"

// Ceiling says that from an offset on a window does not note what was received from a bucket on,
// and that it has forgotten what it had noted of that by then.
//
// A window has none, unless it had too much while records were ahead of all that it follows to.
// They ascend in both: as the window moves on a higher one begins. With them and the low
// watermark the window can be made again from the log. When nothing that was left out could be
// known any more, it has none again.
type Ceiling struct {
	Bucket int32
	From   int64 // the offset
}

// steps is into how many a horizon is divided by ceilings, so that there are few of them.
const steps = 8

// ahead returns the lowest bucket, of those that begin a step, that is ahead of all that the
// window has followed to.
func (w *Window) ahead() int32 {
	step := max(1, (w.horizon+steps-1)/steps)
	return (w.newest+slackBuckets)/step*step + step
}

// under reports whether observations of a bucket are noted.
func (w *Window) under(b int32) bool {
	n := len(w.ceilings)
	if n == 0 || b < w.ceilings[n-1].Bucket {
		return true
	}
	w.top = max(w.top, b)
	return false
}

// Shown says at which offset the records begin that the window was not shown yet.
func (w *Window) Shown(next int64) { w.next = next }

// Ceilings returns those of the window, which the caller must not change.
func (w *Window) Ceilings() []Ceiling { return w.ceilings }

// forgetAhead makes room by what is ahead of all that the window follows, from edges whose
// clocks are ahead; it reports whether there was anything of it.
func (w *Window) forgetAhead() bool {
	from, found := w.ahead(), int64(0)
	for b, n := range w.counts {
		if b >= from && *n > 0 {
			found++
		}
	}
	// While it is read again nobody knows the offset, and one that was read again may follow to
	// less than before.
	if n := len(w.ceilings); found == 0 || w.rebuilding || n > 0 && from <= w.ceilings[n-1].Bucket {
		return false
	}
	w.SetCeiling(Ceiling{from, w.next})
	w.early += found
	return true
}

// SetCeiling begins a ceiling at the offset of what comes next. It is above those before.
func (w *Window) SetCeiling(c Ceiling) {
	w.ceilings = append(slices.Clip(w.ceilings), c)
	for b, n := range w.counts {
		if b < c.Bucket {
			continue
		}
		if *n > 0 {
			w.top = max(w.top, b)
		}
		w.keys -= *n
		delete(w.counts, b)
	}
	w.count = nil
	for i := range w.shards {
		w.shards[i].forgetFrom(c.Bucket)
	}
	w.mergeCeilings()
}

// moveCeiling lets the ceiling follow the window, or ends it when what was left out by it is
// older than the window.
func (w *Window) moveCeiling() {
	n := len(w.ceilings)
	switch to := w.ahead(); {
	case n == 0:
	case w.top < w.lowWatermark:
		w.ceilings, w.top = nil, 0
	case to > w.ceilings[n-1].Bucket:
		w.SetCeiling(Ceiling{to, w.next})
	}
}

// mergeCeilings makes one of those below the low watermark: of what is above it they leave out
// all.
func (w *Window) mergeCeilings() {
	for len(w.ceilings) > 1 && w.ceilings[1].Bucket <= w.lowWatermark {
		merged := Ceiling{w.ceilings[1].Bucket, w.ceilings[0].From}
		w.ceilings = append([]Ceiling{merged}, w.ceilings[2:]...)
	}
}
