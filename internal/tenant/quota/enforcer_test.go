package quota_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/platform/control"
	"github.com/millrace/millrace/internal/tenant/quota"
)

func newEnforcer(changes ...control.Change) (*quota.Enforcer, *control.States) {
	states := control.NewStates(control.Quota,
		func(context.Context) (control.Snapshot, error) { return control.Snapshot{}, nil })
	for _, c := range changes {
		c.Kind = control.Quota
		states.Apply(c)
	}
	return quota.NewEnforcer(states), states
}

func decided(organization string, version int64, month quota.Month, exceeded bool) control.Change {
	q := quota.Quota{Month: month, Exceeded: exceeded}
	return control.Change{Kind: control.Quota, Epoch: 1, ID: organization, Version: version, State: q.State()}
}

func TestTheEnforcerRejectsWhoseMonthIsUsedUp(t *testing.T) {
	t.Parallel()
	march, turn := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), time.Date(2026, 4, 1, 0, 0, 0, 0, time.UTC)
	enforcer, _ := newEnforcer(
		decided("over", 1, "2026-03", true), decided("under", 1, "2026-03", false),
		control.Change{Epoch: 1, ID: "unreadable", Version: 1, State: `[`},
		control.Change{Epoch: 1, ID: "stateless", Version: 1},
		control.Change{Epoch: 1, ID: "monthless", Version: 1, State: `{"exceeded":true}`},
		control.Change{Epoch: 1, ID: "later fields", Version: 1, State: `{"month":"2026-03","exceeded":true,"more":{}}`},
	)
	for _, tc := range []struct {
		organization string
		at           time.Time
		rejected     bool
	}{
		{"over", march, true},
		{"over", turn.Add(-1), true},
		{"over", turn, false},
		{"over", march.Add(-1), false},
		{"over", turn.Add(-time.Hour).In(time.FixedZone("east", 2*3600)), true},
		{"under", march, false},
		{"nobody", march, false},
		{"unreadable", march, false},
		{"stateless", march, false},
		{"monthless", march, false},
		{"later fields", march, true},
	} {
		for range 2 { // the second time from memory
			if err := enforcer.Check(t.Context(), tc.organization, tc.at); apierr.Is(err, apierr.QuotaExceeded) != tc.rejected ||
				!tc.rejected && err != nil {
				t.Errorf("Check(%s, %s) = %v, want refused %v", tc.organization, tc.at, err, tc.rejected)
			}
		}
	}
}

func TestOldChangesDoNotBringADecisionBack(t *testing.T) {
	t.Parallel()
	enforcer, states := newEnforcer(decided("org_1", 1, "2026-03", true), decided("org_1", 2, "2026-03", false))
	states.Apply(decided("org_1", 1, "2026-03", true))
	if err := enforcer.Check(t.Context(), "org_1", noon); err != nil {
		t.Errorf("Check() after an old change event = %v", err)
	}
	again := decided("org_1", 1, "2026-03", true)
	again.Epoch = 2 // of a store that was put back
	states.Apply(again)
	if err := enforcer.Check(t.Context(), "org_1", noon); !apierr.Is(err, apierr.QuotaExceeded) {
		t.Errorf("Check() after a change event of a new epoch = %v", err)
	}
}

func TestTheEnforcerAllocatesNothing(t *testing.T) { //nolint:paralleltest // allocations of others would count
	enforcer, _ := newEnforcer(decided("was over", 1, "2026-03", false))
	for _, organization := range []string{"was over", "never"} {
		if n := testing.AllocsPerRun(100, func() { _ = enforcer.Check(t.Context(), organization, noon) }); n != 0 {
			t.Errorf("Check(%s) makes %v allocations", organization, n)
		}
	}
}

func TestWhatTheEnforcerRemembersIsBounded(t *testing.T) {
	t.Parallel()
	enforcer, states := newEnforcer()
	for i := range 1000 {
		month := quota.MonthOf(noon.AddDate(0, i, 0))
		states.Apply(decided("org_1", int64(i), month, true))
		if err := enforcer.Check(t.Context(), "org_1", noon.AddDate(0, i, 0)); !apierr.Is(err, apierr.QuotaExceeded) {
			t.Fatal(fmt.Errorf("%s: %w", month, err))
		}
	}
}

func BenchmarkEnforcer(b *testing.B) {
	enforcer, _ := newEnforcer(decided("was over", 1, "2026-03", false))
	b.ReportAllocs()
	for b.Loop() {
		if err := enforcer.Check(b.Context(), "was over", noon); err != nil {
			b.Fatal(err)
		}
	}
}
