package browser

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/testkit"
)

// only returns the named fields of an event.
func only(e item, fields ...string) item {
	got := item{}
	for _, f := range fields {
		if v, ok := e[f]; ok {
			got[f] = v
		}
	}
	return got
}

func TestLinksToElsewhereAreToldHoweverTheyAreFollowed(t *testing.T) {
	t.Parallel()
	host := newRecorder(t)
	shop := newSite(t, host.tag(`data-track-outgoing-links`))
	v := newVisitor(t)
	v.open(shop.url + "/")
	eventually(t, 1, func() []item { return host.pages("screen_view") })
	// Nowhere is there what they lead to; the page stays.
	v.run(`addEventListener("click", (e) => e.preventDefault()); addEventListener("auxclick", (e) => e.preventDefault())`)
	for _, follow := range []func(){
		func() { v.click("#inside") }, func() { v.click("#www") }, func() { v.click("#mail") }, func() { v.click("#plain") },
		func() { v.click("#out") }, func() { v.middle("#out") }, func() { v.press("#out") },
		func() {
			// Such as a link to another site of the owner.
			v.run(`document.querySelector("#file").search = "?anonId=` + handedAnon + `&v=2&sessionId=` + handedSession + `"`)
			v.click("#file")
		},
	} {
		follow()
	}
	links := eventually(t, 4, func() []item { return host.events("/") })
	for i, e := range links {
		want := item{
			"type": "outgoing_link", "href": "http://partner.example.net:1/deal", "text": "Our partner", "path": shop.url + "/",
			"properties": item{},
		}
		if i == 3 {
			want["href"], want["text"] = "http://files.example.net:1/list.pdf?v=2", "list"
		}
		if diff := cmp.Diff(want, only(e, "type", "href", "text", "path", "properties")); diff != "" {
			t.Errorf("link %d (-want +got):\n%s", i, diff)
		}
		wantID(t, e, "eventId", "")
		wantID(t, e, "anonymousId", "anon_")
	}
	for _, req := range host.all() {
		if req.path == "/" && (req.array || req.query != "client_id=web_1") {
			t.Errorf("request %+v", req)
		}
	}
}

