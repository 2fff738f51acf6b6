package analyticstest_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/analytics"
)

// The window of the random clicks: clocks change in Berlin on 29 March, on Lord Howe by
// half an hour and in Santiago at midnight on 5 April.
var (
	clicksFrom  = at("03-26 00:00:00")
	clicksUntil = at("04-07 00:00:00")
)

// clickZones are zones whose days begin everywhere in those of UTC.
var clickZones = []string{
	"", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Asia/Kathmandu",
	"Australia/Lord_Howe", "America/Santiago", "Pacific/Kiritimati",
}

// randomClicks have values drawn from few, but for sites and countries, of which most come
// once or twice a day. One in eight is on the edge of an hour.
func randomClicks(r *rand.Rand, n int) []clicked {
	some := func(name string, of int) string {
		if k := r.IntN(of + 1); k > 0 {
			return name + strconv.Itoa(k)
		}
		return ""
	}
	all := make([]clicked, n)
	for i := range all {
		when := clicksFrom.Add(time.Duration(r.Int64N(clicksUntil.Sub(clicksFrom).Milliseconds())) * time.Millisecond)
		if r.IntN(8) == 0 {
			when = when.Truncate(time.Hour).Add(time.Duration(r.IntN(2)-1) * time.Millisecond)
		}
		host := some("host", 100)
		all[i] = clicked{
			at: when.Format("01-02 15:04:05.000"), visitor: some("v", 20),
			country: some("C", 60), region: some("R", 6), city: some("Z", 9), device: some("d", 3), browser: some("b", 4),
			host: host, site: strings.ToUpper(host), rule: some("rul_", 2), variant: some("var_", 3),
			qr: r.IntN(3) == 0, bot: r.IntN(5) == 0,
		}
	}
	return all
}

// clickEnds are pairs of days, of quarters of an hour and of any times.
func clickEnds(r *rand.Rand) (start, end string) {
	whole := clicksUntil.Sub(clicksFrom)
	for {
		from := clicksFrom.Add(time.Duration(r.Int64N(int64(whole))))
		until := clicksFrom.Add(time.Duration(r.Int64N(int64(whole))))
		layout := time.RFC3339Nano
		switch r.IntN(4) {
		case 0, 1:
			layout = time.DateOnly
		case 2:
			from, until = from.Truncate(15*time.Minute), until.Truncate(15*time.Minute)
		}
		if from.Add(time.Hour).Before(until) {
			return from.Format(layout), until.Format(layout)
		}
	}
}

// Whatever the zone, the range and the days that are dirty, rollups tell of clicks what
// the clicks do.
func TestRollupsTellOfClicksWhatTheClicksDo(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 1))
	s := newClicks(t, randomClicks(r, 1500))
	var names []string
	for i := range analytics.Catalog {
		if analytics.Catalog[i].Subjects == analytics.Link {
			names = append(names, strconv.Quote(analytics.Catalog[i].Name))
		}
	}
	for _, zone := range clickZones {
		for range 6 {
			start, end := clickEnds(r)
			body := fmt.Sprintf(`{"parameters":[%s],"startDate":%q,"endDate":%q,"granularity":%q,"limit":300}`,
				strings.Join(names, ","), start, end, []string{"hour", "day", "day", "week", "month"}[r.IntN(5)])
			env := analytics.Environment{
				Subject: analytics.Subject{Kind: analytics.Link, ID: "lnk_1"}, Now: clicksUntil, TimeZone: zone,
			}
			want := s.ask(t, body, env)
			env.Rollups = true
			for range r.IntN(3) {
				env.Dirty = append(env.Dirty, clicksFrom.AddDate(0, 0, r.IntN(12)))
			}
			if diff := cmp.Diff(want, s.ask(t, body, env)); diff != "" {
				t.Errorf("seed %d: %s in %q with %v dirty (-clicks +rollups):\n%s", seed, body, zone, env.Dirty, diff)
			}
		}
	}
}
