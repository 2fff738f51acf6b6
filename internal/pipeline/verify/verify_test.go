package verify

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/pipeline/ledger"
	"github.com/millrace/millrace/internal/pipeline/repair"
	"github.com/millrace/millrace/internal/pipeline/sink/dedup"
	"github.com/millrace/millrace/internal/privacy/tombstone"
)

// log is a topic of one partition.
type log struct {
	records   []Record
	letters   []int // records that have one
	unseen    bool  // their headers could not be read
	committed map[int32]repair.Committed
}

func (l *log) Describe(context.Context, string) ([16]byte, map[int32]repair.Bounds, error) {
	return [16]byte{1}, map[int32]repair.Bounds{0: {End: int64(len(l.records))}}, nil
}

func (l *log) After(_ context.Context, _ string, millis int64) (map[int32]int64, error) {
	for i := range l.records {
		if l.records[i].Time >= millis {
			return map[int32]int64{0: int64(i)}, nil
		}
	}
	return map[int32]int64{0: int64(len(l.records))}, nil
}

func (l *log) Values(context.Context, string, int32, int64, int64, func([]byte) error) error {
	return nil
}

func (l *log) Members(context.Context, string) ([]string, error) { return nil, nil }

func (l *log) Committed(context.Context, string, string) (map[int32]repair.Committed, error) {
	return l.committed, nil
}

func (l *log) Records(_ context.Context, _ string, _ int32, from, to int64, do func(*Record) error) error {
	for i := from; i < to; i++ {
		if err := do(&l.records[i]); err != nil {
			return err
		}
	}
	return nil
}

func (l *log) Letters(_ context.Context, _ string, _ int64, do func(*Letter)) error {
	for _, i := range l.letters {
		letter := Letter{Offset: int64(i)}
		if !l.unseen {
			letter.Hash, letter.Received = l.records[i].Hash, l.records[i].Time
		}
		do(&letter)
	}
	return nil
}

// empty is a base without a row.
type empty struct{}

func (empty) Table(string) string                                    { return "events" }
func (empty) Rows(context.Context, Range, []int32, func(*Row)) error { return nil }
func (empty) Known(context.Context, string, []Key) ([]Key, error)    { return nil, nil }
func (empty) Strays(context.Context, *StrayQuery, func(*Row)) error  { return nil }
func (empty) Exclusions(context.Context) ([]Exclusion, error)        { return nil, nil }

//nolint:nilnil // nothing is erased
func (empty) Erased(context.Context) (*tombstone.Set, error)               { return nil, nil }
func (empty) DifferingOn(context.Context, int32) ([]ledger.Touched, error) { return nil, nil }
func (empty) Differing(context.Context, []ledger.Touched) ([]ledger.Touched, error) {
	return nil, nil
}

func (empty) Visible(_ context.Context, _ string, r []Row) ([]bool, error) {
	return make([]bool, len(r)), nil
}

func (empty) Count(_ context.Context, _ string, p []ledger.Touched) ([]ledger.Counts, error) {
	return make([]ledger.Counts, len(p)), nil
}

// noon is when all records were received.
var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// recordsOf returns a record for each event id.
func recordsOf(ids ...string) []Record {
	var all []Record
	for i, id := range ids {
		e := record.Event{
			Version: 1, ID: []byte(id), Organization: []byte("org_1"), Website: []byte("web_1"), Owner: []byte("web_1"),
			Type: []byte(record.TypeCustom), Name: []byte("n"), TimeMillis: noon.UnixMilli(), ReceivedAt: noon.UnixMilli(),
		}
		all = append(all, Record{
			Offset: int64(i), Key: e.Owner, Value: record.AppendEvent(nil, &e), Time: noon.UnixMilli(),
			Hash: record.HashOf(e.Owner, e.ID),
		})
	}
	return all
}

// copies returns records of one event, received so long after noon.
func copies(after ...time.Duration) []Record {
	all := recordsOf(slices.Repeat([]string{"a"}, len(after))...)
	for i := range all {
		all[i].Time += after[i].Milliseconds()
	}
	return all
}

func committed(offset int64) map[int32]repair.Committed {
	return map[int32]repair.Committed{0: {Offset: offset}}
}

