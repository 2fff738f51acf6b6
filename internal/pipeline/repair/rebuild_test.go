package repair_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/pipeline/ledger"
	"github.com/millrace/millrace/internal/pipeline/repair"
)

func rebuild(t *testing.T, w *world, dryRun bool) (listed int, err error) {
	t.Helper()
	days, err := repair.Rebuild(t.Context(), repair.RebuildDeps{
		Pipelines: []repair.Pipeline{pipeline}, Groups: w, Log: w, Store: w, Rollups: w,
		Done: func(done []ledger.Listed) { w.calls = append(w.calls, fmt.Sprint("done ", len(done))) },
	}, dryRun)
	return len(days), err
}

// dirty lists so many days of one owner each, all of one day.
func dirty(w *world, n int, day int32) *world {
	for i := range n {
		w.listed = append(w.listed, ledger.Listed{Touched: touched{Owner: fmt.Sprint("web_", i), Day: day}})
	}
	return w
}

func TestDaysAreClearedOnceTheyAgree(t *testing.T) {
	t.Parallel()
	const march, april = int32(noon / day), int32(noon/day) + 3 // 29 March, 1 April
	for name, tc := range map[string]struct {
		days []int // in March, in April
		want []string
	}{
		"none":                  {[]int{0, 0}, nil},
		"as many as go at once": {[]int{100, 0}, []string{"rebuild 100", "clear 100", "done 100"}},
		"one more": {
			[]int{101, 0}, []string{"rebuild 100", "clear 100", "done 100", "rebuild 1", "clear 1", "done 1"},
		},
		"of two months": {[]int{2, 1}, []string{"rebuild 2", "clear 2", "done 2", "rebuild 1", "clear 1", "done 1"}},
	} {
		w := dirty(dirty(settled(t), tc.days[0], march), tc.days[1], april)
		listed, err := rebuild(t, w, false)
		if diff := cmp.Diff(tc.want, w.calls); diff != "" || err != nil || listed != tc.days[0]+tc.days[1] {
			t.Errorf("%s: %d listed, %v, order (-want +got):\n%s", name, listed, err, diff)
		}
	}
}

func TestARebuildThatIsTriedChangesNothing(t *testing.T) {
	t.Parallel()
	w := dirty(settled(t), 2, 20_000)
	if listed, err := rebuild(t, w, true); err != nil || listed != 2 || len(w.calls) != 0 {
		t.Errorf("%d listed, %v, calls %q", listed, err, w.calls)
	}
}

func TestARebuildWaitsUntilNothingIsUnderWay(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change func(*world)
		want   string
	}{
		"an open plan": {
			func(w *world) { w.committed[0] = repair.Committed{Offset: 103, Metadata: metadata(t, 103, 103)} },
			"has an open plan, offsets 103 to 103",
		},
		"behind what was stored": {func(w *world) { w.stored[0] = 104 }, "records up to offset 103 are already stored"},
		"at what was stored":     {func(w *world) { w.stored[0] = 103 }, ""},
		"nothing committed":      {func(w *world) { w.committed = nil }, "is at offset 0, but records up to offset 102"},
		"metadata of nobody knows": {
			func(w *world) { w.committed[0] = repair.Committed{Offset: 103, Metadata: "{"} }, "reading the commit metadata",
		},
		"another rebuild":  {func(w *world) { w.busy = true }, "still running another rebuild"},
		"a sink that runs": {func(w *world) { w.members = [][]string{{"a"}} }, "1 active members"},
	} {
		w := dirty(settled(t), 1, 20_000)
		tc.change(w)
		_, err := rebuild(t, w, false)
		switch {
		case tc.want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want) || len(w.calls) != 0):
			t.Errorf("%s: %v, want %q; calls %q", name, err, tc.want, w.calls)
		}
	}
}

func TestWhatGoesWrongInTheMiddleLeavesTheDayListed(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change func(*world)
		want   string
	}{
		"the rebuild fails": {func(w *world) { w.fail = "rebuild " }, "which stay on the list"},
		"it still differs": {
			func(w *world) { w.differ = []touched{{Owner: "web_1", Day: 20_000}} },
			"1 days still differ, the first is 2024-10-04 of web_1",
		},
		// Asked for before everything, before the rebuild and after it.
		"a sink was started meanwhile": {func(w *world) { w.members = [][]string{nil, nil, {"a"}} }, "1 active members"},
	} {
		w := dirty(settled(t), 1, 20_000)
		tc.change(w)
		if _, err := rebuild(t, w, false); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
		if diff := cmp.Diff([]string{"rebuild 1"}, w.calls); diff != "" {
			t.Errorf("%s: calls (-want +got):\n%s", name, diff)
		}
	}
	var running *repair.RunningError
	w := dirty(settled(t), 1, 20_000)
	w.members = [][]string{{"a"}}
	if _, err := rebuild(t, w, false); !errors.As(err, &running) || running.Group != pipeline.Group {
		t.Errorf("the error is %v", err)
	}
}