func TestEventsOfThePagesOwnMaking(t *testing.T) {
	t.Parallel()
	host := newRecorder(t)
	early := `<script>window.millrace = window.millrace || {q: []}; millrace.q.push(["track", "early", {n: 1}])</script>`
	shop := newSite(t,
		early+strings.Replace(host.tag(`data-track-attributes`), "tracker.js", "tracker.js?globals=compat,other.x,also$", 1))
	v := newVisitor(t)
	v.open(shop.url + "/")
	eventually(t, 1, func() []item { return host.events("/track") })
	v.run(`(() => {
		const properties = {plan: "pro", nested: {a: [1, null]}};
		millrace.setGlobalProperties({site: "shop"});
		compat.track("signup", properties);
		properties.plan = "changed later";
		also$.track("without");
		millrace.q.push(["track", "late"]);
		// None of these is an event, and none of them may be felt.
		millrace.track(); millrace.track(""); millrace.track(7);
		const ring = {}; ring.ring = ring; millrace.track("ring", ring); millrace.track("big", {n: 1n});
		millrace.identify({}); millrace.setTraits({a: 1}); millrace.q.push(["nothing"]);
	})()`)
	v.click("#buy")
	v.run(`millrace.flush()`)
	var got []item
	for _, e := range eventually(t, 5, func() []item { return host.events("/track") }) {
		got = append(got, only(e, "name", "properties", "websiteId", "source"))
	}
	event := func(name string, properties item) item {
		return item{"name": name, "properties": properties, "websiteId": "web_1", "source": "browser"}
	}
	want := []item{
		event("early", item{"n": 1.0}),
		event("signup", item{"site": "shop", "plan": "pro", "nested": item{"a": []any{1.0, nil}}}),
		event("without", item{"site": "shop"}), event("late", item{"site": "shop"}),
		event("buy", item{"site": "shop", "planName": "pro"}),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if kinds := get[string](v,
		`[typeof window["other.x"], typeof compat.track, compat === millrace].join()`); kinds != "undefined,function,true" {
		t.Errorf("globals %s", kinds)
	}
	if identities := host.events("/identify"); len(identities) != 0 {
		t.Errorf("identities %v", identities)
	}
	for _, req := range host.all() {
		if req.path == "/track" && (!req.array || req.query != "website_id=web_1") {
			t.Errorf("request %+v", req)
		}
	}
}

func TestErrorsOfThePageAreToldOnceAndNobodyElses(t *testing.T) {
	t.Parallel()
	host := newRecorder(t)
	shop := newSite(t, host.tag(`data-track-errors data-mask-patterns="/orders/*" data-skip-patterns="/admin/**"`))
	v := newVisitor(t)
	v.open(shop.url + "/orders/7?anonId=" + handedAnon + "&sessionId=" + handedSession)
	eventually(t, 1, func() []item { return host.pages("screen_view") })
	v.run(`(() => {
		const again = () => dispatchEvent(new ErrorEvent("error", {message: "again", filename: "a.js"}));
		const {href} = location;
		history.pushState({}, "", "/admin/secret"); again(); // nothing of it
		history.pushState({}, "", href); again();
		// Scripts of the page itself, whose address is the page's.
		const text = 'setTimeout(() => { throw new TypeError("broken"); }, 0) //# sourceURL=' + location.href;
		for (let i = 0; i < 3; i++) document.body.append(Object.assign(document.createElement("script"), {text}));
		Promise.reject(new RangeError("too far"));
		Promise.reject("a text");
		const ring = {}; ring.ring = ring; Promise.reject(ring); Promise.reject({code: 7});
		const say = (message, filename) =>
			dispatchEvent(new ErrorEvent("error", {message, filename, error: new Error(message)}));
		say("Script error.", ""); say("theirs", "chrome-extension://abc/x.js"); say("ResizeObserver loop completed", "");
		document.body.append(Object.assign(new Image(), {src: "http://nowhere.example.net:1/"}));
		return new Promise((done) => setTimeout(done, 50));
	})()`)
	v.run(`millrace.flush()`)
	var got []item
	for _, e := range eventually(t, 6, func() []item { return host.events("/errors") }) {
		address := shop.url + "/orders/*?anonId=anon_*&sessionId=sess_*"
		if e["errorType"] == "TypeError" && (e["lineno"] != 1.0 || e["filename"] != address ||
			!strings.Contains(fmt.Sprint(e["stack"]), "broken\n    at "+address+":1:")) {
			t.Errorf("error %v, want it at %s", e, address)
		}
		if text := fmt.Sprint(e["filename"], e["stack"], e["path"]); strings.Contains(text, "orders/7") ||
			strings.Contains(text, "11111111") {
			t.Errorf("the page's address is not masked: %v", e)
		}
		got = append(got, only(e, "message", "errorType", "path"))
	}
	slices.SortFunc(got,
		func(a, b item) int { return strings.Compare(fmt.Sprint(a["message"]), fmt.Sprint(b["message"])) })
	want := []item{
		{"message": "Uncaught TypeError: broken", "errorType": "TypeError", "path": shop.url + "/orders/*"},
		{"message": "[object Object]", "errorType": "UnhandledRejection", "path": shop.url + "/orders/*"},
		{"message": "a text", "errorType": "UnhandledRejection", "path": shop.url + "/orders/*"},
		{"message": "again", "errorType": "Error", "path": shop.url + "/orders/*"},
		{"message": "too far", "errorType": "RangeError", "path": shop.url + "/orders/*"},
		{"message": `{"code":7}`, "errorType": "UnhandledRejection", "path": shop.url + "/orders/*"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("errors (-want +got):\n%s", diff)
	}
}

func TestAPageSendsFiftyDifferentErrorsAtMost(t *testing.T) {
	t.Parallel()
	host := newRecorder(t)
	shop := newSite(t, host.tag(`data-track-errors`))
	v := newVisitor(t)
	v.open(shop.url + "/")
	eventually(t, 1, func() []item { return host.pages("screen_view") })
	v.run(`for (let i = 0; i < 60; i++) dispatchEvent(new ErrorEvent("error", {message: "number " + i, filename: "a.js", lineno: i}))`)
	v.run(`millrace.flush()`)
	eventually(t, 50, func() []item { return host.events("/errors") })
}

func TestVitalsAndEngagementAreMeasuredByTheSecondFile(t *testing.T) {
	t.Parallel()
	host := newRecorder(t)
	shop := newSite(t, host.tag(`data-track-web-vitals data-track-engagement`))
	v := newVisitor(t)
	v.open(shop.url + "/vital?tall")
	testkit.Eventually(t, within, func() error {
		if !slices.ContainsFunc(host.events("/vitals"), func(e item) bool { return e["metricName"] == "FPS" }) {
			return fmt.Errorf("the second file has not measured yet: %v", host.events("/vitals"))
		}
		return nil
	})
	// In quick succession, on one spot: the browser may take longer than a second for
	// them, so that the page's clock stands still meanwhile.
	v.run(`window.realNow = Date.now; (() => { const at = Date.now(); Date.now = () => at; })()`)
	for range 3 {
		v.click("#plain")
	}
	v.run(`Date.now = window.realNow`)
	v.press("#plain")
	v.close() // some are known only then
	e := eventually(t, 1, func() []item { return host.events("/engagement") })[0]
	var names []string
	testkit.Eventually(t, within, func() error {
		names = names[:0]
		for _, vital := range host.events("/vitals") {
			// A browser without a screen does not time every interaction.
			if name := fmt.Sprint(vital["metricName"]); name != "INP" {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		if diff := cmp.Diff([]string{"CLS", "FCP", "FPS", "LCP", "TTFB"}, names); diff != "" {
			return fmt.Errorf("vitals (-want +got):\n%s", diff)
		}
		return nil
	})
	for _, vital := range host.events("/vitals") {
		if value, ok := vital["metricValue"].(float64); !ok || value < 0 || vital["path"] != shop.url+"/vital?tall" {
			t.Errorf("vital %v", vital)
		}
		wantID(t, vital, "sessionId", "sess_")
	}
	want := item{
		"exitType": "unload", "pageIndex": 1.0, "clickCount": 4.0, "keyCount": 1.0, "rageClickCount": 1.0,
		"rageClickTarget":  "button#plain",
		"interactionCount": 4.0, "path": shop.url + "/vital?tall",
	}
	fields := []string{
		"exitType", "pageIndex", "clickCount", "keyCount", "rageClickCount", "rageClickTarget", "interactionCount", "path",
	}
	if diff := cmp.Diff(want, only(e, fields...)); diff != "" {
		t.Errorf("engagement (-want +got):\n%s", diff)
	}
}

// The second file is loaded with a page of which nothing is sent.
func TestEngagementIsThatOfEachPageOfAnApplication(t *testing.T) {
	t.Parallel()
	host := newRecorder(t)
	shop := newSite(t, host.tag(`data-track-engagement data-skip-patterns="/admin/**"`))
	v := newVisitor(t)
	v.atStart(`document.addEventListener("load", (e) => { if (/extra/.test(e.target.src)) window.measuring = true; }, true)`)
	v.open(shop.url + "/admin/start")
	testkit.Eventually(t, within, func() error {
		if !get[bool](v, `window.measuring === true`) {
			return errors.New("the second file is not there")
		}
		return nil
	})
	for _, step := range []struct {
		path   string
		clicks int
	}{{"/a", 1}, {"/admin/secret", 2}, {"/b", 0}, {"/c", 3}} {
		v.run(`history.pushState({}, "", "` + step.path + `")`)
		for range step.clicks {
			v.click("#plain")
		}
	}
	v.lookAway()
	records := eventually(t, 3, func() []item { return host.events("/engagement") })
	for i, want := range []item{
		{"path": shop.url + "/a", "clickCount": 1.0},
		{"path": shop.url + "/b"},
		{"path": shop.url + "/c", "clickCount": 3.0},
	} {
		if diff := cmp.Diff(want, only(records[i], "path", "clickCount")); diff != "" {
			t.Errorf("record %d (-want +got):\n%s", i, diff)
		}
	}
	for i, exit := range eventually(t, 3, func() []item { return host.pages("page_exit") }) {
		if exit["path"] != records[i]["path"] || exit["sessionId"] != records[i]["sessionId"] {
			t.Errorf("exit %v, record %v", exit, records[i])
		}
	}
}