func TestWhatAWindowKnowsIsWhatItSays(t *testing.T) {
	t.Parallel()
	for _, window := range []time.Duration{time.Minute, time.Hour, time.Hour + time.Second, 24 * time.Hour} {
		v := verifier{o: Options{Window: window}}
		for _, after := range []time.Duration{-time.Hour, window, window + bucket - time.Millisecond, window + 2*bucket} {
			for _, first := range []time.Time{noon, noon.Add(bucket - time.Millisecond)} {
				w := dedup.NewWindow(window, 10)
				hash := record.HashOf([]byte("web_1"), []byte("a"))
				before, at := first.UnixMilli(), first.Add(after).UnixMilli()
				w.Duplicate(hash, before)
				if want, got := w.Duplicate(hash, at), v.knows(before, at); got != want {
					t.Errorf("a window of %v, %v after %v: known %v, want %v", window, after, first, got, want)
				}
			}
		}
	}
}

func TestNothingIsStored(t *testing.T) {
	t.Parallel()
	replayed := recordsOf("a", "a")
	replayed[1].Replayed = true
	for name, tt := range map[string]struct {
		topic       log
		want        Day
		uncommitted int64
	}{
		"no offset is committed": {log{records: recordsOf("a", "b")}, Day{}, 2},
		"nor are there records":  {log{}, Day{}, 0},
		"what is committed is missing": {
			log{records: recordsOf("a", "b"), committed: committed(1)}, Day{InTopic: 1, Distinct: 1, Missing: 1}, 0,
		},
		"two copies are missing once": {
			log{records: recordsOf("a", "a"), committed: committed(2)}, Day{InTopic: 2, Distinct: 1, Missing: 1}, 0,
		},
		"a dead letter and its copy": {
			log{records: recordsOf("a", "a"), letters: []int{0}, committed: committed(2)},
			Day{InTopic: 2, Distinct: 2, DeadLettered: 2},
			0,
		},
		"a letter that was replayed": {
			log{records: replayed, letters: []int{0}, committed: committed(2)},
			Day{InTopic: 2, Distinct: 2, DeadLettered: 1, Missing: 1},
			0,
		},
		"and is a letter again": {
			log{records: replayed, letters: []int{0, 1}, committed: committed(2)},
			Day{InTopic: 2, Distinct: 2, DeadLettered: 2},
			0,
		},
		"letters of other records alone": {
			log{records: recordsOf("a", "b", "c"), letters: []int{2}, committed: committed(2)},
			Day{InTopic: 2, Distinct: 2, Missing: 2},
			0,
		},
		"a copy when no window knew the letter any more": {
			log{records: copies(0, 2*time.Hour), letters: []int{0}, committed: committed(2)},
			Day{InTopic: 2, Distinct: 2, DeadLettered: 1, Missing: 1},
			0,
		},
		"a copy in the last moment that the window knew it": {
			log{records: copies(0, time.Hour+bucket-time.Millisecond), letters: []int{0}, committed: committed(2)},
			Day{InTopic: 2, Distinct: 2, DeadLettered: 2},
			0,
		},
		"and one in the moment after": {
			log{records: copies(0, time.Hour+bucket), letters: []int{0}, committed: committed(2)},
			Day{InTopic: 2, Distinct: 2, DeadLettered: 1, Missing: 1},
			0,
		},
		"a letter that no window has seen": {
			log{records: copies(0, 0), letters: []int{0}, unseen: true, committed: committed(2)},
			Day{InTopic: 2, Distinct: 2, DeadLettered: 1, Missing: 1},
			0,
		},
		"a letter explains nothing that came before it": {
			log{records: copies(0, 0), letters: []int{1}, committed: committed(2)},
			Day{InTopic: 2, Distinct: 2, DeadLettered: 1, Missing: 1},
			0,
		},
		"a copy is seen too, and prolongs what the window knows": {
			log{records: copies(0, 50*time.Minute, 100*time.Minute), letters: []int{0}, committed: committed(3)},
			Day{InTopic: 3, Distinct: 3, DeadLettered: 3},
			0,
		},
		"also for one that another edge received earlier": {
			log{
				records: copies(0, 50*time.Minute, 40*time.Minute, 110*time.Minute), letters: []int{0},
				committed: committed(4),
			},
			Day{InTopic: 4, Distinct: 4, DeadLettered: 4},
			0,
		},
		"a letter from before the time that is verified": {
			log{records: copies(-6*time.Hour-time.Minute, -6*time.Hour), letters: []int{0}, committed: committed(2)},
			Day{InTopic: 1, Distinct: 1, DeadLettered: 1},
			0,
		},
	} {
		for _, atOnce := range []int64{0, 1} { // a slice of everything, and of one record
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				r, err := Run(t.Context(), &tt.topic, empty{}, Options{
					Pipelines: []repair.Pipeline{{Topic: record.TopicEvents, Group: "g"}}, Known: []string{record.TopicEvents},
					Since: noon.Add(-6 * time.Hour), Until: noon.Add(6 * time.Hour), Window: time.Hour, Examples: 10,
					SliceRecords: atOnce,
				})
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(tt.want, r.Total, cmpopts.IgnoreFields(Day{}, "Date")); diff != "" {
					t.Errorf("total (-want +got):\n%s", diff)
				}
				if r.Uncommitted != tt.uncommitted {
					t.Errorf("%d records without an offset, want %d", r.Uncommitted, tt.uncommitted)
				}
				if same := tt.want.Missing+tt.uncommitted == 0; r.Same() != same {
					t.Errorf("Same() = %v", r.Same())
				}
				if len(r.Examples) == 0 != r.Same() {
					t.Errorf("examples %+v", r.Examples)
				}
			})
		}
	}
}

