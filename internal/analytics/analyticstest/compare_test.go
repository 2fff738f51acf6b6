package analyticstest_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/analytics/analyticstest"
)

// comparedTypes are asked with a comparison, and what tells their rows apart.
var comparedTypes = map[string][]string{
	"summary_metrics": nil, "error_summary": nil, "events_by_date": nil, "custom_events_trends": nil,
	"top_pages": {"name"}, "custom_events": {"name"}, "region": {"name", "country_code"}, "error_types": {"name"},
	"error_route_continuation_comparison": {"name"}, "vitals_overview": {"metric_name"},
	"top_referrers": {"name"},
}

func TestComparisonsAgreeWithTheOracle(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(7, 8))
	s := newServer(t, richSet(r, 2500))
	conditions := analyticstest.NewConditions(s.events)
	for name, keys := range comparedTypes {
		for i := range 6 {
			env, q := subject(i == 0)
			q.Type, env.TimeZone, env.Now = name, []string{"", "Europe/Berlin", "Asia/Kolkata"}[i%3], at("03-31 12:00:00")
			preset(&q, []string{"last_7d", "today", "yesterday"}[r.IntN(3)], env.Now, env.TimeZone)
			day := func(t time.Time, days int) time.Time {
				y, m, d := t.In(q.Zone).Date()
				return time.Date(y, m, d+days, 0, 0, 0, 0, q.Zone)
			}
			start, end := day(q.Start, -3), day(q.Start, 1) // which is explicit, and of another length
			compare := fmt.Sprintf(`{"startDate":%q,"endDate":%q}`,
				start.Format(time.DateOnly), day(end, -1).Format(time.DateOnly))
			if i%2 == 0 {
				days := int((q.End.Sub(q.Start) + 12*time.Hour) / (24 * time.Hour))
				start, end, compare = day(q.Start, -days), q.Start, `"previous_period"`
			}
			env.Rollups, env.Dirty = true, s.dirty // where nothing is filtered
			filters := ""
			if i%4 == 1 || i == 2 {
				c := conditions.Random(r, []string{"path", "anonymous_id", "session_id"}, 2)
				q.Keep, filters = append(q.Keep, c.Keep), c.JSON
			}
			fields := []string{
				fmt.Sprintf(`"parameters":[%q],"startDate":%q,"endDate":%q`,
					name, q.Start.Format(time.DateOnly), day(q.End, -1).Format(time.DateOnly)),
				`"compare":` + compare, `"filters":[` + filters + `]`,
			}
			if i > 3 && len(keys) > 0 {
				q.Limit, q.Page = 2, 1+i%2
				fields = append(fields, fmt.Sprintf(`"limit":%d,"page":%d`, q.Limit, q.Page))
			}
			body := "{" + strings.Join(fields, ",") + "}"
			got, want := s.ask(t, body, env)[0], analyticstest.Compared(s.events, q, start, end, keys...)
			if len(got) == 0 && len(want) == 0 {
				continue
			}
			if diff := diffOf(want, got); diff != "" {
				t.Errorf("%s in %q (-want +got):\n%s", body, env.TimeZone, diff)
				return
			}
		}
	}
}

// What is more than a number can say has no change, and the others of its row have theirs. What
// is less than is shown is no change, and none below 0.
func TestAChangeThatIsNoNumberIsNull(t *testing.T) {
	t.Parallel()
	measured := func(metric, day, id string, value float64) analyticstest.Event {
		return analyticstest.Event{
			Kind: "vital", Name: metric, Website: "web_1", Organization: "org_1", ID: id, Time: at(day + " 10:00:00"),
			ReceivedAt: at("03-31 00:00:00"), AnonymousID: "a", Path: "/", Web: map[string]string{}, Exit: -1, Value: value,
		}
	}
	s := newServer(t, []analyticstest.Event{
		measured("LCP", "03-29", "before", 0.0001), measured("LCP", "03-30", "one", 1e303),
		measured("LCP", "03-30", "two", 1e303),
		measured("INP", "03-29", "high", 100_000), measured("INP", "03-30", "less", 99_999),
	})
	env, _ := subject(false)
	env.Now = at("03-30 20:00:00")
	rows := s.ask(t, `{"parameters":["vitals_overview"],"preset":"today","compare":"previous_period"}`, env)[0]
	change, _ := rows[0]["change"].(map[string]any)
	if little, ok := change["p75"].(float64); !ok || little != 0 || math.Signbit(little) {
		t.Errorf("a change of a thousandth of a percent is %v in %v", change["p75"], rows[0])
	}
	row := rows[1]
	change, _ = row["change"].(map[string]any)
	if p75, there := change["p75"]; !there || p75 != nil || change["samples"] != 100. {
		t.Errorf("changes of %v: %v", row, change)
	}
}
