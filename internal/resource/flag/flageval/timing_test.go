package flageval

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// hour is so many hours after now.
func hour(n int) time.Time { return now.Add(time.Duration(n) * time.Hour) }

func during(from, to int) Schedule { return Schedule{StartsAt: hour(from), EndsAt: hour(to)} }

func TestAFlagsTimesAreThoseAtWhichItServesSomethingElse(t *testing.T) {
	t.Parallel()
	half := Serve{Rollout: &Rollout{Variant: "on", Percentage: 50}}
	ramp := func(from, to int) Rule {
		return Rule{Serve: half, Progressive: &Progressive{From: 0, To: 100, StartsAt: hour(from), EndsAt: hour(to)}}
	}
	on, no := Rule{Serve: Serve{Variant: "on"}}, false
	scheduled := func(r Rule, from, to int) Rule {
		r.Schedule = during(from, to)
		return r
	}
	flat := ramp(1, 2)
	flat.Progressive.To = 0
	disabled := scheduled(on, 1, 2)
	disabled.Enabled = &no
	window := func(d *Definition, s Schedule) *Definition {
		d.Schedule = s
		return d
	}
	inactive := window(boolean("f", ramp(1, 2)), during(1, 2))
	inactive.Active = false
	elsewhere := boolean("f")
	schedule := during(3, 4)
	elsewhere.Environments = map[string]Override{"test": {Schedule: &schedule}}
	for name, tc := range map[string]struct {
		flag     *Definition
		instants []int
		ramps    [][2]int
	}{
		"without any":                      {boolean("f", on, Rule{Serve: half}), nil, nil},
		"a schedule":                       {window(boolean("f"), during(1, 2)), []int{1, 2}, nil},
		"an end":                           {window(boolean("f"), Schedule{EndsAt: hour(2)}), []int{2}, nil},
		"inactive":                         {inactive, nil, nil},
		"another environment's":            {elsewhere, []int{3, 4}, nil},
		"a rule's":                         {boolean("f", scheduled(on, 1, 2)), []int{1, 2}, nil},
		"a disabled rule's":                {boolean("f", disabled), nil, nil},
		"a rule's beyond the flag's":       {window(boolean("f", scheduled(on, 2, 4)), during(1, 3)), []int{1, 2, 3}, nil},
		"a rule's outside of the flag's":   {window(boolean("f", scheduled(on, 4, 5)), during(1, 3)), []int{1, 3}, nil},
		"a ramp":                           {boolean("f", ramp(1, 2)), []int{1, 2}, [][2]int{{1, 2}}},
		"a ramp that does not change":      {boolean("f", flat), nil, nil},
		"a ramp that its rule's time cuts": {boolean("f", scheduled(ramp(1, 4), 2, 3)), []int{2, 3}, [][2]int{{2, 3}}},
	} {
		var got Timing
		got.Add(compiled(t, tc.flag).Flag("", "f"))
		want := Timing{}
		for _, n := range tc.instants {
			want.Instants = append(want.Instants, hour(n))
		}
		for _, r := range tc.ramps {
			want.Ramps = append(want.Ramps, Span{hour(r[0]), hour(r[1])})
		}
		slices.SortFunc(got.Instants, time.Time.Compare)
		got.Instants = slices.CompactFunc(got.Instants, time.Time.Equal)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestAFlagKnowsWhatItDependsOn(t *testing.T) {
	t.Parallel()
	in := func(keys ...any) *Conditions {
		return &Conditions{Any: []Condition{
			{Attribute: "plan", Op: OpExists},
			{Conditions: Conditions{All: []Condition{{Op: OpInSegment, Values: keys}}}},
		}}
	}
	f := boolean("f", Rule{Conditions: in("b", "c"), Serve: Serve{Variant: "on"}})
	f.Prerequisites = []Prerequisite{{"g", []string{"on"}}, {"away", []string{"on"}}}
	f.Environments = map[string]Override{"test": {Rules: &[]Rule{{Conditions: in("a"), Serve: Serve{Variant: "on"}}}}}
	segment := func(key string) Member[Segment] {
		return Member[Segment]{Is: &Segment{Key: key, UserIDs: []string{"ann"}}}
	}
	set, err := Compile(
		[]Member[Definition]{{Is: f}, {Is: boolean("g")}},
		[]Member[Segment]{segment("a"), segment("b"), segment("c"), segment("d")},
	)
	if err != nil {
		t.Fatal(err)
	}
	is := set.Flag("", "f")
	asked := slices.Sorted(is.Asks())
	if diff := cmp.Diff([]int{0, 1, 2}, asked); diff != "" {
		t.Errorf("segments (-want +got):\n%s", diff)
	}
	for range is.Asks() { // may be left early
		break
	}
	if needs := slices.Collect(is.Needs()); len(needs) != 1 || needs[0] != set.Flag("", "g") {
		t.Errorf("%d flags are needed", len(needs))
	}
}

func TestAFlagIsStaticWhereNothingElseCouldBeServed(t *testing.T) {
	t.Parallel()
	needy := boolean("needy")
	needy.Prerequisites = []Prerequisite{{"plain", []string{"on"}}}
	targeted := boolean("targeted")
	targeted.Targets = []Target{{Variant: "on", Emails: []string{"ann@example.com"}}}
	ends, begins := boolean("ends"), boolean("begins")
	ends.Schedule, begins.Schedule = Schedule{EndsAt: hour(1)}, Schedule{StartsAt: hour(-1)}
	set := compiled(t, boolean("plain"), needy, targeted, ends, begins,
		boolean("rules", Rule{Serve: Serve{Variant: "on"}}))
	want := map[string]bool{"plain": true, "begins": true}
	for _, f := range set.ordered {
		if got := f.Static(""); got != want[f.Definition.Key] {
			t.Errorf("%s is static: %t", f.Definition.Key, got)
		}
	}
}
