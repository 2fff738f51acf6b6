package analyticstest_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/analytics"
	"github.com/millrace/millrace/internal/analytics/analyticstest"
)

// Each string is stored as a name and asked for by a filter: it is found, and
// nothing else is.
func TestHostileStringsAreValues(t *testing.T) {
	t.Parallel()
	hostile := []string{
		"'", `\`, `\'`, "''", `"`, "`", "--", ";", "{owner:String}", "\x00", "a\nb", "a\tb", "\r", `\0`, `\n`, `\\`,
		"x' OR 1=1 --", `\x41`, "['a','b']", ",", "]", "é\u2028", "%", "_", strings.Repeat(`\'`, 200),
	}
	var events []analyticstest.Event
	for i, h := range hostile {
		events = append(events, analyticstest.Event{
			Website: h, Organization: "org_1", ID: "e", Name: "event " + h, Path: h, Time: at("03-29 10:00:00"),
			ReceivedAt: at("03-29 10:00:00").Add(time.Duration(i)), Properties: string(quoted(map[string]int{h: 1})),
		})
	}
	s := newServer(t, events)
	for _, h := range hostile {
		body := `{"parameters":["custom_events"],"startDate":"2026-03-29","endDate":"2026-03-29","filters":[` +
			`{"field":"event_name","op":"eq","value":` + string(quoted("event "+h)) + `},{"field":"path","op":"in","value":[` +
			string(quoted(h)) + `,"\\"]},` +
			`{"field":"path","op":"starts_with","value":` + string(quoted(h)) +
			`},{"field":"property_key","op":"in","value":["'",` + string(quoted(h)) + `]}]}`
		if len(h) <= analytics.MaxFilterKeyLen {
			body = strings.TrimSuffix(body, "]}") + `,{"or":[{"field":"path","op":"eq","value":"no"},{"and":[{"field":` +
				string(quoted("property:"+h)) + `,"op":"gte","value":1},` +
				`{"field":"path","op":"regex","value":` + string(quoted("^"+regexp.QuoteMeta(h)+"$")) + `},{"not":{"field":` +
				string(quoted("trait:"+h)) + `,"op":"is_set"}}]}]}]}`
		}
		for _, subject := range []analytics.Subject{
			{Kind: analytics.Website, ID: h}, {Kind: analytics.Organization, ID: "org_1"},
		} {
			rows := s.ask(t, body, analytics.Environment{Subject: subject, Now: at("03-29 12:00:00")})[0]
			if len(rows) != 1 || rows[0]["name"] != "event "+h {
				t.Errorf("%q in %v: %d rows %v", h, subject.Kind, len(rows), rows)
			}
		}
	}
}

// Columns of which nearly every value is empty are kept sparse by the server,
// and must reach us in the plain form.
func TestSparseColumnsAreRead(t *testing.T) {
	t.Parallel()
	var events []analyticstest.Event
	for i := range 2000 {
		e := analyticstest.Event{
			Website: "web_1", Organization: "org_1", ID: time.Duration(i).String(), Name: "signup",
			Time: at("03-29 10:00:00").Add(time.Duration(i) * time.Second), ReceivedAt: at("03-30 00:00:00"),
		}
		if i == 1000 {
			e.AnonymousID, e.Path, e.Properties, e.Namespace = "a", "/x", `{"k":1}`, "n"
		}
		events = append(events, e)
	}
	s := newServer(t, events)
	env, q := subject(false)
	env.Now, q.Type, q.Limit = at("03-29 12:00:00"), "custom_events_recent", 5000
	preset(&q, "today", env.Now, "")
	s.check(t, `{"parameters":["custom_events_recent"],"preset":"today","limit":5000}`, env, q)
}
