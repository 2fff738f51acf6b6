package analyticstest_test

import (
	"strconv"
	"testing"

	"github.com/millrace/millrace/internal/analytics/analyticstest"
)

// Two sessions with everything that makes one worth a look, and one that took back more
// rage clicks than it told of.
func cases() []analyticstest.Event {
	var all []analyticstest.Event
	add := func(clock, session, kind, name, path, properties string) {
		all = append(all, analyticstest.Event{
			ID: strconv.Itoa(len(all)), Website: "web_1", Organization: "org_1", Time: at("03-29 " + clock),
			ReceivedAt: at("03-30 00:00:00"), SessionID: session, AnonymousID: "of " + session, Kind: kind, Name: name,
			Path: path, Properties: properties, Web: map[string]string{}, Exit: -1,
		})
	}
	for _, session := range []string{"s1", "s2"} {
		add("10:00:00", session, "", "screen_view", "/"+session, "")
		add("10:05:00", session, "", "signup", "/signup", "")
		add("10:05:01", session, "error", "TypeError", "/signup", "")
		add("10:20:00", session, "", "engagement", "/"+session, `{"rageClickCount":3}`)
	}
	add("11:00:00", "s3", "", "engagement", "/s3", `{"rageClickCount":-3}`)
	add("11:00:01", "s3", "error", "TypeError", "/s3", "")
	return all
}

// Filters choose sessions, and all of each is told: none of what a filter is about
// is a column of errors.
func TestSessionsWorthALookAreChosenByFiltersAndToldWhole(t *testing.T) {
	t.Parallel()
	s := newServer(t, cases())
	conditions := analyticstest.NewConditions(s.events)
	for _, tc := range []struct {
		condition analyticstest.Condition
		sessions  int
	}{
		{conditions.Compare("path", "eq", "/s1"), 1},
		{conditions.Compare("path", "eq", "/signup"), 2},
		{conditions.Compare("event_name", "eq", "signup"), 2},
		{conditions.Compare("event_name", "eq", "engagement"), 3},
		{conditions.Compare("event_name", "ne", "screen_view"), 3},
		{conditions.Compare("path", "eq", "/none"), 0},
	} {
		for _, organization := range []bool{false, true} {
			env, q := subject(organization)
			env.Now, q.Type = at("03-30 20:00:00"), "interesting_sessions"
			preset(&q, "last_7d", env.Now, "")
			q.Keep = append(q.Keep, tc.condition.Keep)
			body := `{"parameters":["interesting_sessions"],"preset":"last_7d","filters":[` + tc.condition.JSON + `]}`
			s.check(t, body, env, q)
			rows := s.ask(t, body, env)[0]
			if len(rows) != tc.sessions {
				t.Errorf("%s: %d sessions, want %d", tc.condition.JSON, len(rows), tc.sessions)
			}
			for _, row := range rows {
				if row["session_id"] != "s3" && row["score"] != 4. || row["session_id"] == "s3" && row["rage_clicks"] != 0. {
					t.Errorf("%s: %v", tc.condition.JSON, row)
				}
			}
		}
	}
}
