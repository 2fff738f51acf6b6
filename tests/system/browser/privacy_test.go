package browser

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/testkit"
)

// wait waits until the tracker has started, or would have.
func (v *visitor) wait() {
	v.t.Helper()
	v.run(`new Promise((done) => { const wait = () => window.millrace?.track ? setTimeout(done, 500) : setTimeout(wait, 20); wait(); })`)
}

// use does what a tracker would tell of.
func (v *visitor) use() {
	v.t.Helper()
	v.run(`millrace.track("event"); millrace.identify("user"); history.pushState({}, "", "/next"); millrace.flush()`)
	v.run(`setTimeout(() => { throw new Error("broken"); }, 0)`)
	v.click("#plain")
	v.run(`millrace.flush()`)
}

// stored are the keys of the storages.
func (v *visitor) stored() string {
	v.t.Helper()
	return get[string](v, `[...Object.keys(localStorage), ...Object.keys(sessionStorage)].sort().join()`)
}

func TestNothingIsSentOrStoredAfterAnOptOut(t *testing.T) {
	t.Parallel()
	host := newRecorder(t)
	shop := newSite(t,
		strings.Replace(host.tag(`data-track-errors data-track-web-vitals`), "tracker.js", "tracker.js?globals=compat", 1))
	v := newVisitor(t)
	v.open(shop.url + "/")
	eventually(t, 1, func() []item { return host.pages("screen_view") })
	// What was sent before it may be under way for long on a busy machine; it arrives first.
	v.run(`millrace.flush()`)
	v.run(`millrace.track("waiting"); millrace.optOut(); millrace.flush()`) // answered is all that was under way
	if events := host.events("/track"); len(events) != 0 {
		t.Errorf("sent with an opt-out: %v", events)
	}
	before := len(host.all())
	v.use()
	v.open(shop.url + "/other")
	v.wait()
	v.use()
	v.open("about:blank")
	if after := host.all()[before:]; len(after) != 0 {
		t.Errorf("sent after an opt-out: %v", after)
	}
	v.open(shop.url + "/again")
	v.wait()
	if keys := v.stored(); keys != "compat_opt_out,millrace_opt_out" {
		t.Errorf("stored after an opt-out: %s", keys)
	}
	v.run(`millrace.optIn()`)
	view := eventually(t, 2, func() []item { return host.pages("screen_view") })[1]
	if view["path"] != shop.url+"/again" {
		t.Errorf("after an opt-in: %v", view)
	}
	// What was seen until the opt-out, and in between, is not told by the next view.
	v.run(`millrace.optOut(); millrace.optIn()`)
	eventually(t, 3, func() []item { return host.pages("screen_view") })
	if exits := host.pages("page_exit"); len(exits) != 0 {
		t.Errorf("told of the time before an opt-out: %v", exits)
	}
}

func TestAnOptOutForgetsWhatIsUnderWay(t *testing.T) {
	t.Parallel()
	host := newRecorder(t)
	shop := newSite(t, host.tag(`data-initial-retry-delay="50"`))
	v := newVisitor(t)
	v.open(shop.url + "/")
	eventually(t, 1, func() []item { return host.pages("screen_view") })
	v.run(`millrace.flush()`)
	before, rejected := len(host.all()), false
	host.respondWith(func(request) (int, string) {
		if !rejected {
			rejected = true
			return http.StatusServiceUnavailable, ""
		}
		return silence, ""
	})
	v.run(`millrace.track("event"); void millrace.flush()`)
	eventually(t, before+2, host.all) // nobody knows whether the second came through
	v.run(`millrace.optOut()`)
	v.lookAway()
	if keys := v.stored(); keys != "millrace_opt_out" {
		t.Errorf("stored after an opt-out: %s", keys)
	}
}

func TestAnOptOutFromAnotherTrackerIsRespectedUnderItsName(t *testing.T) {
	t.Parallel()
	host := newRecorder(t)
	shop := newSite(t, strings.Replace(host.tag(""), "tracker.js", "tracker.js?globals=compat", 1))
	v := newVisitor(t)
	v.atStart(`if (location.protocol === "http:") localStorage.compat_opt_out = "true"`)
	v.open(shop.url + "/")
	v.wait()
	v.use()
	if all := host.all(); len(all) != 0 {
		t.Errorf("sent: %v", all)
	}
}

