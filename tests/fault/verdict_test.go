package fault

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/millrace/millrace/internal/testkit"
)

// verdict is what all counters say after a run. What follows Acked should be
// equal to it, the rest 0.
type verdict struct {
	Acked   int // different events that brokers acknowledged
	Base    int // rows without FINAL
	Final   int // rows with FINAL
	Rollup  int // sum of events in the rollup of 15 minutes
	RollupD int // and of a day
	Stored  int // of the ledger

	Missing      int // acknowledged, not in the base table
	Doubled      int // rows beyond the first of an event, without FINAL
	Unknown      int // rows that nobody sent
	WrongRollups int // owners and days whose events, visitors or sessions are not exact in a rollup
	Gaps         int // ranges of offsets that the ledger does not show
	Overlaps     int // ranges that it shows twice
	Odd          int // entries whose counts do not add up
	MovedBack    int // times that a committed offset moved backwards

	DeadLetters int // of the ledger
	Duplicates  int // of the ledger
	Skipped     int // of the ledger
	Erased      int // of the ledger
	notes       []string
	partly      bool // what is 0 was not counted
}

// exactly says what of a verdict is not as it should be when so many records
// became dead letters; nothing when all is well.
func (v *verdict) exactly(deadLetters int) []string {
	var wrong []string
	for _, c := range []struct {
		what      string
		got, want int
	}{
		{"rows in the base table without FINAL", v.Base, v.Acked},
		{"rows in the base table with FINAL", v.Final, v.Acked},
		{"events in the rollup of 15 minutes", v.Rollup, v.Acked},
		{"events in the rollup of a day", v.RollupD, v.Acked},
		{"stored by the ledger", v.Stored, v.Acked},
		{"missing events", v.Missing, 0},
		{"doubled events", v.Doubled, 0},
		{"events that nobody sent", v.Unknown, 0},
		{"wrong owners and days in rollups", v.WrongRollups, 0},
		{"gaps in the ledger", v.Gaps, 0},
		{"overlaps in the ledger", v.Overlaps, 0},
		{"ledger entries that do not add up", v.Odd, 0},
		{"offsets moved back", v.MovedBack, 0},
		// These topics have no control records and are not compacted: an offset without
		// a record is one that somebody lost on the way.
		{"offsets without a record", v.Skipped, 0},
		{"dead letters in the ledger", v.DeadLetters, deadLetters},
		{"records left out as erased", v.Erased, 0},
	} {
		if c.got != c.want {
			wrong = append(wrong, fmt.Sprintf("%s: %d, want %d", c.what, c.got, c.want))
		}
	}
	return wrong
}

// exact reports whether what was counted is as it should be. Where a fault is judged by
// something else, nothing is lost or doubled.
func (v *verdict) exact() bool {
	if v.partly {
		return v.Missing+v.Doubled+v.Unknown+v.WrongRollups == 0
	}
	return v.Acked > 0 && len(v.exactly(v.DeadLetters)) == 0
}

// judge reads all counters and fails the test unless they are exact.
func (s *stage) judge() {
	s.t.Helper()
	s.judgeWith(0)
}

// judgeWith is judge for a run in which so many records became dead letters.
func (s *stage) judgeWith(deadLetters int) {
	s.t.Helper()
	s.count()
	if wrong := s.verdict.exactly(deadLetters); len(wrong) > 0 {
		s.t.Errorf("%s\n%s", strings.Join(wrong, "\n"), strings.Join(first(s.verdict.notes, 30), "\n"))
	}
}

func first(all []string, n int) []string { return all[:min(n, len(all))] }

// count reads all counters.
func (s *stage) count() {
	s.t.Helper()
	v := &s.verdict
	*v = verdict{}
	s.acked.mu.Lock()
	defer s.acked.mu.Unlock()
	v.Acked = len(s.acked.events)
	s.countBase(v)
	v.Final = s.number("SELECT count() FROM events FINAL")
	v.Rollup = s.countRollup(v, "events_15m")
	v.RollupD = s.countRollup(v, "events_1d")
	s.countLedger(v)
	backs := s.offsets.movedBack()
	v.MovedBack = len(backs)
	for _, b := range backs {
		v.note("offset moved back: %s", b)
	}
}

func (v *verdict) note(format string, args ...any) {
	v.notes = append(v.notes, fmt.Sprintf(format, args...))
}

