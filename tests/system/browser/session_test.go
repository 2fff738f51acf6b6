package browser

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/testkit"
)

// The ids of a visitor whom another site of the owner hands over.
const (
	handedAnon    = "anon_11111111-2222-4333-8444-555555555555"
	handedSession = "sess_11111111-2222-4333-8444-666666666666"
)

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

func TestASessionGoesOnWithItsVisitor(t *testing.T) {
	t.Parallel()
	host := newRecorder(t)
	shop := newSite(t, host.tag(""))
	v := newVisitor(t)
	v.atStart(`{
		const {now} = Date;
		let later = 0;
		Date.now = () => now() + later;
		// Something that happens every few seconds for longer than a session may be left alone.
		window.wait = (milliseconds) => { later += milliseconds; };
		window.goOn = (type) => {
			for (let i = 0; i < 500; i++) { wait(4000); document.dispatchEvent(new Event(type)); }
			return sessionStorage.did_session;
		};
	}`)
	v.open(shop.url + "/")
	first := eventually(t, 1, func() []item { return host.pages("screen_view") })[0]
	for _, sign := range []string{"pointermove", "wheel"} {
		if session := get[string](v, `goOn("`+sign+`")`); session != first["sessionId"] {
			t.Errorf("in the middle of session %v another begins by %s", first["sessionId"], sign)
		}
	}
	// Pages scroll by themselves.
	if session := get[string](v, `goOn("scroll")`); session != first["sessionId"] {
		t.Errorf("session %s begins with nobody there", session)
	}
	if session := get[string](v, `goOn("keydown")`); session == first["sessionId"] {
		t.Error("the session goes on after half an hour without anybody")
	}
	// An event may begin a session without the visitor, who views the page with the next sign of life.
	v.run(`wait(1800001); millrace.track("poll"); wait(60000)`)
	v.click("#plain")
	poll := eventually(t, 1, func() []item { return host.events("/track") })[0]
	views := eventually(t, 3, func() []item { return host.pages("screen_view") })
	exits := eventually(t, 2, func() []item { return host.pages("page_exit") })
	if views[2]["sessionId"] != poll["sessionId"] || views[1]["sessionId"] == poll["sessionId"] {
		t.Errorf("the view is in session %v and the event in %v", views[2]["sessionId"], poll["sessionId"])
	}
	for i, exit := range exits {
		if exit["sessionId"] != views[i]["sessionId"] {
			t.Errorf("exit %d is in session %v", i, exit["sessionId"])
		}
	}
}

func TestASessionIsCountedAsAWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	const not, counted = "sess_11111111-2222-4333-8444-5555ffffffff", "sess_11111111-2222-4333-8444-555500000000"
	host := newRecorder(t)
	shop := newSite(t, host.tag(`data-sampling-rate="0.5"`))
	v := newVisitor(t)
	v.atStart(`if (location.protocol === "http:") sessionStorage.did_session ??= "` + not + `"`)
	v.open(shop.url + "/")
	v.wait()
	v.use()
	if all := host.all(); len(all) != 0 {
		t.Errorf("sent of what is not counted: %v", all)
	}
	// A session that is not counted ends like another, and the next one is drawn for itself.
	v.run(`sessionStorage.did_session_timestamp = Date.now() - 1800001`)
	v.click("#plain")
	if session := get[string](v, `sessionStorage.did_session`); session == not {
		t.Error("after half an hour the session goes on")
	}
	v.open(shop.url + "/shop?anonId=" + handedAnon + "&sessionId=" + counted)
	testkit.Eventually(t, within, func() error {
		views := host.pages("screen_view")
		if len(views) == 0 || views[len(views)-1]["sessionId"] != counted ||
			views[len(views)-1]["anonymousId"] != handedAnon {
			return fmt.Errorf("the visitor who was handed over is not counted: %v", views)
		}
		return nil
	})
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