func TestSwitchesAndSignals(t *testing.T) {
	t.Parallel()
	const dnt, gpc = `Object.defineProperty(navigator, "doNotTrack", {value: "1"})`,
		`Object.defineProperty(navigator, "globalPrivacyControl", {value: true})`
	// What a page that is counted could not send yet.
	const kept = `if (location.protocol === "http:") localStorage["did_queue.web_1.earlier"] = "[]"`
	for name, tc := range map[string]struct {
		attributes, signal string
		counted            bool
		stored             string
	}{
		"disabled":                        {`data-disabled`, kept, false, "did_queue.web_1.earlier"},
		"nobody is sampled":               {`data-sampling-rate="0"`, ``, false, ""},
		"everybody is sampled":            {`data-sampling-rate="1"`, ``, true, ""},
		"Do Not Track, respected":         {`data-respect-dnt`, dnt, false, ""},
		"Do Not Track, not respected":     {``, dnt, true, ""},
		"Global Privacy Control":          {`data-respect-gpc`, gpc, false, ""},
		"Global Privacy Control, ignored": {`data-respect-gpc="false"`, gpc, true, ""},
		"no signal":                       {`data-respect-dnt data-respect-gpc`, ``, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			host := newRecorder(t)
			shop := newSite(t, host.tag(tc.attributes))
			v := newVisitor(t)
			v.atStart(tc.signal)
			v.open(shop.url + "/")
			if tc.counted {
				eventually(t, 1, func() []item { return host.pages("screen_view") })
				return
			}
			v.wait()
			v.use()
			if all := host.all(); len(all) != 0 {
				t.Errorf("sent: %v", all)
			}
			if keys := v.stored(); tc.signal != "" && keys != tc.stored {
				t.Errorf("stored: %q, want %q", keys, tc.stored)
			}
		})
	}
}

// What a counted session could not send is sent by the next page, also where that one
// belongs to a session which is not counted; what had probably arrived, only for as long as
// the host knows its id.
func TestAPageThatIsNotSampledSendsWhatIsLeft(t *testing.T) {
	t.Parallel()
	host := newRecorder(t)
	shop := newSite(t, host.tag(`data-sampling-rate="0"`))
	v := newVisitor(t)
	v.atStart(`if (location.protocol === "http:") localStorage["did_queue.web_1.earlier"] ??=
		JSON.stringify([
			{k: "track", t: Date.now() - 40 * 60000, e: {name: "left", eventId: "earlier"}},
			{k: "track", t: Date.now() - 20 * 60000, s: true, e: {name: "under way", eventId: "later"}},
			{k: "track", t: Date.now() - 40 * 60000, s: true, e: {name: "long under way", eventId: "known"}},
		])`)
	v.open(shop.url + "/")
	eventually(t, 2, func() []item { return host.events("/track") })
	if views := host.pages("screen_view"); len(views) != 0 {
		t.Errorf("sent: %v", views)
	}
}

func TestTheSecondFileIsRejectedWhenItIsNotTheOneItShouldBe(t *testing.T) {
	t.Parallel()
	host := newRecorder(t)
	shop := newSite(t, host.tag(`data-track-web-vitals`))
	host.spoil()
	v := newVisitor(t)
	v.open(shop.url + "/")
	eventually(t, 1, func() []item { return host.pages("screen_view") })
	testkit.Eventually(t, within, func() error {
		if !get[bool](v, `performance.getEntriesByType("resource").some((e) => e.name.includes("tracker-extra"))`) {
			return errors.New("the second file was not asked for")
		}
		return nil
	})
	v.wait()
	if vitals := host.events("/vitals"); len(vitals) != 0 || get[bool](v, `window.spoiled === true`) {
		t.Errorf("a spoiled file ran: %v", vitals)
	}
}