func (s *stage) countBase(v *verdict) {
	s.t.Helper()
	seen := map[key]bool{}
	for _, r := range s.query(
		"SELECT owner_id, event_id, count(), groupArray((_partition, _offset)) FROM events GROUP BY owner_id, event_id") {
		n := atoi(r[2])
		v.Base += n
		k := key{r[0], r[1]}
		if _, sent := s.acked.events[k]; !sent {
			v.Unknown += n
			v.note("nobody sent %v at %s", k, r[3])
			continue
		}
		seen[k] = true
		if n > 1 {
			v.Doubled += n - 1
			v.note("%v stands %d times: %s", k, n, r[3])
		}
	}
	for k := range s.acked.events {
		if !seen[k] {
			v.Missing++
			v.note("%v is missing", k)
		}
	}
}

// countRollup compares a rollup with what was acknowledged, for each owner and
// day, and returns the sum of its events.
func (s *stage) countRollup(v *verdict, table string) (sum int) {
	s.t.Helper()
	type slot struct{ owner, day string }
	type content struct {
		events             int
		visitors, sessions map[string]bool
	}
	want := map[slot]*content{}
	for k, h := range s.acked.events {
		at := slot{k.owner, time.UnixMilli(h.at).UTC().Format(time.DateOnly)}
		if want[at] == nil {
			want[at] = &content{visitors: map[string]bool{}, sessions: map[string]bool{}}
		}
		want[at].events++
		if h.visitor != "" {
			want[at].visitors[h.visitor] = true
		}
		if h.session != "" {
			want[at].sessions[h.session] = true
		}
	}
	for _, r := range s.query("SELECT owner_id, event_date, sum(events), uniqMerge(visitors), uniqMerge(sessions) FROM " +
		table + " GROUP BY owner_id, event_date") {
		sum += atoi(r[2])
		at := slot{r[0], r[1]}
		w := want[at]
		delete(want, at)
		if w == nil || atoi(r[2]) != w.events || atoi(r[3]) != len(w.visitors) || atoi(r[4]) != len(w.sessions) {
			v.WrongRollups++
			if w == nil {
				w = &content{}
			}
			v.note("%s has %s events, %s visitors, %s sessions for %v; want %d, %d, %d",
				table, r[2], r[3], r[4], at, w.events, len(w.visitors), len(w.sessions))
		}
	}
	for at := range want {
		v.WrongRollups++
		v.note("%s has nothing for %v", table, at)
	}
	return sum
}

// countLedger checks that the entries cover each partition up to its committed
// offset, once, and that their counts add up.
func (s *stage) countLedger(v *verdict) {
	s.t.Helper()
	committed, err := s.committed(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	next := map[int32]int64{}
	for _, r := range s.query(
		`SELECT partition, first, last, kind, stored, duplicates, dead_letters, skipped, erased FROM ingest_ledger
		WHERE topic = '` + s.pipeline.Topic + `' GROUP BY ALL ORDER BY partition, first, last`) {
		p, from, to := int32(atoi(r[0])), int64(atoi(r[1])), int64(atoi(r[2]))
		switch {
		case from > next[p]:
			v.Gaps++
			v.note("the ledger of partition %d has nothing from %d to %d", p, next[p], from-1)
		case from < next[p]:
			v.Overlaps++
			v.note("the ledger of partition %d shows %v, after all up to %d", p, r, next[p]-1)
		}
		next[p] = max(next[p], to+1)
		stored, dups, dead, skipped, erased := atoi(r[4]), atoi(r[5]), atoi(r[6]), atoi(r[7]), atoi(r[8])
		if int64(stored+dups+dead+skipped+erased) != to-from+1 {
			v.Odd++
			v.note("the ledger of partition %d has %v", p, r)
		}
		v.Stored += stored
		v.Duplicates += dups
		v.DeadLetters += dead
		v.Skipped += skipped
		v.Erased += erased
	}
	for p, o := range committed {
		if at := max(0, o.At); next[p] != at {
			v.Gaps++
			v.note("the ledger of partition %d ends before %d, and %d is committed", p, next[p], at)
		}
	}
}

// query returns the rows of a SELECT as texts. It waits for a server that is just
// starting again.
func (s *stage) query(sql string) (rows [][]string) {
	s.t.Helper()
	testkit.Eventually(s.t, patience, func() (err error) {
		rows, err = queryRows(s.t.Context(), s.clickhouse, sql)
		return err
	})
	return rows
}

// number returns the one number that a SELECT has for a result.
func (s *stage) number(sql string) int {
	s.t.Helper()
	return atoi(s.query(sql)[0][0])
}

// exec runs a statement.
func (s *stage) exec(sql string) {
	s.t.Helper()
	if err := execute(s.t.Context(), s.clickhouse, sql); err != nil {
		s.t.Fatal(err)
	}
}

// atoi reads a number that a query of ours asks for; there is nothing else in its
// column.
func atoi(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		return -1
	}
	return n
}
