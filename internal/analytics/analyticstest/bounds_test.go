package analyticstest_test

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/analytics"
	"github.com/millrace/millrace/internal/analytics/analyticstest"
)

// Sessions are listed with their first events, as many as their bound; what they count
// counts all.
func TestASessionIsListedWithAsManyEventsAsItsBound(t *testing.T) {
	t.Parallel()
	most, err := strconv.Atoi(analytics.MaxSessionEvents)
	if err != nil {
		t.Fatal(err)
	}
	var all []analyticstest.Event
	sizes := map[string]int{"below": most - 1, "at": most, "beyond": most + 1}
	for session, n := range sizes {
		for i := range n {
			e := analyticstest.Event{
				Organization: "org_1", Website: "web_1", ID: fmt.Sprint(session, i), Name: "screen_view",
				Path: "/" + strconv.Itoa(i),
				Time: at("03-29 10:00:00").Add(time.Duration(i) * time.Second), ReceivedAt: at("03-30 00:00:00"),
				SessionID: session, AnonymousID: "ann",
			}
			all = append(all, e)
			e.Kind, e.Name, e.ID, e.Web, e.Exit = "vital", "LCP", "lcp "+e.ID, map[string]string{"country": "AT"}, -1
			all = append(all, e)
		}
	}
	s := newServer(t, all)
	env, q := subject(false)
	env.Now = at("03-29 12:00:00")
	preset(&q, "today", env.Now, "")
	q.Type = "session_list"
	s.check(t, `{"parameters":["session_list"],"preset":"today"}`, env, q)
	lists := s.ask(t, `{"parameters":["session_list","profile_sessions"],"preset":"today","filters":[{"field":"anonymous_id","op":"eq","value":"ann"}]}`, env)
	for i, columns := range [][]string{{"events"}, {"events", "web_vitals"}} {
		if len(lists[i]) != len(sizes) {
			t.Fatalf("%d sessions, want %d", len(lists[i]), len(sizes))
		}
		for _, row := range lists[i] {
			n := sizes[row["session_id"].(string)]
			if got := row["page_views"]; got != float64(n) {
				t.Errorf("session %s has %v page views, want %d", row["session_id"], got, n)
			}
			for _, column := range columns {
				if got := len(row[column].([]any)); got != min(n, most) {
					t.Errorf("session %s of %d lists %d %s, want %d", row["session_id"], n, got, column, min(n, most))
				}
			}
		}
	}
}
