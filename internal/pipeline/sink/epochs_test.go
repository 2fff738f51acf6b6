package sink

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/pipeline/ledger"
)

// Each commit names the leader epoch of the record before its offset, whichever leader the
// records in hand behind it are from.
func TestACommitNamesTheLeaderEpochOfTheRecordBeforeIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(part)
		for i, epoch := range []int32{4, 4, 7, 7, 7, 9} {
			r := anEvent(string(rune('a'+i)), noon, noon)
			r.LeaderEpoch = epoch
			w.produce(part, r)
		}
		w.commitState(part, 1, ledger.NewState([16]byte{}, 1))
		w.epochs[part] = 4
		cfg := testConfig()
		cfg.MaxRows = 2 // ranges 1-2, 3-4 and 5
		stop := start(t, newSink(t, cfg, w))
		time.Sleep(5 * time.Second) //nolint:forbidigo // fake time
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		want := []progressed{{1, 4}, {3, 7}, {3, 7}, {5, 7}, {5, 7}, {6, 9}}
		if diff := cmp.Diff(want, w.commits, cmp.AllowUnexported(progressed{})); diff != "" {
			t.Errorf("plans and commits, with epochs (-want +got):\n%s", diff)
		}
	})
}

// Where the record at the end of a range is gone, as by compaction, so is its epoch: that of
// the record before may have ended earlier. Those behind it keep theirs.
func TestTheEpochOfARecordThatIsGoneIsNotKnown(t *testing.T) {
	t.Parallel()
	type cut struct {
		last          int64
		before, atEnd int32
	}
	for _, tc := range []struct {
		name    string
		records []Record // from offset 1
		cuts    []cut
	}{
		{"nothing is gone", []Record{{Offset: 1, LeaderEpoch: 5}, {Offset: 2, LeaderEpoch: 6}}, []cut{{1, 4, 5}, {2, 5, 6}}},
		{"the last one", []Record{{Offset: 1, LeaderEpoch: 5}, {Offset: 3, LeaderEpoch: 5}}, []cut{{2, 4, -1}, {3, -1, 5}}},
		{"the last one, before another leader", []Record{{Offset: 1, LeaderEpoch: 5}, {Offset: 3, LeaderEpoch: 7}}, []cut{{2, 4, -1}, {3, -1, 7}}},
		{"all of a range", []Record{{Offset: 3, LeaderEpoch: 4}}, []cut{{2, 4, -1}, {3, -1, 4}}},
		{"all of two", []Record{{Offset: 4, LeaderEpoch: 4}}, []cut{{2, 4, -1}, {3, -1, -1}, {4, -1, 4}}},
		{"one in the middle", []Record{{Offset: 1, LeaderEpoch: 5}, {Offset: 3, LeaderEpoch: 5}}, []cut{{3, 4, 5}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			m := testMemory()
			o := open{first: 1, epochs: epochs{before: 4}}
			o.append(batchOf(tc.records), time.Time{}, m)
			var got []cut
			for _, c := range tc.cuts {
				r := o.freeze(o.upTo(c.last), c.last, m)
				got = append(got, cut{r.Last, r.epochBefore, r.epochOfLast})
			}
			if diff := cmp.Diff(tc.cuts, got, cmp.AllowUnexported(cut{})); diff != "" {
				t.Errorf("ranges (-want +got):\n%s", diff)
			}
		})
	}
}
