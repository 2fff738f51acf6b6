package ledger

import (
	"context"
	"log/slog"
	"time"
)

// partition is what a Reconciler knows of one partition.
type partition struct {
	topic  string
	kept   Cursor // the mark as it is stored
	cursor Cursor // up to where entries were checked
	noted  Cursor // up to where their pairs were noted
	gaps   []Gap  // found before the cursor, and not covered since
	pairs  map[Touched]*pair
}

// pair is an owner and a day that wait to be found in agreement.
type pair struct {
	entry   Cursor    // begin of the last entry that touched it
	touched time.Time // when that entry was read
	since   time.Time // when the first one was read
	looked  time.Time // when it was observed; zero for never
	counts  Counts    // as observed then
	again   bool      // that was the first of two looks
}

// mark returns up to where nothing is left to do: a restart reads again from
// there, finds the gaps that are open now, and the pairs that wait.
func (s *partition) mark() Cursor {
	m := s.noted
	for _, g := range s.gaps {
		if g.From.Compare(m) < 0 {
			m = g.From
		}
	}
	for _, p := range s.pairs {
		if p.entry.Compare(m) < 0 {
			m = p.entry
		}
	}
	return m
}

// missing returns how many offsets its gaps have.
func (s *partition) missing() (offsets int64) {
	for _, g := range s.gaps {
		offsets += g.Span().Len()
	}
	return offsets
}

// cover reads the entries up to the settled offset and checks that they cover it.
func (r *Reconciler) cover(ctx context.Context, at *Settled) error {
	p := at.partition()
	s, err := r.load(ctx, p, at)
	if err != nil {
		return err
	}
	if err := r.lookAgain(ctx, p, s); err != nil {
		return err
	}
	if err := r.catchUp(ctx, p, s); err != nil {
		return err
	}
	to := Cursor{at.Epoch, at.Next}
	for range pagesPerRound {
		if s.cursor.Compare(to) >= 0 {
			break
		}
		entries, err := r.deps.Store.Entries(ctx, p, s.cursor, entriesAtOnce)
		if err != nil {
			return err
		}
		whole := len(entries) < entriesAtOnce
		f := Check(s.cursor, to, entries, whole)
		noted := r.note(s, entries, to, f.End)
		if s.noted == s.cursor {
			s.noted = noted
		}
		s.cursor = f.End
		s.gaps = append(s.gaps, f.Gaps...)
		r.report(ctx, p, &f)
		if whole {
			break
		}
	}
	for _, g := range s.gaps {
		r.deps.Log.LogAttrs(ctx, slog.LevelError, "committed offsets are missing from the ledger",
			append(where(p, g.Span()), slog.Int64("epoch", g.From.Epoch))...)
	}
	return nil
}

// load returns what is known of a partition.
func (r *Reconciler) load(ctx context.Context, p Partition, at *Settled) (*partition, error) {
	if s := r.partitions[p]; s != nil {
		return s, nil
	}
	kept, cursor, err := begin(ctx, r.deps.Store, p, at)
	if err != nil {
		return nil, err
	}
	s := &partition{topic: p.Topic, kept: kept, cursor: cursor, noted: cursor, pairs: map[Touched]*pair{}}
	r.partitions[p] = s
	return s, nil
}

// begin returns where the checks of a partition begin: at its mark. Without one,
// they begin with the oldest entry; without entries, with what comes next.
func begin(ctx context.Context, store Entries, p Partition, at *Settled) (kept, cursor Cursor, err error) {
	mark, known, err := store.Mark(ctx, p)
	if err != nil || known {
		return mark, mark, err
	}
	oldest, err := store.Entries(ctx, p, Cursor{}, 1)
	if err != nil {
		return kept, cursor, err
	}
	if len(oldest) > 0 {
		return kept, Cursor{oldest[0].Epoch, oldest[0].Span.First}, nil
	}
	return kept, Cursor{at.Epoch, at.Next}, nil
}

// Survey checks a partition from its mark on, as a Reconciler does that has just
// started, and keeps nothing. Of a partition whose mark is far behind it checks
// the first part; End says how far.
func Survey(ctx context.Context, store Entries, at *Settled) (Findings, error) {
	p, to := at.partition(), Cursor{at.Epoch, at.Next}
	_, from, err := begin(ctx, store, p, at)
	if err != nil || from.Compare(to) >= 0 {
		return Findings{End: from}, err
	}
	entries, err := store.Entries(ctx, p, from, entriesAtOnce)
	if err != nil {
		return Findings{End: from}, err
	}
	return Check(from, to, entries, len(entries) < entriesAtOnce), nil
}

// lookAgain drops gaps that entries cover by now.
func (r *Reconciler) lookAgain(ctx context.Context, p Partition, s *partition) error {
	again := s.gaps[:min(len(s.gaps), gapsPerRound)]
	open := append([]Gap(nil), s.gaps[len(again):]...) // looked at first the next time
	for _, g := range again {
		entries, err := r.deps.Store.Entries(ctx, p, g.From, entriesAtOnce)
		if err != nil {
			return err
		}
		f := Check(g.From, g.To, entries, true)
		var late []Entry
		for i := range entries {
			if e := &entries[i]; e.Span.First < g.To.Next && e.Span.Last >= g.From.Next {
				late = append(late, *e)
			}
		}
		s.noted = r.note(s, late, s.noted, s.noted)
		open = append(open, f.Gaps...)
	}
	s.gaps = open
	return nil
}

// report counts and logs what a check has found.
func (r *Reconciler) report(ctx context.Context, p Partition, f *Findings) {
	log := r.deps.Log
	r.metrics.gaps.Add(float64(len(f.Gaps)))
	for _, o := range f.Overlaps {
		r.metrics.overlaps.Inc()
		log.LogAttrs(ctx, slog.LevelError, "offsets are in two ledger entries", where(p, o)...)
	}
	for i := range f.Miscounts {
		r.metrics.miscounts.Inc()
		log.LogAttrs(ctx, slog.LevelError, "counts of a ledger entry do not add up to its length",
			where(p, f.Miscounts[i].Span)...)
	}
	for _, l := range f.Lost {
		r.metrics.lost.Add(float64(l.Len()))
		log.LogAttrs(ctx, slog.LevelError, "records were deleted from the topic before they were stored", where(p, l)...)
	}
}

func where(p Partition, s Span) []slog.Attr {
	return []slog.Attr{
		slog.String("topic", p.Topic), slog.Int("partition", int(p.Index)),
		slog.Int64("first", s.First), slog.Int64("last", s.Last), slog.Int64("offsets", s.Len()),
	}
}
