package browser

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/testkit"
)

var idForm = regexp.MustCompile(`^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$`)

// wantID checks that a field is a prefix with a UUID.
func wantID(t *testing.T, e item, field, prefix string) {
	t.Helper()
	text, _ := e[field].(string)
	if rest, ok := strings.CutPrefix(text, prefix); !ok || !idForm.MatchString(rest) {
		t.Errorf("%s is %q, want %q and a UUID", field, text, prefix)
	}
}

func TestAPageViewTellsWhichPageAndWhoSeesIt(t *testing.T) {
	t.Parallel()
	host := newRecorder(t)
	shop := newSite(t, host.tag(""))
	v := newVisitor(t)
	before := float64(time.Now().UnixMilli())
	v.open(shop.url + "/start?utm_source=news&utm_campaign=spring&gclid=g1&msclkid=m1&q=1#top")
	e := eventually(t, 1, func() []item { return host.pages("screen_view") })[0]
	wantID(t, e, "eventId", "")
	wantID(t, e, "anonymousId", "anon_")
	wantID(t, e, "sessionId", "sess_")
	for field, want := range map[string]any{
		"type": "track", "path": shop.url + "/start?utm_source=news&utm_campaign=spring&gclid=g1&msclkid=m1&q=1",
		"title":    "Page /start",
		"referrer": "direct", "page_count": 1.0, "utm_source": "news", "utm_campaign": "spring", "gclid": "g1",
		"msclkid":           "m1",
		"screen_resolution": get[string](v, "`${screen.width}x${screen.height}`"), "viewport_size": "1200x800",
		"language":   get[string](v, "navigator.language"),
		"timezone":   get[string](v, "Intl.DateTimeFormat().resolvedOptions().timeZone"),
		"properties": item{},
	} {
		if diff := cmp.Diff(want, e[field]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", field, diff)
		}
	}
	for _, field := range []string{"timestamp", "sessionStartTime"} {
		if at, _ := e[field].(float64); at < before || at > float64(time.Now().UnixMilli()) {
			t.Errorf("%s is %v", field, e[field])
		}
	}
	for _, field := range []string{"ttfb", "dom_interactive", "dom_ready_time", "load_time"} {
		if ms, _ := e[field].(float64); ms <= 0 {
			t.Errorf("%s is %v", field, e[field])
		}
	}
	req := host.all()[0]
	if req.path != "/batch" || req.query != "client_id=web_1" || req.origin != shop.url ||
		!strings.HasPrefix(req.contentType, "text/plain") || !req.array {
		t.Errorf("request %+v", req)
	}
	stored := get[map[string]string](v, "({did: localStorage.did, session: sessionStorage.did_session})")
	if stored["did"] != e["anonymousId"] || stored["session"] != e["sessionId"] {
		t.Errorf("stored %v", stored)
	}
}

// Android's browsers name the app in which a link was tapped.
func TestAnAppFromWhichAVisitorComesIsToldOf(t *testing.T) {
	t.Parallel()
	for referrer, want := range map[string]string{
		"android-app://com.google.android.gm/": "android-app://com.google.android.gm/",
		"ios-app://284882215/":                 "ios-app://284882215/",
		"about:client":                         "direct",
	} {
		t.Run(referrer, func(t *testing.T) {
			t.Parallel()
			host := newRecorder(t)
			shop := newSite(t,
				`<script>Object.defineProperty(document, "referrer", {value: "`+referrer+`"})</script>`+host.tag(""))
			newVisitor(t).open(shop.url)
			view := eventually(t, 1, func() []item { return host.pages("screen_view") })[0]
			if view["referrer"] != want {
				t.Errorf("the referrer is %v, want %s", view["referrer"], want)
			}
		})
	}
}

