package browser

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/testkit"
)

func TestWhatTheHostCouldNotTakeIsSentAgainWithTheSameIds(t *testing.T) {
	t.Parallel()
	for name, rejection := range map[string]int{
		"no answer": 0, "no answer and no end": silence, "503": 503, "429": 429, "408": 408, "425": 425,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			host := newRecorder(t)
			rejected := 0
			host.respondWith(func(request) (int, string) {
				if rejected++; rejected <= 2 {
					return rejection, ""
				}
				return http.StatusOK, ""
			})
			shop := newSite(t, host.tag(`data-initial-retry-delay="50"`))
			v := newVisitor(t)
			// The half minute that a request may take is shorter here.
			v.atStart(`const later = setTimeout; window.setTimeout = (fn, after) => later(fn, after === 30000 ? 300 : after)`)
			v.open(shop.url + "/")
			sent := eventually(t, 3, host.all)
			for _, again := range sent[1:] {
				if diff := cmp.Diff(sent[0].items, again.items); diff != "" {
					t.Errorf("sent again (-first +then):\n%s", diff)
				}
			}
			testkit.Eventually(t, within, func() error {
				if keys := v.stored(); strings.Contains(keys, "did_queue") {
					return fmt.Errorf("stored are still %s", keys)
				}
				return nil
			})
		})
	}
}

func TestWhatIsRejectedForGoodIsNotSentAgain(t *testing.T) {
	t.Parallel()
	host := newRecorder(t)
	host.respondWith(func(r request) (int, string) {
		if r.path == "/track" {
			return http.StatusForbidden, ""
		}
		return http.StatusOK, ""
	})
	shop := newSite(t, host.tag(`data-initial-retry-delay="50"`))
	v := newVisitor(t)
	v.open(shop.url + "/")
	v.run(`millrace.track("refused"); millrace.flush()`)
	v.run(`new Promise((done) => setTimeout(done, 500))`)
	n := 0
	for _, r := range host.all() {
		if r.path == "/track" {
			n++
		}
	}
	if n != 1 {
		t.Errorf("sent %d times", n)
	}
}

func TestOneBadEventDoesNotTakeOthersWithIt(t *testing.T) {
	t.Parallel()
	host := newRecorder(t)
	host.respondWith(func(r request) (int, string) {
		for _, e := range r.items {
			if e["name"] == "bad" {
				return http.StatusBadRequest, ""
			}
		}
		return http.StatusOK, ""
	})
	shop := newSite(t, host.tag(""))
	v := newVisitor(t)
	v.open(shop.url + "/")
	v.run(`for (const name of ["a", "b", "bad", "c", "d"]) millrace.track(name); millrace.flush()`)
	taken := func() []string {
		var names []string
		for _, r := range host.all() {
			if r.path == "/track" && !strings.Contains(fmt.Sprint(r.items), "name:bad") {
				for _, e := range r.items {
					names = append(names, fmt.Sprint(e["name"]))
				}
			}
		}
		return names
	}
	eventually(t, 4, taken)
}

func TestARetryAfterIsObeyed(t *testing.T) {
	t.Parallel()
	host := newRecorder(t)
	var rejected time.Time
	host.respondWith(func(request) (int, string) {
		if rejected.IsZero() {
			rejected = time.Now()
			return http.StatusTooManyRequests, "2"
		}
		return http.StatusOK, ""
	})
	shop := newSite(t, host.tag(`data-initial-retry-delay="50"`))
	v := newVisitor(t)
	v.open(shop.url + "/")
	testkit.Eventually(t, within, func() error {
		if len(host.all()) == 0 {
			return errors.New("nothing was sent yet")
		}
		return nil
	})
	v.run(`millrace.track("meanwhile"); dispatchEvent(new Event("online"))`)
	eventually(t, 3, host.all)
	if waited := time.Since(rejected); waited < 2*time.Second {
		t.Errorf("sent again after %s", waited)
	}
}

