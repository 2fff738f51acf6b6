package browser

import (
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

func TestThePagesOfAnApplicationAreViewsAndEachIsLeft(t *testing.T) {
	t.Parallel()
	for name, batching := range map[string]string{"together": `"60000"`, "at once": `"200" data-enable-batching="false"`} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			host := newRecorder(t)
			tag := host.tag(`data-mask-patterns='["/users/*"]' data-skip-patterns="/admin/**"`)
			testPagesOfAnApplication(t, host, strings.Replace(tag, `"200"`, batching, 1))
		})
	}
}

func testPagesOfAnApplication(t *testing.T, host *recorder, tag string) {
	t.Helper()
	shop := newSite(t, tag)
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
		got = append(got, strings.ReplaceAll(fmt.Sprint(e["title"], ": ", e["path"], " from ", e["referrer"]), shop.url, ""))
	}
	want := []string{
		"Page /: /?tall from direct", "One: /one from /?tall", "One: /one?page=2 from /one",
		"User: /users/* from /one?page=2", "Two: /two from /", "Two: /users/* from /two",
	}
	if ms, _ := views[0]["ttfb"].(float64); ms <= 0 || views[1]["ttfb"] != nil {
		t.Errorf("loading took %v, and then %v", views[0]["ttfb"], views[1]["ttfb"])
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
	shop := newSite(t, host.tag(`data-track-web-vitals`))
	v := newVisitor(t)
	v.atStart(`addEventListener("pageshow", (e) => { window.shown = e.persisted + location.pathname; });
		// Whoever goes forward comes back after half an hour.
		addEventListener("visibilitychange", () => {
			if (!document.hidden && location.pathname === "/second") sessionStorage.did_session_timestamp = 1;
		}, true)`)
	cached := func(path string) {
		t.Helper()
		testkit.Eventually(t, within, func() error {
			if shown := get[string](v, "String(window.shown)"); shown != "true"+path {
				return fmt.Errorf("shown, and whether from the cache: %s", shown)
			}
			return nil
		})
	}
	v.open(shop.url + "/first")
	testkit.Eventually(t, within, func() error {
		if vitals := host.events("/vitals"); !strings.Contains(fmt.Sprint(vitals), "FPS") {
			return fmt.Errorf("nothing was measured yet: %v", vitals)
		}
		return nil
	})
	v.open(shop.url + "/second")
	eventually(t, 2, func() []item { return host.pages("screen_view") })
	v.back()
	cached("/first")
	views := eventually(t, 3, func() []item { return host.pages("screen_view") })
	if views[2]["path"] != shop.url+"/first" || views[2]["sessionId"] != views[0]["sessionId"] ||
		views[2]["eventId"] == views[0]["eventId"] {
		t.Errorf("back again: %v", views[2])
	}
	exits := eventually(t, 2, func() []item { return host.pages("page_exit") })
	if exits[0]["path"] != views[0]["path"] || exits[1]["path"] != views[1]["path"] {
		t.Errorf("exits %v", exits)
	}
	v.run(`setTimeout(() => history.forward(), 0)`) // a new session has one view
	cached("/second")
	views = eventually(t, 4, func() []item { return host.pages("screen_view") })
	if views[3]["path"] != shop.url+"/second" || views[3]["sessionId"] == views[2]["sessionId"] {
		t.Errorf("forward again: %v", views[3])
	}
	told := map[string]bool{}
	for _, vital := range host.events("/vitals") {
		of := fmt.Sprint(vital["metricName"], " of ", vital["path"])
		if told[of] {
			t.Errorf("told again: %s", of)
		}
		told[of] = true
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
