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
