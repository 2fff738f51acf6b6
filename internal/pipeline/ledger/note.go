package ledger

import (
	"context"
	"time"
)

// note notes the pairs of those entries that begin before to, and returns where to go on: end,
// or the first entry with pairs for which there is no room. Of those after it, the pairs that
// wait already are noted: they are not quiet.
func (r *Reconciler) note(s *partition, entries []Entry, to, end Cursor) Cursor {
	now, room, full := time.Now(), r.room(), false
	for i := range entries {
		e := &entries[i]
		if e.begin().Compare(to) >= 0 {
			continue
		}
		if !full && room <= 0 && !s.waits(e) {
			full, end = true, e.begin()
		}
		room -= s.touch(e, now, !full)
	}
	return end
}

// catchUp notes pairs of entries that were checked when there was no room for them.
func (r *Reconciler) catchUp(ctx context.Context, p Partition, s *partition) error {
	for range pagesPerRound {
		if s.noted.Compare(s.cursor) >= 0 || r.room() <= 0 {
			return nil
		}
		entries, err := r.deps.Store.Entries(ctx, p, s.noted, entriesAtOnce)
		if err != nil {
			return err
		}
		end := s.cursor
		if len(entries) == entriesAtOnce {
			last := &entries[len(entries)-1]
			end = earlier(end, Cursor{last.Epoch, last.Span.Last + 1})
		}
		s.noted = r.note(s, entries, s.cursor, end)
	}
	return nil
}

// room returns for how many pairs more memory is meant.
func (r *Reconciler) room() int {
	room := r.maxWaiting
	for _, s := range r.partitions {
		room -= len(s.pairs)
	}
	return room
}

// waits reports whether all pairs of an entry wait already.
func (s *partition) waits(e *Entry) bool {
	for _, t := range e.Touched {
		if s.pairs[t] == nil {
			return false
		}
	}
	return true
}

// touch notes the pairs of an entry, those that do not wait only where more may, and returns
// how many these are.
func (s *partition) touch(e *Entry, now time.Time, may bool) (more int) {
	for _, t := range e.Touched {
		p := s.pairs[t]
		if p == nil && !may {
			continue
		}
		if p == nil {
			p = &pair{since: now}
			s.pairs[t] = p
			more++
		}
		p.touched = now
		if p.entry.Compare(e.begin()) < 0 { // entries that had no room are noted after later ones
			p.entry = e.begin()
		}
	}
	return more
}

func (e *Entry) begin() Cursor { return Cursor{e.Epoch, e.Span.First} }

func earlier(a, b Cursor) Cursor {
	if a.Compare(b) < 0 {
		return a
	}
	return b
}