func TestTheCampaignAndTheVisitorStayForTheSession(t *testing.T) {
	t.Parallel()
	host := newRecorder(t)
	shop := newSite(t, host.tag(""))
	v := newVisitor(t)
	v.open(shop.url + "/?utm_source=news")
	eventually(t, 1, func() []item { return host.pages("screen_view") })
	v.follow("#inside")
	views := eventually(t, 2, func() []item { return host.pages("screen_view") })
	for _, field := range []string{"anonymousId", "sessionId", "utm_source", "sessionStartTime"} {
		if views[0][field] != views[1][field] || views[1][field] == nil {
			t.Errorf("%s was %v and is %v", field, views[0][field], views[1][field])
		}
	}
	if want := shop.url + "/?utm_source=news"; views[1]["referrer"] != want {
		t.Errorf("the referrer is %v, want %s", views[1]["referrer"], want)
	}
	// Somebody who comes back after half an hour is on a new visit.
	v.run(`sessionStorage.did_session_timestamp = Date.now() - 1800001`)
	v.click("#plain")
	again := eventually(t, 3, func() []item { return host.pages("screen_view") })[2]
	if again["sessionId"] == views[0]["sessionId"] || again["anonymousId"] != views[0]["anonymousId"] ||
		again["utm_source"] != nil {
		t.Errorf("after half an hour: %v", again)
	}
	exits := eventually(t, 2, func() []item { return host.pages("page_exit") })
	if exits[1]["sessionId"] != views[1]["sessionId"] {
		t.Errorf("the old visit ends in session %v", exits[1]["sessionId"])
	}
}

func TestTheTagSaysAfterHowLongASessionIsOver(t *testing.T) {
	t.Parallel()
	host := newRecorder(t)
	shop := newSite(t, host.tag(`data-session-timeout-minutes="60"`))
	v := newVisitor(t)
	v.open(shop.url)
	first := eventually(t, 1, func() []item { return host.pages("screen_view") })[0]
	returns := func(minutes string) string {
		v.run(`sessionStorage.did_session_timestamp = Date.now() - ` + minutes + ` * 60000`)
		v.click("#plain")
		return get[string](v, "sessionStorage.did_session")
	}
	if session := returns("59"); session != first["sessionId"] {
		t.Errorf("after 59 minutes of 60 session %v goes on as %s", first["sessionId"], session)
	}
	session := returns("60.001")
	if session == first["sessionId"] {
		t.Error("after 60 minutes the session goes on")
	}
	if again := eventually(t, 2, func() []item { return host.pages("screen_view") })[1]; again["sessionId"] != session {
		t.Errorf("the view after 60 minutes is of session %v, not %s", again["sessionId"], session)
	}
}

func TestThePagesOfAnApplicationAreViewsAndEachIsLeft(t *testing.T) {
	t.Parallel()
	host := newRecorder(t)
	shop := newSite(t, host.tag(`data-mask-patterns='["/users/*"]' data-skip-patterns="/admin/**"`))
	v := newVisitor(t)
	v.open(shop.url + "/?tall")
	for _, step := range []string{
		`history.pushState({}, "", "/one"); document.title = "One"`,
		`history.pushState({}, "", "/one")`,               // the same page
		`history.replaceState({}, "", "/one?sort=price")`, // a query that is put in order
		`history.pushState({}, "", "/one?page=2")`,
		`location.hash = "#part"`, // a part of the same page
		`history.replaceState({}, "", "/users/7"); document.title = "User"`,
		`history.pushState({}, "", "/admin/secret")`, // nothing of it
		`millrace.track("in secret")`,
		`history.pushState({}, "", "/two"); document.title = "Two"`,
		`new Promise((done) => { addEventListener("popstate", done, {once: true}); history.go(-2); })`,
	} {
		v.run(step)
	}
	v.run(`millrace.flush()`)
	views := eventually(t, 6, func() []item { return host.pages("screen_view") })
	got := make([]string, 0, len(views))
	for _, e := range views {
		got = append(got,
			strings.TrimPrefix(fmt.Sprint(e["path"]), shop.url)+" from "+strings.TrimPrefix(fmt.Sprint(e["referrer"]), shop.url))
	}
	want := []string{
		"/?tall from direct", "/one from /?tall", "/one?page=2 from /one", "/users/* from /one?page=2",
		"/two from /admin/secret", "/users/* from /two",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("views (-want +got):\n%s", diff)
	}
	exits := eventually(t, 5, func() []item { return host.pages("page_exit") })
	for i, e := range exits {
		if e["path"] != views[i]["path"] || e["sessionId"] != views[i]["sessionId"] ||
			!strings.HasPrefix(fmt.Sprint(e["eventId"]), "exit_") {
			t.Errorf("exit %d is %v", i, e)
		}
	}
	if all := host.events("/track"); len(all) != 0 {
		t.Errorf("of a page that nobody wants: %v", all)
	}
}