func TestWhoSignsInIsToldOnceAndStaysWithEveryEvent(t *testing.T) {
	t.Parallel()
	host := newRecorder(t)
	shop := newSite(t, host.tag(`data-anonymize-visitor-ids="auto"`))
	v := newVisitor(t)
	v.open(shop.url + "/")
	eventually(t, 1, func() []item { return host.pages("screen_view") })
	v.run(
		`millrace.identify("user 1", {plan: "pro"}); millrace.identify("user 1", {plan: "pro"}); millrace.track("bought")`)
	v.run(`millrace.setTraits({plan: null})`)
	identities := eventually(t, 2, func() []item { return host.events("/identify") })
	visitor := host.pages("screen_view")[0]["anonymousId"]
	for i, traits := range []item{{"plan": "pro"}, {"plan": nil}} {
		want := item{
			"profileId": "user 1", "anonymousId": visitor, "traits": traits, "websiteId": "web_1", "anonymizeVisitorIds": "auto",
		}
		if diff := cmp.Diff(want,
			only(identities[i], "profileId", "anonymousId", "traits", "websiteId", "anonymizeVisitorIds")); diff != "" {
			t.Errorf("identity %d (-want +got):\n%s", i, diff)
		}
	}
	v.open(shop.url + "/again")
	view := eventually(t, 2, func() []item { return host.pages("screen_view") })[1]
	if bought := eventually(t, 1, func() []item { return host.events("/track") })[0]; view["profileId"] != "user 1" ||
		bought["profileId"] != "user 1" || get[string](v, `millrace.getProfileId()`) != "user 1" {
		t.Errorf("who signed in is not with %v and %v", view, bought)
	}
	v.run(`millrace.clearProfile(); millrace.track("signed out")`)
	v.run(`millrace.clear(); millrace.track("somebody else")`)
	v.run(`millrace.flush()`)
	events := eventually(t, 3, func() []item { return host.events("/track") })
	if events[1]["profileId"] != nil || events[1]["anonymousId"] != visitor {
		t.Errorf("after clearProfile: %v", events[1])
	}
	if events[2]["anonymousId"] == visitor || events[2]["sessionId"] == events[1]["sessionId"] {
		t.Errorf("after clear: %v", events[2])
	}
	// Who signed out has left the page, and what is done next is done by somebody else.
	v.click("#plain")
	v.lookAway()
	next := eventually(t, 3, func() []item { return host.pages("screen_view") })[2]
	exits := eventually(t, 3, func() []item { return host.pages("page_exit") })
	for i, who := range []item{events[1], events[1], next} {
		if diff := cmp.Diff(only(who, "anonymousId", "sessionId"),
			only(exits[i], "anonymousId", "sessionId")); diff != "" {
			t.Errorf("exit %d (-want +got):\n%s", i, diff)
		}
	}
	if next["sessionId"] != events[2]["sessionId"] || next["anonymousId"] != events[2]["anonymousId"] {
		t.Errorf("the view after clear is %v", next)
	}
}

func TestAVisitorIsHandedOverByAnotherSiteOfTheOwner(t *testing.T) {
	t.Parallel()
	const anon, session = handedAnon, handedSession
	host := newRecorder(t)
	shop := newSite(t, host.tag(""))
	v := newVisitor(t)
	v.open(shop.url + "/?anonId=" + anon + "&sessionId=" + session + "&q=1")
	e := eventually(t, 1, func() []item { return host.pages("screen_view") })[0]
	if e["anonymousId"] != anon || e["sessionId"] != session || e["path"] != shop.url+"/?q=1" {
		t.Errorf("handed over: %v", e)
	}
	if ids := get[map[string]string](v, `millrace.getTrackingIds()`); ids["anonId"] != anon ||
		ids["sessionId"] != session {
		t.Errorf("ids to hand on: %v", ids)
	}
	v.open(shop.url + "/?anonId=anon_x&sessionId=" + strings.ToUpper(session))
	again := eventually(t, 2, func() []item { return host.pages("screen_view") })[1]
	if again["anonymousId"] != anon || again["sessionId"] != session {
		t.Errorf("what is no id was taken: %v", again)
	}
}