// While the host is away a visitor goes from page to page, and closes the last one.
func TestNothingIsLostWhileTheHostIsAway(t *testing.T) {
	t.Parallel()
	host := newRecorder(t)
	host.respondWith(func(request) (int, string) { return 0, "" })
	shop := newSite(t, host.tag(`data-initial-retry-delay="60000"`))
	v := newVisitor(t)
	ids := map[string]bool{}
	for i := range 3 {
		v.open(fmt.Sprintf("%s/%d", shop.url, i))
		testkit.Eventually(t, within, func() error {
			if !get[bool](v, `typeof millrace === "object" && typeof millrace.track === "function"`) {
				return errors.New("the tracker is not there")
			}
			return nil
		})
		v.run(fmt.Sprintf(`millrace.track("event %d"); millrace.flush()`, i))
	}
	v.open("about:blank")
	for _, r := range host.all() {
		for _, e := range r.items {
			ids[fmt.Sprint(e["eventId"])] = true
		}
	}
	host.respondWith(nil)
	before := len(host.all())
	v.open(shop.url + "/back")
	testkit.Eventually(t, within, func() error {
		late := host.all()[before:]
		names, came := fmt.Sprint(late), map[string]bool{}
		for _, r := range late {
			for _, e := range r.items {
				came[fmt.Sprint(e["eventId"])] = true
			}
		}
		for i := range 3 {
			for _, want := range []string{fmt.Sprintf("name:event %d", i), fmt.Sprintf("path:%s/%d", shop.url, i)} {
				if !strings.Contains(names, want) {
					return fmt.Errorf("%s did not come", want)
				}
			}
		}
		for id := range ids {
			if !came[id] {
				return fmt.Errorf("%s was sent while the host was away and did not come", id)
			}
		}
		views, exits, events := len(host.pages("screen_view")), len(host.pages("page_exit")), len(host.events("/track"))
		if views != 4 || exits != 3 || events != 3 {
			return fmt.Errorf("%d views, %d exits, %d events", views, exits, events)
		}
		return nil
	})
}

func TestLargeEventsAreSplitAndArriveWhenThePageIsLeft(t *testing.T) {
	t.Parallel()
	host := newRecorder(t)
	shop := newSite(t, host.tag(`data-batch-timeout="60000" data-batch-size="100"`))
	v := newVisitor(t)
	v.open(shop.url + "/")
	testkit.Eventually(t, within, func() error {
		if !get[bool](v, `typeof millrace === "object"`) {
			return errors.New("the tracker is not there")
		}
		return nil
	})
	v.run(`for (let i = 0; i < 12; i++) millrace.track("large", {text: "é".repeat(10000)})`) // 240 KB
	v.open(shop.url + "/next")                                                               // takes over what did not fit
	v.run(`millrace.flush()`)
	testkit.Eventually(t, within, func() error {
		v.run(`millrace.flush()`)
		if n := len(host.events("/track")); n != 12 {
			return fmt.Errorf("%d of 12 came", n)
		}
		return nil
	})
}

// Of the six connections that the browser opens to a host, the page keeps two.
func TestFourRequestsAtATimeWaitForTheHost(t *testing.T) {
	t.Parallel()
	host := newRecorder(t)
	shop := newSite(t, host.tag(`data-batch-timeout="60000"`))
	v := newVisitor(t)
	v.open(shop.url + "/")
	v.wait()
	v.run(`millrace.flush()`)
	eventually(t, 1, host.all)
	host.respondWith(func(request) (int, string) { return silence, "" })
	identify := func(from, to int) {
		v.run(fmt.Sprintf(`for (let i = %d; i < %d; i++) millrace.identify("user " + i)`, from, to))
	}
	identify(0, 4)
	eventually(t, 5, host.all)
	// A page that is left does not wait: nobody would send it later.
	v.lookAway()
	eventually(t, 1, func() []item { return host.pages("page_exit") })
	v.lookBack()
	identify(4, 12)
	v.run(`new Promise((done) => setTimeout(done, 500))`)
	if n := len(host.events("/identify")); n != 4 {
		t.Errorf("%d are under way with the page's exit, want 4", n)
	}
	host.respondWith(nil)
	host.speak()
	v.run(`millrace.flush()`) // all was sent and answered
	if n := len(host.events("/identify")); n != 12 {
		t.Errorf("%d of 12 came", n)
	}
}