func TestRoutesBehindAHashArePagesWhereAskedFor(t *testing.T) {
	t.Parallel()
	host := newRecorder(t)
	shop := newSite(t, host.tag(`data-track-hash-changes`))
	v := newVisitor(t)
	v.open(shop.url + "/#/list")
	v.run(`location.hash = "#/detail"`)
	views := eventually(t, 2, func() []item { return host.pages("screen_view") })
	for i, want := range []string{"/#/list", "/#/detail"} {
		if views[i]["path"] != shop.url+want {
			t.Errorf("view %d is of %v, want %s", i, views[i]["path"], want)
		}
	}
}

func TestAPageFromTheBrowsersCacheIsAViewAgain(t *testing.T) {
	t.Parallel()
	host := newRecorder(t)
	shop := newSite(t, host.tag(""))
	v := newVisitor(t)
	v.open(shop.url + "/first")
	v.run(`addEventListener("pageshow", (e) => { window.cached = e.persisted; })`)
	v.open(shop.url + "/second")
	eventually(t, 2, func() []item { return host.pages("screen_view") })
	v.back()
	testkit.Eventually(t, within, func() error {
		if !get[bool](v, "window.cached === true") {
			return errors.New("the page did not come from the cache")
		}
		return nil
	})
	views := eventually(t, 3, func() []item { return host.pages("screen_view") })
	if views[2]["path"] != shop.url+"/first" || views[2]["sessionId"] != views[0]["sessionId"] ||
		views[2]["eventId"] == views[0]["eventId"] {
		t.Errorf("back again: %v", views[2])
	}
	exits := eventually(t, 2, func() []item { return host.pages("page_exit") })
	if exits[0]["path"] != views[0]["path"] || exits[1]["path"] != views[1]["path"] {
		t.Errorf("exits %v", exits)
	}
}

func TestAnExitTellsTimeDepthAndInteractions(t *testing.T) {
	t.Parallel()
	host := newRecorder(t)
	shop := newSite(t, host.tag(""))
	// A strict policy hides the origin of what is sent while a page is left by
	// other means than the tracker's, and the host would reject it.
	shop.header.Set("Referrer-Policy", "no-referrer")
	v := newVisitor(t)
	v.open(shop.url + "/long?tall")
	eventually(t, 1, func() []item { return host.pages("screen_view") })
	v.click("#plain")
	v.run(`new Promise((done) => { addEventListener("scroll", done, {once: true}); scrollTo(0, 1200); })`)
	v.run(`new Promise((done) => setTimeout(done, 1100))`)
	v.close()
	e := eventually(t, 1, func() []item { return host.pages("page_exit") })[0]
	seconds, _ := e["time_on_page"].(float64)
	active, _ := e["properties"].(item)["active_time"].(float64)
	depth, _ := e["scroll_depth"].(float64)
	if seconds < 1.1 || seconds > within.Seconds() || active < 1.1 || active > seconds || depth < 49 || depth > 51 ||
		e["interaction_count"] != 1.0 {
		t.Errorf("exit %v", e)
	}
	for _, req := range host.all() {
		if req.origin != shop.url {
			t.Errorf("%s came from origin %q", req.path, req.origin)
		}
	}
}

func TestEachStretchOfTimeOnAPageIsToldOnce(t *testing.T) {
	t.Parallel()
	host := newRecorder(t)
	shop := newSite(t, host.tag(""))
	v := newVisitor(t)
	v.open(shop.url + "/")
	eventually(t, 1, func() []item { return host.pages("screen_view") })
	v.lookAway()
	eventually(t, 1, func() []item { return host.pages("page_exit") })
	v.lookBack()
	v.run(`new Promise((done) => setTimeout(done, 1100))`)
	v.lookAway()
	exits := eventually(t, 2, func() []item { return host.pages("page_exit") })
	v.close() // hidden by then: nothing to add
	first, second := fmt.Sprint(exits[0]["eventId"]), fmt.Sprint(exits[1]["eventId"])
	if second != first+"_2" {
		t.Errorf("ids %s and %s", first, second)
	}
	if seconds, _ := exits[1]["time_on_page"].(float64); seconds < 1 {
		t.Errorf("the second stretch took %v", seconds)
	}
	if views := host.pages("screen_view"); len(views) != 1 {
		t.Errorf("views %v", views)
	}
}
