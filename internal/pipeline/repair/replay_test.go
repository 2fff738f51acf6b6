package repair_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/pipeline/repair"
)

// settled is a topic of one partition with four records, three of them stored.
func settled(t *testing.T) *world {
	t.Helper()
	return &world{
		logs:      map[int32][]event{0: {{"web_1", noon}, {"web_1", noon - day}, {"web_2", noon}, {"web_2", noon + day}}},
		committed: map[int32]repair.Committed{0: {Offset: 103, Metadata: metadata(t)}},
		stored:    map[int32]int64{0: 103},
	}
}

func replay(t *testing.T, w *world, o repair.ReplayOptions) ([]repair.Move, error) {
	t.Helper()
	o.Pipeline = pipeline
	return repair.Replay(t.Context(), repair.ReplayDeps{Groups: w, Log: w, Store: w}, o)
}

func TestAReplayListsTheDaysBeforeItSetsOffsetsBack(t *testing.T) {
	t.Parallel()
	w := settled(t)
	moves, err := replay(t, w, repair.ReplayOptions{Offset: 101})
	if err != nil {
		t.Fatal(err)
	}
	march := int32(noon / day)
	want := []repair.Move{{
		Partition: 0, Committed: 103, To: 101, Again: 2,
		Days: []touched{{Owner: "web_1", Day: march - 1}, {Owner: "web_2", Day: march}},
	}}
	if diff := cmp.Diff(want, moves); diff != "" {
		t.Errorf("moves (-want +got):\n%s", diff)
	}
	order := []string{"list 2 replay", "raise the epoch", "commit map[0:101]", "set marks"}
	if diff := cmp.Diff(order, w.calls); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
	if got := w.committed[0].Metadata; strings.Contains(got, `"p"`) || !strings.Contains(got, `"e":8`) {
		t.Errorf("committed %s, want the new epoch and no plan", got)
	}
	if len(w.marks) != 1 || w.marks[0].Cursor.Epoch != 8 || w.marks[0].Cursor.Next != 101 {
		t.Errorf("marks %+v", w.marks)
	}
}

func TestWhateverFailsFirstNothingIsSetBackUnlisted(t *testing.T) {
	t.Parallel()
	for fail, want := range map[string][]string{
		"list ":           {"list 2 replay"},
		"raise the epoch": {"list 2 replay", "raise the epoch"},
		"commit ":         {"list 2 replay", "raise the epoch", "commit map[0:101]"},
	} {
		w := settled(t)
		w.fail = fail
		if _, err := replay(t, w, repair.ReplayOptions{Offset: 101}); !errors.Is(err, errDown) {
			t.Errorf("%s: %v", fail, err)
		}
		if diff := cmp.Diff(want, w.calls); diff != "" || w.committed[0].Offset != 103 {
			t.Errorf("%s: committed %+v, calls (-want +got):\n%s", fail, w.committed, diff)
		}
	}
}

func TestAReplayThatIsTriedChangesNothing(t *testing.T) {
	t.Parallel()
	w := settled(t)
	moves, err := replay(t, w, repair.ReplayOptions{Offset: -1, From: noon - day, DryRun: true})
	if err != nil || len(moves) != 1 || moves[0].To != 100 || moves[0].Again != 3 || len(w.calls) != 0 {
		t.Errorf("moves %+v, %v, calls %q", moves, err, w.calls)
	}
}

func TestForwardIsAGapInTheLedger(t *testing.T) {
	t.Parallel()
	w := settled(t)
	moves, err := replay(t, w, repair.ReplayOptions{Offset: 104, Skip: true})
	if err != nil || len(moves) != 1 || moves[0].Skipped != 1 || moves[0].Again != 0 || moves[0].Days != nil {
		t.Fatalf("moves %+v, %v", moves, err)
	}
	// Nothing is stored again, so the epoch stays.
	if diff := cmp.Diff([]string{"write a gap 103 103", "commit map[0:104]", "set marks"}, w.calls); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
	if g := w.gaps[0]; g.Epoch != 7 || g.Skipped != 1 || g.TopicID != topicID {
		t.Errorf("the gap is %+v", g)
	}
}

func TestAnOpenPlanCountsAsStored(t *testing.T) {
	t.Parallel()
	w := settled(t)
	w.committed[0] = repair.Committed{Offset: 101, Metadata: metadata(t, 101, 103)}
	w.stored[0] = 101
	moves, err := replay(t, w, repair.ReplayOptions{Offset: 100, DryRun: true})
	if err != nil || len(moves) != 1 || moves[0].Again != 4 || len(moves[0].Days) != 4 {
		t.Errorf("moves %+v, %v", moves, err)
	}
}

func TestReplaysThatLoseSomethingAreRejected(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		o      repair.ReplayOptions
		change func(*world)
		want   string
	}{
		"the first record there is": {o: repair.ReplayOptions{Offset: 100}},
		"one before it":             {o: repair.ReplayOptions{Offset: 99}, want: "now begins at offset 100"},
		"the end":                   {o: repair.ReplayOptions{Offset: 104, Skip: true}},
		"one after it": {
			o: repair.ReplayOptions{Offset: 105, Skip: true}, want: "ends at offset 104",
		},
		"forward without saying so": {o: repair.ReplayOptions{Offset: 104}, want: "would lose 1 offsets"},
		"where it stands":           {o: repair.ReplayOptions{Offset: 103}, want: repair.ErrNothing.Error()},
		"a time of which all is still to come": {
			o: repair.ReplayOptions{Offset: -1, From: noon + day}, want: repair.ErrNothing.Error(),
		},
		"a partition that is not there": {
			o: repair.ReplayOptions{Offset: 100, Partitions: []int32{1}}, want: "has no partition 1, only 0 to 0",
		},
		"while a sink runs": {
			o: repair.ReplayOptions{Offset: 100}, change: func(w *world) { w.members = [][]string{{"b", "a"}} },
			want: "the consumer group sinks has 2 active members (a, b)",
		},
	} {
		w := settled(t)
		if tc.change != nil {
			tc.change(w)
		}
		_, err := replay(t, w, tc.o)
		switch {
		case tc.want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want) || len(w.calls) != 0):
			t.Errorf("%s: %v, want %q; calls %q", name, err, tc.want, w.calls)
		}
	}
}
