package quota_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/tenant/quota"
)

var noon = time.Date(2026, 3, 31, 12, 0, 0, 0, time.UTC)

func TestAMonthIsThatOfUTC(t *testing.T) {
	t.Parallel()
	east := time.FixedZone("east", 3*3600)
	for at, want := range map[time.Time]quota.Month{
		time.Date(2026, 4, 1, 2, 59, 59, 0, east): "2026-03", time.Date(2026, 4, 1, 3, 0, 0, 0, east): "2026-04",
	} {
		if got := quota.MonthOf(at); got != want {
			t.Errorf("MonthOf(%s) = %s, want %s", at, got, want)
		}
	}
	start, end := quota.Month("2026-12").Bounds()
	if !start.Equal(time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)) ||
		!end.Equal(time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)) {
		t.Errorf("Bounds() = %s, %s", start, end)
	}
	for _, text := range []string{"", "2026", "2026-13", "2026-1", "2026-01-01", "x"} {
		if _, err := quota.ParseMonth(text); !apierr.Is(err, apierr.Validation) {
			t.Errorf("ParseMonth(%q) = %v", text, err)
		}
		if start, end := quota.Month(text).Bounds(); !start.IsZero() || !end.IsZero() {
			t.Errorf("Bounds() of %q = %s, %s", text, start, end)
		}
	}
}

func TestCountDecidesAtTheQuotaAndTellsOnce(t *testing.T) {
	t.Parallel()
	type step struct {
		month       quota.Month
		used, limit int64
		want        quota.Outcome
		exceeded    bool
		usedAfter   int64
	}
	const march, april = quota.Month("2026-03"), quota.Month("2026-04")
	for name, steps := range map[string][]step{
		"every step of a month": {
			{march, 79, 100, quota.Outcome{}, false, 79},
			{march, 80, 100, quota.Outcome{Notice: 80}, false, 80},
			{march, 99, 100, quota.Outcome{}, false, 99},
			{march, 100, 100, quota.Outcome{Decided: true, Notice: 100}, true, 100},
			{march, 101, 100, quota.Outcome{}, true, 101},
		},
		"all at once": {{march, 500, 100, quota.Outcome{Decided: true, Notice: 100}, true, 500}},
		"a share that is no whole event": {
			{march, 3, 4, quota.Outcome{}, false, 3}, {march, 4, 5, quota.Outcome{Notice: 80}, false, 4},
		},
		"a quota of one event": {
			{march, 0, 1, quota.Outcome{}, false, 0}, {march, 1, 1, quota.Outcome{Decided: true, Notice: 100}, true, 1},
		},
		"no quota": {{march, 1 << 50, quota.Unlimited, quota.Outcome{}, false, 1 << 50}},
		"a replica that is behind": {
			{march, 100, 100, quota.Outcome{Decided: true, Notice: 100}, true, 100},
			{march, 40, 100, quota.Outcome{}, true, 100},
		},
		"a new month": {
			{march, 100, 100, quota.Outcome{Decided: true, Notice: 100}, true, 100},
			{april, 0, 100, quota.Outcome{Decided: true}, false, 0},
			{april, 80, 100, quota.Outcome{Notice: 80}, false, 80},
		},
		"a new month that is used up at once": {
			{march, 100, 100, quota.Outcome{Decided: true, Notice: 100}, true, 100},
			{april, 100, 100, quota.Outcome{Decided: true, Notice: 100}, true, 100},
		},
		"a larger quota, and its own notices": {
			{march, 100, 100, quota.Outcome{Decided: true, Notice: 100}, true, 100},
			{march, 100, 1000, quota.Outcome{Decided: true}, false, 100},
			{march, 800, 1000, quota.Outcome{Notice: 80}, false, 800},
		},
		"a quota taken away, and given back": {
			{march, 100, 100, quota.Outcome{Decided: true, Notice: 100}, true, 100},
			{march, 100, quota.Unlimited, quota.Outcome{Decided: true}, false, 100},
			{march, 100, 90, quota.Outcome{Decided: true, Notice: 100}, true, 100},
		},
	} {
		q := quota.Quota{OrganizationID: "org_1", Own: quota.Default}
		version := int64(0)
		for i, s := range steps {
			got := q.Count(s.month, s.used, s.limit, noon)
			if got != s.want || q.Exceeded != s.exceeded || q.Used != s.usedAfter || q.Month != s.month ||
				!q.CountedAt.Equal(noon) {
				t.Errorf("%s, step %d: %+v and %+v, want %+v", name, i, got, q, s)
			}
			if got.Decided {
				version++
			}
			if q.Version != version {
				t.Errorf("%s, step %d: version %d, want %d", name, i, q.Version, version)
			}
		}
	}
}

func TestAQuotaIsWithinItsBounds(t *testing.T) {
	t.Parallel()
	for events, good := range map[int64]bool{
		quota.Default: true, quota.Unlimited: true, 1: true, quota.MaxEvents: true, quota.MaxEvents + 1: false,
		quota.Default - 1: false,
	} {
		if err := quota.CheckEvents(events); (err == nil) != good || err != nil && !apierr.Is(err, apierr.Validation) {
			t.Errorf("CheckEvents(%d) = %v", events, err)
		}
	}
	for own, want := range map[int64]int64{quota.Default: 7, quota.Unlimited: quota.Unlimited, 3: 3} {
		if diff := cmp.Diff(want, (&quota.Quota{Own: own}).Limit(7)); diff != "" {
			t.Errorf("Limit() of %d (-want +got):\n%s", own, diff)
		}
	}
}
