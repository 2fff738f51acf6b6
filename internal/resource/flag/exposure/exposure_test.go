package exposure

import (
	"fmt"
	"testing"

	"github.com/millrace/millrace/internal/resource/flag"
	"github.com/millrace/millrace/internal/resource/flag/flageval"
)

func TestAFlagSaysWhichExposuresCount(t *testing.T) {
	t.Parallel()
	for reason := flageval.Off; reason <= flageval.ByDefault; reason++ {
		e := anExposure(t)
		e.Reason = reason
		split := reason == flageval.ByRollout || reason == flageval.BySplit || reason == flageval.RolloutMiss
		for mode, want := range map[flag.ExposureMode]bool{
			flag.ExposeSplit: split, flag.ExposeAll: true, flag.ExposeOff: false,
		} {
			e.Flag, e.Drawn = aFlag(t, mode, 100), false
			if e.Counts() != want {
				t.Errorf("%s counts where the flag asks for %s: %t", reason, mode, !want)
			}
			// A percentage that missed them decided too, whatever came after it.
			if e.Drawn = true; e.Counts() != (mode != flag.ExposeOff) {
				t.Errorf("%s after a draw counts where the flag asks for %s: %t", reason, mode, mode == flag.ExposeOff)
			}
		}
	}
}

func TestWhatAClientTellsCountsWhereAPercentageCanDecide(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		mode        flag.ExposureMode
		environment string
		want        bool
	}{
		{flag.ExposeSplit, "", true},
		{flag.ExposeSplit, "unheard-of", true},
		{flag.ExposeSplit, "staging", false},
		{flag.ExposeAll, "staging", true},
		{flag.ExposeOff, "", false},
	} {
		e := anExposure(t)
		e.Flag, e.Told, e.Reason, e.Environment = aFlag(t, tc.mode, 100), true, 0, tc.environment
		if e.Counts() != tc.want {
			t.Errorf("in %q, mode %s: counts %t", tc.environment, tc.mode, !tc.want)
		}
	}
}

func TestASampleIsOfVisitorsAndGrowsOnly(t *testing.T) {
	t.Parallel()
	const visitors = 20_000
	var of [101]int
	for n := range visitors {
		id, was := fmt.Sprintf("user-%d", n), false
		for percent := 1; percent <= 100; percent++ {
			is := sampled(id, percent)
			if was && !is {
				t.Fatalf("%s is among %d percent and not among %d", id, percent-1, percent)
			}
			if was = is; is {
				of[percent]++
			}
		}
	}
	for percent := 1; percent <= 100; percent++ {
		want := visitors * percent / 100
		if off := of[percent] - want; off < -400 || off > 400 || percent == 100 && off != 0 {
			t.Errorf("%d percent are %d of %d visitors", percent, of[percent], visitors)
		}
	}
}

// Who is served what says nothing of who is sampled.
func TestASampleIsIndependentOfBuckets(t *testing.T) {
	t.Parallel()
	const visitors = 20_000
	f := aFlag(t, flag.ExposeAll, 100)
	set, err := flageval.Compile([]flageval.Member[flageval.Definition]{{Is: f.Definition}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var both [2][2]int
	var e flageval.Evaluator
	for n := range visitors {
		ctx := flageval.Context{UserID: fmt.Sprintf("user-%d", n)}
		e.Reset(set, &ctx, "", noon)
		r, err := e.Evaluate(set.Flag("", f.Key()))
		if err != nil {
			t.Fatal(err)
		}
		in := 0
		if sampled(ctx.UserID, 50) {
			in = 1
		}
		both[r.Variant][in]++
	}
	for _, of := range both {
		for _, n := range of {
			if n < visitors/4-400 || n > visitors/4+400 {
				t.Errorf("by variant and sample: %v, want about a quarter each", both)
			}
		}
	}
}
