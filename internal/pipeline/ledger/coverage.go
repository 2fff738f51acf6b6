package ledger

import (
	"cmp"
	"slices"
)

// Partition is one partition of a topic, as long as the topic is not recreated.
type Partition struct {
	Topic   string // without prefix
	TopicID [16]byte
	Index   int32
}

// Cursor is a place in what the ledger tells of a partition: everything before
// the offset Next was looked at. A replay raises the epoch and may set the offset
// back, so cursors are ordered by epoch first.
type Cursor struct{ Epoch, Next int64 }

// Compare orders cursors.
func (c Cursor) Compare(d Cursor) int {
	return cmp.Or(cmp.Compare(c.Epoch, d.Epoch), cmp.Compare(c.Next, d.Next))
}

// Gap is a run of offsets that are committed and that no entry covers. From is
// where the entries before it end, To where those after it begin; the epochs
// differ when the gap lies between the ranges of two epochs.
type Gap struct{ From, To Cursor }

// Span returns the offsets.
func (g Gap) Span() Span { return Span{First: g.From.Next, Last: g.To.Next - 1} }

// Findings are what a check of entries brings to light.
type Findings struct {
	// Gaps are committed offsets that no entry covers.
	Gaps []Gap
	// Overlaps are offsets that a range covers although one before it, of the same
	// epoch, does.
	Overlaps []Span
	// Miscounts are entries whose counts are not those of their length.
	Miscounts []Entry
	// Lost are offsets that only an entry of kind gap covers: their records were deleted from the
	// topic before they were stored.
	Lost []Span
	// End is where to go on.
	End Cursor
}

// Check walks from one cursor to the other along the entries, which are ordered
// by epoch, first and last offset, each span once. They are those of from's epoch
// that end at or after from.Next, and those of later epochs; whole says that
// there are no more of them before to.
//
// Where the first range of an epoch begins before the last one of the epoch
// before ended, the offsets were set back for a replay, and the walk goes on
// there. Entries that begin at or after to are left for another time: they may be
// written before their offset is committed.
func Check(from, to Cursor, entries []Entry, whole bool) Findings {
	f := Findings{End: from}
	var holes []Gap
	var gone []Span
	for i := range entries {
		e := &entries[i]
		begin := e.begin()
		if begin.Compare(to) >= 0 {
			continue
		}
		if !addsUp(e) {
			f.Miscounts = append(f.Miscounts, *e)
		}
		if e.Kind == EntryGap {
			gone = append(gone, e.Span)
			continue
		}
		switch {
		case begin.Next > f.End.Next:
			holes = append(holes, Gap{f.End, begin})
		case begin.Next < f.End.Next && begin.Epoch == f.End.Epoch:
			f.Overlaps = append(f.Overlaps, Span{First: begin.Next, Last: min(f.End.Next-1, e.Span.Last)})
		}
		next := e.Span.Last + 1
		if begin.Epoch == f.End.Epoch {
			next = max(next, f.End.Next)
		}
		f.End = Cursor{e.Epoch, next}
	}
	if whole && f.End.Next < to.Next {
		holes = append(holes, Gap{f.End, to})
		f.End = to
	}
	for _, h := range holes {
		f.split(h, gone)
	}
	return f
}

// addsUp reports whether the counts of an entry account for each of its offsets.
func addsUp(e *Entry) bool {
	return min(e.Stored, e.Duplicates, e.DeadLetters, e.Skipped, e.Erased) >= 0 &&
		e.Stored+e.Duplicates+e.DeadLetters+e.Skipped+e.Erased == e.Span.Len()
}

// split tells the part of a hole that the ledger calls gone from the part that it
// says nothing about.
func (f *Findings) split(h Gap, gone []Span) {
	slices.SortFunc(gone, func(a, b Span) int { return cmp.Compare(a.First, b.First) })
	at, end := h.From.Next, h.To.Next
	for _, g := range gone {
		first, last := max(g.First, at), min(g.Last, end-1)
		if first > last {
			continue
		}
		if first > at {
			f.Gaps = append(f.Gaps, Gap{Cursor{h.From.Epoch, at}, Cursor{h.To.Epoch, first}})
		}
		f.Lost = append(f.Lost, Span{First: first, Last: last})
		at = last + 1
	}
	if at < end {
		f.Gaps = append(f.Gaps, Gap{Cursor{h.From.Epoch, at}, h.To})
	}
}
