package repair_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/pipeline/repair"
)

func grow(t *testing.T, w *world, partitions int, dryRun bool) (repair.Growth, error) {
	t.Helper()
	return repair.Grow(t.Context(),
		repair.GrowDeps{Groups: w, Log: w, Partitions: w, Touches: w, Store: w}, repair.GrowOptions{
			Pipeline: pipeline, Partitions: partitions, Since: time.UnixMilli(noon).Add(-time.Hour), DryRun: dryRun,
		})
}

// Of one partition, those whose last letter is odd move to the second one of two.
func TestTheDaysOfOwnersThatMoveAreListedBeforeATopicGrows(t *testing.T) {
	t.Parallel()
	const march = int32(noon / day)
	w := settled(t)
	w.logs[0] = append(w.logs[0], event{"web_3", noon}, event{"web_3", noon})
	w.since = []touched{{Owner: "web_1", Day: march}, {Owner: "web_2", Day: march}}
	want := repair.Growth{From: 1, To: 2, Days: []touched{{Owner: "web_1", Day: march}, {Owner: "web_3", Day: march}}}
	for _, dryRun := range []bool{true, false} {
		got, err := grow(t, w, 2, dryRun)
		if diff := cmp.Diff(want, got); diff != "" || err != nil || dryRun && len(w.calls) != 0 {
			t.Errorf("dry run %v: %v, calls %q (-want +got):\n%s", dryRun, err, w.calls, diff)
		}
	}
	if diff := cmp.Diff([]string{"list 2 growth", "grow to 2"}, w.calls); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
}

func TestATopicThatCannotBeListedDoesNotGrow(t *testing.T) {
	t.Parallel()
	w := settled(t)
	w.since, w.fail = []touched{{Owner: "web_1", Day: 20_000}}, "list "
	if _, err := grow(t, w, 2, false); !errors.Is(err, errDown) || len(w.calls) != 1 {
		t.Errorf("%v, calls %q", err, w.calls)
	}
}

func TestATopicOnlyGrows(t *testing.T) {
	t.Parallel()
	w := settled(t)
	if _, err := grow(t, w, 1, false); err == nil || !strings.Contains(err.Error(), "the new number must be larger") ||
		len(w.calls) != 0 {
		t.Errorf("%v, calls %q", err, w.calls)
	}
}