func TestTheEndOfAPageIsToldByWhateverOutlivesIt(t *testing.T) {
	t.Parallel()
	const noKeepalive, noBeacon = `delete Request.prototype.keepalive;`, `delete Navigator.prototype.sendBeacon;`
	for name, tc := range map[string]struct{ without, by string }{
		"fetch":                        {``, "keepalive"},
		"fetch, where beacons are off": {noBeacon, "keepalive"},
		"a beacon":                     {noKeepalive, "beacon"},
		"the next page, without both":  {noKeepalive + noBeacon, "fetch"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			host := newRecorder(t)
			shop := newSite(t, host.tag(""))
			v := newVisitor(t)
			// The address of a request tells how it was made.
			v.atStart(tc.without + `{
				const {fetch} = window, {sendBeacon} = navigator;
				window.fetch = (url, init) => fetch(url + "&by=" + (init.keepalive ? "keepalive" : "fetch"), init);
				if (sendBeacon) navigator.sendBeacon = (url, body) => sendBeacon.call(navigator, url + "&by=beacon", body);
			}`)
			v.open(shop.url + "/")
			eventually(t, 1, func() []item { return host.pages("screen_view") })
			if tc.by == "fetch" {
				v.open(shop.url + "/next")
			} else {
				v.close()
			}
			eventually(t, 1, func() []item { return host.pages("page_exit") })
			for _, r := range host.all() {
				if strings.Contains(fmt.Sprint(r.items), "page_exit") && r.query != "client_id=web_1&by="+tc.by {
					t.Errorf("the exit came by %s, want %s", r.query, tc.by)
				}
			}
		})
	}
}

// Whatever the host would respond, nobody is left to read it.
func TestTheEndOfAPageThatWasNotAnsweredIsSentByTheNextPage(t *testing.T) {
	t.Parallel()
	host := newRecorder(t)
	exits := func() []request {
		return slices.DeleteFunc(host.all(), func(r request) bool {
			return !strings.Contains(fmt.Sprint(r.items), "name:page_exit")
		})
	}
	shop := newSite(t, host.tag(""))
	v := newVisitor(t)
	v.open(shop.url + "/")
	eventually(t, 1, func() []item { return host.pages("screen_view") })
	v.run(`millrace.flush()`) // the view was answered
	host.respondWith(func(request) (int, string) { return silence, "" })
	v.open(shop.url + "/next")
	testkit.Eventually(t, within, func() error {
		if n := len(exits()); n < 2 {
			return fmt.Errorf("the exit was sent %d times", n)
		}
		return nil
	})
	if exits := host.pages("page_exit"); len(exits) != 1 {
		t.Errorf("exits with ids of their own: %v", exits)
	}
}

func TestAPageWhoseStorageIsBlockedIsCountedAllTheSame(t *testing.T) {
	t.Parallel()
	host := newRecorder(t)
	shop := newSite(t, host.tag(""))
	v := newVisitor(t)
	v.atStart(`for (const name of ["localStorage", "sessionStorage"]) {
		Object.defineProperty(window, name, {get() { throw new DOMException("denied", "SecurityError"); }});
	}`)
	v.open(shop.url + "/")
	v.run(`new Promise((done) => { const wait = () => window.millrace?.track ? done() : setTimeout(wait, 20); wait(); })`)
	v.run(`millrace.track("event"); millrace.flush()`)
	view := eventually(t, 1, func() []item { return host.pages("screen_view") })[0]
	e := eventually(t, 1, func() []item { return host.events("/track") })[0]
	if e["anonymousId"] != view["anonymousId"] || e["sessionId"] != view["sessionId"] {
		t.Errorf("two visitors: %v and %v", view, e)
	}
	v.run(`millrace.optOut(); millrace.track("after")`)
	v.run(`millrace.flush()`)
	if n := len(host.events("/track")); n != 1 {
		t.Errorf("%d events after an opt-out", n)
	}
}

func TestTwoTagsOfOneWebsiteCountOnce(t *testing.T) {
	t.Parallel()
	host := newRecorder(t)
	tag := host.tag("")
	other := strings.NewReplacer("web_1", "web_2", "tracker.js", "tracker.js?globals=second").Replace(tag)
	shop := newSite(t, strings.ReplaceAll(tag+tag+other, "async ", "")) // in this order
	v := newVisitor(t)
	v.open(shop.url + "/")
	testkit.Eventually(t, within, func() error {
		if n := len(host.pages("screen_view")); n != 2 {
			return fmt.Errorf("%d views", n)
		}
		return nil
	})
	v.run(`new Promise((done) => setTimeout(done, 500))`)
	byClient := map[string]int{}
	for _, r := range host.all() {
		byClient[r.query]++
	}
	if diff := cmp.Diff(map[string]int{"client_id=web_1": 1, "client_id=web_2": 1}, byClient); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	if ids := get[string](v, `[millrace.clientId, window.second?.clientId].join()`); ids != "web_1,web_2" {
		t.Errorf("the names are those of %s", ids)
	}
}
