package control_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/platform/control"
)

func quota(id string, epoch, version int64, state string) control.Change {
	return control.Change{Kind: control.Quota, ID: id, Epoch: epoch, Version: version, State: state, At: time.Now()}
}

func TestOlderChangesDoNotReplaceAState(t *testing.T) {
	t.Parallel()
	gone := quota("a", 1, 4, "")
	gone.Gone = true
	key := quota("a", 9, 9, "key")
	key.Kind = control.Key
	s := control.NewStates(control.Quota, nil)
	for _, tc := range []struct {
		change control.Change
		newer  bool
		want   string // empty for none
	}{
		{quota("a", 1, 2, "two"), true, "two"},
		{quota("a", 1, 2, "two again"), false, "two"},
		{quota("a", 1, 1, "one"), false, "two"},
		{quota("a", 1, 3, "three"), true, "three"},
		{quota("b", 1, 1, "of another"), true, "three"},
		{key, false, "three"},
		{gone, true, ""},
		{quota("a", 1, 3, "back from the dead"), false, ""},
		// The store was put back: versions come again.
		{quota("a", 2, 1, "of another life"), true, "of another life"},
		{quota("a", 1, 100, "of the old one"), false, "of another life"},
	} {
		if newer := s.Apply(tc.change); newer != tc.newer {
			t.Errorf("Apply(%q) = %t, want %t", tc.change.State, newer, tc.newer)
		}
		got, ok := s.Get("a")
		if got.State != tc.want && ok || ok != (tc.want != "") {
			t.Errorf("after %q: %q, %t, want %q", tc.change.State, got.State, ok, tc.want)
		}
	}
}

func TestSnapshotReplacesStatesButNotWhatCameMeanwhile(t *testing.T) {
	t.Parallel()
	var s *control.States
	s = control.NewStates(control.Quota, func(context.Context) (control.Snapshot, error) {
		s.Apply(quota("newer", 1, 5, "told"))
		s.Apply(quota("made", 1, 1, "told"))
		return control.Snapshot{Epoch: 1, States: []control.Change{
			quota("newer", 0, 4, "read"), quota("older", 0, 4, "read"), quota("first", 0, 1, "read"),
		}}, nil
	})
	for _, c := range []control.Change{
		quota("newer", 1, 3, "old"), quota("older", 1, 3, "old"), quota("removed", 1, 3, "old"),
	} {
		s.Apply(c)
	}
	if err := s.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, id := range []string{"newer", "made", "older", "first", "removed"} {
		if c, ok := s.Get(id); ok {
			got[id] = c.State
		}
	}
	if diff := cmp.Diff(
		map[string]string{"newer": "told", "made": "told", "older": "read", "first": "read"}, got); diff != "" {
		t.Errorf("states (-want +got):\n%s", diff)
	}
}

func TestFailedSnapshotLeavesWhatIsKnown(t *testing.T) {
	t.Parallel()
	errDown := errors.New("the store is down")
	s := control.NewStates(control.Quota,
		func(context.Context) (control.Snapshot, error) { return control.Snapshot{}, errDown })
	s.Apply(quota("a", 1, 1, "one"))
	if err := s.Load(t.Context()); !errors.Is(err, errDown) {
		t.Errorf("Load() = %v, want %v", err, errDown)
	}
	if c, ok := s.Get("a"); !ok || c.State != "one" {
		t.Errorf("Get() = %q, %t, want one", c.State, ok)
	}
}

//nolint:paralleltest // counts allocations
func TestAskingForAStateAllocatesNothing(t *testing.T) {
	s := control.NewStates(control.Quota, nil)
	s.Apply(quota("a", 1, 1, "one"))
	if n := testing.AllocsPerRun(1000, func() { s.Get("a"); s.Get("none") }); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}