// What is not settled is no difference, also where nothing else is there: it says so.
func TestWhatIsNotSettledIsTold(t *testing.T) {
	t.Parallel()
	old := copies(-8*time.Hour, -7*time.Hour, 0, 0, 0)
	for name, tt := range map[string]struct {
		records []Record
		offset  int64
		want    []Unsettled
	}{
		"all is settled":            {old, 5, []Unsettled{}},
		"some are under way":        {old, 3, []Unsettled{{record.TopicEvents, 0, 3, 2}}},
		"it stands before the time": {old, 1, []Unsettled{{record.TopicEvents, 0, 2, 3}}},
		"nothing is of the time":    {old[:2], 1, []Unsettled{}},
	} {
		letters := []int{0, 1, 2, 3, 4}[:len(tt.records)] // so that nothing is missing
		topic := log{records: tt.records, letters: letters, committed: committed(tt.offset)}
		r, err := Run(t.Context(), &topic, empty{}, Options{
			Pipelines: []repair.Pipeline{{Topic: record.TopicEvents, Group: "g"}}, Known: []string{record.TopicEvents},
			Since: noon.Add(-6 * time.Hour), Until: noon.Add(6 * time.Hour), Window: time.Hour, Examples: 10,
		})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, r.Unsettled); diff != "" || !r.Same() {
			t.Errorf("%s: same %v, unsettled (-want +got):\n%s", name, r.Same(), diff)
		}
	}
}

// An event that is sent again and again may be a dead letter millions of times.
func TestLettersWithoutNumberAreKeptAsFew(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		suspects := make([]suspect, rapid.IntRange(1, 6).Draw(t, "suspects"))
		n := rapid.IntRange(0, 200).Draw(t, "letters")
		n += len(suspects)
		places := rapid.SliceOfNDistinct(rapid.Int64Range(0, 999), n, n, rapid.ID).Draw(t, "places")
		minutes := rapid.SliceOfN(rapid.Int64Range(0, 300), len(places), len(places)).Draw(t, "minutes")
		at := func(i int) observation {
			return observation{
				position: position{int32(places[i] / 500), places[i]}, received: minutes[i] * time.Minute.Milliseconds(),
			}
		}
		// What letters account for, and what is known behind them, where they are kept as they come
		// and where each is kept.
		judged := func(add func([]observation, observation) []observation) (marks []bool, last observation, kept int) {
			v := verifier{o: Options{Window: time.Hour}, repeats: map[record.Hash]observation{}}
			var seen []observation
			for i := range suspects {
				o := at(i)
				suspects[i] = suspect{position: o.position, received: o.received}
				o.suspect = &suspects[i]
				seen = append(seen, o)
			}
			for i := len(suspects); i < len(places); i++ {
				seen = add(seen, at(i))
			}
			v.repeated(record.Hash{1}, seen)
			for i := range suspects {
				marks = append(marks, suspects[i].letter)
			}
			return marks, v.repeats[record.Hash{1}], cap(seen)
		}
		marks, last, kept := judged(with)
		wantMarks, wantLast, _ := judged(func(all []observation, o observation) []observation { return append(all, o) })
		if !slices.Equal(marks, wantMarks) {
			t.Fatalf("letters account for %v, want %v", marks, wantMarks)
		}
		if last.partition != wantLast.partition || last.received != wantLast.received {
			t.Fatalf("behind them %+v is known, want %+v", last, wantLast)
		}
		if most := 8 * (2*len(suspects) + 2); kept > most {
			t.Fatalf("%d observations are kept of %d, want %d at most", kept, len(places), most)
		}
	})
}
