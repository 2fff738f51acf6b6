package verify

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/millrace/millrace/internal/contract/record"
)

// bucket is how finely a sink's window tells times of receipt apart.
const bucket = 5 * time.Minute

// observation is a record that a sink's window saw, and which stored nothing: a dead letter,
// or a duplicate of one. The window knows the event again after it.
type observation struct {
	position

	received int64    // Unix milliseconds
	suspect  *suspect // nil for a letter whose record is not among them
}

func compareObservations(a, b observation) int {
	return cmp.Or(cmp.Compare(a.partition, b.partition), cmp.Compare(a.offset, b.offset))
}

// letters marks the suspects that are dead letters, and those that repeat one: a copy of
// their event before them is a dead letter, so they were duplicates of it. What was replayed
// is never a duplicate.
func (v *verifier) letters(ctx context.Context, topic string) error {
	at, seen := map[position]*suspect{}, map[record.Hash][]observation{}
	for i := range v.suspects {
		s := &v.suspects[i]
		at[s.position] = s
		if s.hash != (record.Hash{}) {
			seen[s.hash] = append(seen[s.hash], observation{s.position, s.received, s})
		}
	}
	// Letters are written later than their records are received, which may be a window before.
	since := v.o.Since.Add(-v.o.Window - bucket).UnixMilli()
	err := v.topic.Letters(ctx, topic, since, func(l *Letter) {
		place := position{l.Partition, l.Offset}
		if s := at[place]; s != nil {
			s.letter, s.unseen = true, l.Hash == (record.Hash{})
		} else if _, ours := seen[l.Hash]; ours {
			seen[l.Hash] = with(seen[l.Hash], observation{position: place, received: l.Received})
		}
	})
	if err != nil {
		return err
	}
	for hash := range seen {
		v.repeated(hash, seen[hash])
	}
	return nil
}

// with adds an observation to those of one event, whose letters may be without number: before it
// grows, letters of a partition that follow one another become one, the last of them with the latest
// receipt. To those behind them that is the same.
func with(seen []observation, more observation) []observation {
	if len(seen) == cap(seen) {
		slices.SortFunc(seen, compareObservations)
		seen = merged(seen)
		seen = slices.Grow(seen, len(seen)+1) // so that it is not merged for each
	}
	return append(seen, more)
}

func merged(sorted []observation) []observation {
	kept := sorted[:0]
	for _, s := range sorted {
		if n := len(kept); n > 0 && s.suspect == nil && kept[n-1].suspect == nil && s.partition == kept[n-1].partition {
			s.received = max(s.received, kept[n-1].received)
			kept = kept[:n-1]
		}
		kept = append(kept, s)
	}
	return kept
}

// repeated marks the copies of one event that a sink took for duplicates of a dead letter,
// as its window did: by what stands before them in their partition, and when it was received.
// A copy that was a duplicate itself prolongs that for those after it.
func (v *verifier) repeated(hash record.Hash, seen []observation) {
	if last, ok := v.repeats[hash]; ok {
		seen = append(seen, last)
	}
	slices.SortFunc(seen, compareObservations)
	var last observation // of the partition; without one when it is zero
	var known bool
	for _, s := range seen {
		known = known && last.partition == s.partition
		if !s.explained(known && v.knows(last.received, s.received)) {
			continue
		}
		if known {
			s.received = max(s.received, last.received)
		}
		last, known = s, true
	}
	if _, before := v.repeats[hash]; known && (before || len(v.repeats) < maxTold) {
		last.suspect = nil
		v.repeats[hash] = last
	}
}

// explained marks a record that a letter accounts for, its own or, where the window knew the
// event, that of a copy, and reports whether the window saw one that is.
func (s *observation) explained(known bool) bool {
	if s.suspect == nil {
		return true
	}
	s.suspect.letter = s.suspect.letter || known && !s.suspect.replayed
	return s.suspect.letter && !s.suspect.unseen
}

// knows reports whether a window that saw an event at a time of receipt knows it again at
// another, both in Unix milliseconds. It goes by whole buckets.
func (v *verifier) knows(before, at int64) bool {
	horizon := (v.o.Window + bucket - 1) / bucket
	return horizon > 0 && at/bucket.Milliseconds()-before/bucket.Milliseconds() <= int64(horizon)
}
