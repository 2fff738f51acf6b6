package flageval

import "testing"

func TestWhoHasNothingToBeDrawnByIsTold(t *testing.T) {
	t.Parallel()
	half := Serve{Rollout: &Rollout{Variant: "on", Percentage: 50}}
	roll := func(percentage float64, bucketBy string) Serve {
		return Serve{Rollout: &Rollout{Variant: "on", Percentage: percentage, BucketBy: bucketBy}}
	}
	split := Serve{Split: &[]Share{{"on", 50}, {"off", 50}}}
	someone := &Conditions{All: []Condition{{Attribute: "plan", Op: OpEq, Values: []any{"pro"}}}}
	needy := boolean("needy", Rule{Serve: Serve{Variant: "on"}})
	needy.Prerequisites = []Prerequisite{{"half", []string{"off"}}}
	twice := boolean("twice", Rule{Serve: Serve{Variant: "on"}})
	twice.Prerequisites = []Prerequisite{{"half", []string{"off"}}, {"plain", []string{"off"}}}
	failed := boolean("failed", Rule{Serve: Serve{Variant: "on"}})
	failed.Prerequisites = []Prerequisite{{"off", []string{"off"}}, {"half", []string{"off"}}}
	off := boolean("off", Rule{Serve: half})
	off.Active = false
	targeted := boolean("targeted", Rule{Serve: half})
	targeted.Targets = []Target{{Variant: "on", Emails: []string{"ann@example.com"}}}
	set := compiled(t,
		boolean("half", Rule{Serve: half}), boolean("split", Rule{Serve: split}), needy, twice, failed, off, targeted,
		boolean("none", Rule{Serve: roll(0, "")}), boolean("all", Rule{Serve: roll(100, "")}),
		boolean("named", Rule{Serve: roll(50, "userId")}), boolean("team", Rule{Serve: roll(50, "teamId")}),
		boolean("attribute", Rule{Serve: roll(50, "attr:plan")}),
		boolean("goes-on", Rule{Serve: half}, Rule{Serve: Serve{Variant: "on"}}),
		boolean("before", Rule{Serve: Serve{Variant: "on"}}, Rule{Serve: half}),
		boolean("others", Rule{Conditions: someone, Serve: half}), boolean("plain"),
	)
	lacking := map[string]bool{
		"half": true, "split": true, "needy": true, "twice": true, "named": true, "goes-on": true, "targeted": true,
	}
	for _, f := range set.ordered {
		key := f.Definition.Key
		for name, tc := range map[string]struct {
			ctx  Context
			want bool
		}{
			"nobody": {Context{AnonymousID: "anon"}, lacking[key]},
			"a user": {Context{UserID: "ann"}, false},
			"e-mail": {Context{Email: "ann@example.com"}, false},
		} {
			var e Evaluator
			e.Reset(set, &tc.ctx, "", now)
			for range 2 { // the second time it is known
				if got := served(&e, f).Unidentified; got != tc.want {
					t.Errorf("%s for %s: unidentified is %t, want %t", key, name, got, tc.want)
				}
			}
		}
	}
}

// Who was drawn might get something else with another percentage of this very flag.
func TestWhoWasDrawnIsTold(t *testing.T) {
	t.Parallel()
	on := Serve{Variant: "on"}
	roll := func(percentage float64) Serve {
		return Serve{Rollout: &Rollout{Variant: "on", Percentage: percentage}}
	}
	needy := boolean("needy", Rule{Serve: on})
	needy.Prerequisites = []Prerequisite{{"missed", []string{"off"}}}
	stops := roll(0.001)
	stops.Rollout.OnMiss = MissStop
	set := compiled(t,
		boolean("missed", Rule{Serve: roll(0.001)}), boolean("hit", Rule{Serve: roll(99.999)}),
		boolean("stops", Rule{Serve: stops}), boolean("split", Rule{Serve: Serve{Split: &[]Share{{"on", 50}, {"off", 50}}}}),
		boolean("missed-before", Rule{Serve: roll(0.001)}, Rule{Serve: on}), needy,
		boolean("none", Rule{Serve: roll(0)}), boolean("all", Rule{Serve: roll(100)}),
		boolean("ruled", Rule{Serve: on}, Rule{Serve: roll(50)}),
	)
	drawn := map[string]bool{"missed": true, "hit": true, "stops": true, "split": true, "missed-before": true}
	var e Evaluator
	for id, identified := range map[string]bool{"ann": true, "": false} {
		e.Reset(set, &Context{UserID: id}, "", now)
		for range 2 { // the second time it is known
			for _, f := range set.ordered {
				if key, got := f.Definition.Key, served(&e, f).Drawn; got != (identified && drawn[key]) {
					t.Errorf("%s for %q: drawn is %t", key, id, got)
				}
			}
		}
	}
}

func TestAPrerequisiteThatLacksAnIDIsNoMatterOfTheFlagsBeside(t *testing.T) {
	t.Parallel()
	needy := boolean("needy", Rule{Serve: Serve{Variant: "on"}})
	needy.Prerequisites = []Prerequisite{{"half", []string{"off"}}}
	half := boolean("half", Rule{Serve: Serve{Rollout: &Rollout{Variant: "on", Percentage: 50}}})
	set := compiled(t, needy, half, boolean("plain"))
	var e Evaluator
	e.Reset(set, &Context{}, "", now)
	for _, tc := range []struct {
		key  string
		want bool
	}{{"needy", true}, {"plain", false}, {"half", true}} {
		if got := served(&e, set.Flag("", tc.key)).Unidentified; got != tc.want {
			t.Errorf("%s: unidentified is %t, want %t", tc.key, got, tc.want)
		}
	}
}
