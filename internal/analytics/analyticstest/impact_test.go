package analyticstest_test

import (
	"strconv"
	"testing"

	"github.com/millrace/millrace/internal/analytics"
	"github.com/millrace/millrace/internal/analytics/analyticstest"
)

// What errors do to those who have them, counted by hand.
func TestWhatErrorsDoIsCounted(t *testing.T) {
	t.Parallel()
	var all []analyticstest.Event
	add := func(kind, name, time, session, visitor, user, path string) {
		e := analyticstest.Event{
			Kind: kind, Name: name, Organization: "org_1", Website: "web_1", ID: strconv.Itoa(len(all)),
			Time: at("03-29 " + time), ReceivedAt: at("03-30 00:00:00"),
			SessionID: session, AnonymousID: visitor, ProfileID: user, Path: path, Exit: -1,
		}
		if kind == "error" {
			e.Web = map[string]string{"message": "at " + time}
		}
		if kind == "identity" {
			e.Properties = `{"name":"Ada","email":"ada@example.com"}`
		}
		all = append(all, e)
	}
	view := func(time, session, visitor, user, path string) {
		add("", "screen_view", time, session, visitor, user, path)
	}
	fails := func(time, session, visitor, user, path, kind string) {
		add("error", kind, time, session, visitor, user, path)
	}
	add("identity", "identify", "09:00:00", "", "v2", "p1", "")
	// The user goes on after an error.
	view("10:00:00", "s1", "v1", "p1", "/a")
	fails("10:00:01", "s1", "v1", "p1", "/a", "TypeError")
	view("10:00:02", "s1", "v1", "p1", "/b")
	// As a visitor who is that user, with two errors, they do not.
	view("11:00:00", "s2", "v2", "", "/a")
	fails("11:00:01", "s2", "v2", "", "/a", "TypeError")
	fails("11:00:02", "s2", "v2", "", "/a", "Error")
	// Without an error one session goes on, and one stays.
	view("12:00:00", "s3", "v1", "p1", "/a")
	view("12:00:01", "s3", "v1", "p1", "/b")
	view("12:30:00", "s4", "v4", "", "/a")
	view("12:30:01", "s4", "v4", "", "/a")
	// A page before the error is none after it.
	view("13:00:00", "s5", "v5", "", "/a")
	view("13:00:01", "s5", "v5", "", "/b")
	view("13:00:02", "s5", "v5", "", "/a")
	fails("13:00:03", "s5", "v5", "", "/a", "TypeError")
	// An error on a page that the session did not view.
	fails("14:00:00", "s6", "v6", "", "/a", "TypeError")
	s := newServer(t, all)
	env, _ := subject(false)
	env.Now = at("03-29 20:00:00")
	got := s.ask(t, `{"parameters":["error_customer_impact","error_route_continuation_comparison"],"preset":"today"}`, env)
	want := [][]analyticstest.Row{
		{{
			"profile_id": "p1", "display_name": "Ada", "email": "ada@example.com", "errors": 3., "error_types": 2., "pages": 1.,
			"affected_sessions": 2., "total_sessions": 3., "affected_rate": 66.67, "last_error": "at 11:00:02",
			"first_seen": "2026-03-29T10:00:01.000Z", "last_seen": "2026-03-29T11:00:02.000Z",
		}},
		{{
			"name": "/a", "errors": 4., "error_sessions": 3., "error_continued": 1., "error_continuation_rate": 33.33,
			"clean_sessions": 2., "clean_continued": 1., "clean_continuation_rate": 50., "difference": -16.67,
		}},
	}
	if diff := diffOf(want, got); diff != "" {
		t.Errorf("answers (-want +got):\n%s", diff)
	}
	env.Subject = analytics.Subject{Kind: analytics.Organization, ID: "org_1"}
	got = s.ask(t, `{"parameters":["error_route_continuation_comparison"],"preset":"today"}`, env)
	if diff := diffOf(want[1:], got); diff != "" {
		t.Errorf("of the organization (-want +got):\n%s", diff)
	}
}
