package record_test

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/contract/event"
	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/contract/record/recordtest"
)

// eventOf returns an event of a kind with all that its records need.
func eventOf(k event.Kind) (*event.Event, *record.Web) {
	e := &event.Event{
		Kind: k, Name: []byte("n"), TimeMillis: receivedAt.UnixMilli() - 1, HasTime: true, ProfileID: []byte("p"),
	}
	if k == event.Vital {
		e.Name = []byte("CLS")
	}
	if k == event.Identify {
		e.Name = []byte("identify")
	}
	return e, webOf(map[record.WebText]string{record.Message: "m"}, map[record.WebNumber]float64{record.Value: 0})
}

func TestEachKindGoesToItsTopicUnderItsType(t *testing.T) {
	t.Parallel()
	for k, want := range []struct{ topic, old, kind string }{
		event.Custom:       {"events.v1", "events.backfill.v1", "custom"},
		event.PageView:     {"events.v1", "events.backfill.v1", "page_view"},
		event.PageExit:     {"events.v1", "events.backfill.v1", "page_exit"},
		event.OutgoingLink: {"events.v1", "events.backfill.v1", "outgoing_link"},
		event.Engagement:   {"events.v1", "events.backfill.v1", "engagement"},
		event.Vital:        {"vitals.v1", "vitals.v1", "vital"},
		event.Error:        {"errors.v1", "errors.v1", "error"},
		event.Identify:     {"identities.v1", "identities.v1", "identify"},
	} {
		e, web := eventOf(event.Kind(k))
		for at, topic := range map[time.Time]string{
			receivedAt: want.topic, receivedAt.Add(-record.BackfillAge - time.Hour): want.old,
		} {
			e.TimeMillis = at.UnixMilli()
			var b record.Batch
			b.Reset(receipt)
			b.Add(e, target, web)
			rec := &b.Records()[0]
			recordtest.Validate(t, rec)
			if got := decoded(t, rec); rec.Topic != topic || string(got.Type) != want.kind {
				t.Errorf("kind %d of %v: type %s in topic %s, want %s in %s", k, at, got.Type, rec.Topic, want.kind, topic)
			}
			h, err := record.ParseHeaders(rec.Headers)
			if err != nil || string(h.Schema) != want.topic || string(h.Type) != want.kind {
				t.Errorf("kind %d: headers say type %s of %s, %v", k, h.Type, h.Schema, err)
			}
		}
	}
}

func TestABatchMayHaveEveryKindInAnyOrder(t *testing.T) {
	t.Parallel()
	var b record.Batch
	b.Reset(receipt)
	var want []string
	for i := range 40 {
		k := event.Kind(i * 3 % 8)
		e, web := eventOf(k)
		to := record.Target{Website: []string{"web_1", "", "web_2"}[i%3]}
		b.Add(e, to, web)
		want = append(want, fmt.Sprintf("%s %s", record.Types(b.Records()[i].Topic)[0], to.Website))
	}
	b.AddCount(&ingestionCount, record.Target{})
	want = append(want, "ingestion ")
	var got []string
	records := b.Records()
	for i := range records {
		recordtest.Validate(t, &records[i])
		e := decoded(t, &records[i])
		got = append(got, fmt.Sprintf("%s %s", record.Types(records[i].Topic)[0], e.Website))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestImportsTakeOnlyWhatIsOfTheirTopic(t *testing.T) {
	t.Parallel()
	r := receipt
	r.Topic = record.TopicEventsBackfill
	var b record.Batch
	b.Reset(r)
	for _, k := range []event.Kind{event.Custom, event.Vital} {
		e, web := eventOf(k)
		b.Add(e, target, web)
	}
	if got := b.Records(); got[0].Topic != record.TopicEventsBackfill || got[1].Topic != record.TopicVitals {
		t.Errorf("topics %s and %s", got[0].Topic, got[1].Topic)
	}
}

func TestWhatATypeNeedsIsRequired(t *testing.T) {
	t.Parallel()
	value := func(kind, name, more string) string {
		return fmt.Sprintf(`{"v":1,"id":"i","organization":"o","owner":"o","type":%q,"name":%q,"ts":1,"receivedAt":1%s}`,
			kind, name, more)
	}
	for _, tc := range []struct{ value, field string }{
		{value("vital", "LCP", `,"value":0`), ""},
		{value("vital", "LCP", ``), "value"},
		{value("vital", "lcp", `,"value":0`), "name"},
		{value("error", "n", `,"message":"m"`), ""},
		{value("error", "n", `,"message":""`), "message"},
		{value("error", "n", `,"host":"m"`), "message"},
		{value("identify", "identify", `,"profileId":"p"`), ""},
		{value("identify", "identify", `,"profileId":""`), "profileId"},
		{value("identify", "identify", ``), "profileId"},
		{value("ingestion", "accepted", `,"value":1`), ""},
		{value("ingestion", "accepted", ``), "value"},
		{strings.Replace(value("click", "click", `,"link":"l","status":302`), `"owner":"o"`, `"owner":"l"`, 1), ""},
		{value("click", "click", `,"link":"l","status":302`), "owner"},
		{value("click", "click", `,"link":"l"`), "status"},
		{value("click", "click", `,"status":302`), "link"},
		{value("click", "click", `,"link":"","status":302`), "link"},
		{value("exposure", "flag", `,"website":"o","variant":"on","samplePercent":100`), ""},
		{value("exposure", "flag", `,"variant":"on","samplePercent":100`), "website"},
		{value("exposure", "flag", `,"website":"w","variant":"on","samplePercent":100`), "owner"},
		{value("exposure", "flag", `,"website":"o","samplePercent":100`), "variant"},
		{value("exposure", "flag", `,"website":"o","variant":"","samplePercent":100`), "variant"},
		{value("exposure", "flag", `,"website":"o","variant":"on"`), "samplePercent"},
		{value("page_view", "screen_view", `,"link":"l"`), ""},
		{strings.Replace(value("page_view", "screen_view", `,"link":"l"`), `"owner":"o"`, `"owner":"l"`, 1), "owner"},
		{value("page_view", "screen_view", ``), ""},
		{value("unheard_of", "n", ``), ""},
	} {
		var d record.Decoder
		err := d.DecodeEvent([]byte(tc.value), new(record.Event))
		bad, _ := errors.AsType[*record.DecodeError](err)
		if tc.field == "" != (err == nil) || tc.field != "" && (bad == nil || bad.Field != tc.field) {
			t.Errorf("DecodeEvent(%s) = %v, want field %q", tc.value, err, tc.field)
		}
	}
}

func TestATypeFitsIntoItsTopicOnly(t *testing.T) {
	t.Parallel()
	topics := []string{
		record.TopicEvents, record.TopicEventsBackfill, record.TopicVitals, record.TopicErrors, record.TopicIdentities,
		record.TopicIngestion, record.TopicClicks, record.TopicExposures,
	}
	for _, home := range topics {
		for _, kind := range append(record.Types(home), "later") {
			if kind == "later" && record.Schema(home) != record.TopicEvents {
				continue
			}
			for _, topic := range append(topics, "vitals.v1.dlq", "control.v1") {
				err := record.Fits(topic, &record.Event{Type: []byte(kind)})
				if want := record.Schema(topic) == record.Schema(home); (err == nil) != want {
					t.Errorf("%s in %s: %v", kind, topic, err)
				}
			}
		}
	}
}

// idsOf adds events, one a request, and returns the ids that they got.
func idsOf(t *testing.T, change ...func(*event.Event, *record.Web, *record.Receipt, *record.Target)) []string {
	t.Helper()
	var ids []string
	for _, c := range change {
		e, web := eventOf(event.Vital)
		r, to := receipt, target
		c(e, web, &r, &to)
		var b record.Batch
		b.Reset(r)
		b.Add(e, to, web)
		got := decoded(t, &b.Records()[0])
		if !got.IDGenerated {
			t.Error("the id is not said to be made")
		}
		ids = append(ids, string(got.ID))
	}
	return ids
}

func TestEqualEventsHaveEqualNaturalIDs(t *testing.T) {
	t.Parallel()
	type change = func(*event.Event, *record.Web, *record.Receipt, *record.Target)
	same := idsOf(t,
		func(*event.Event, *record.Web, *record.Receipt, *record.Target) {},
		func(_ *event.Event, _ *record.Web, r *record.Receipt, _ *record.Target) {
			r.At, r.RequestID, r.Traceparent = r.At.Add(time.Minute), "another",
				"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
		},
		func(e *event.Event, _ *record.Web, _ *record.Receipt, _ *record.Target) { e.Plain = true },
		// Sent again from another network, by a browser of another version, to an edge
		// that knows more of referrers.
		func(_ *event.Event, w *record.Web, _ *record.Receipt, _ *record.Target) {
			for _, found := range []record.WebText{
				record.ReferrerHost, record.ReferrerKind, record.ReferrerName, record.Browser, record.BrowserVersion, record.OS,
				record.OSVersion, record.Device, record.Country, record.Region, record.City, record.Bot, record.BotKind,
			} {
				w.Texts[found] = []byte("m")
			}
		},
	)
	if slices.ContainsFunc(same, func(id string) bool { return id != same[0] }) ||
		!regexp.MustCompile(`^n_[0-9a-f]{32}$`).MatchString(same[0]) {
		t.Errorf("one event has the ids %q", same)
	}
	differ := []change{
		func(e *event.Event, _ *record.Web, _ *record.Receipt, _ *record.Target) { e.Name = []byte("LCP") },
		func(e *event.Event, _ *record.Web, _ *record.Receipt, _ *record.Target) { e.Kind = event.Engagement },
		func(e *event.Event, _ *record.Web, _ *record.Receipt, _ *record.Target) { e.TimeMillis++ },
		func(e *event.Event, _ *record.Web, _ *record.Receipt, _ *record.Target) { e.Path = []byte("p") },
		func(e *event.Event, _ *record.Web, _ *record.Receipt, _ *record.Target) {
			e.ProfileID, e.SessionID = nil, []byte("p")
		},
		func(e *event.Event, _ *record.Web, _ *record.Receipt, _ *record.Target) { e.AnonymousID = []byte("a") },
		func(e *event.Event, _ *record.Web, _ *record.Receipt, to *record.Target) {
			e.AnonymousID, to.Anonymize = []byte("a"), event.AnonymizeFalse
		},
		func(e *event.Event, _ *record.Web, _ *record.Receipt, _ *record.Target) { e.Properties = []byte(`{}`) },
		func(_ *event.Event, w *record.Web, _ *record.Receipt, _ *record.Target) { w.Set(record.Value, 1e-9) },
		func(_ *event.Event, w *record.Web, _ *record.Receipt, _ *record.Target) { w.Set(record.RTT, 0) },
		func(_ *event.Event, w *record.Web, _ *record.Receipt, _ *record.Target) {
			w.Texts[record.UTMSource] = []byte("m")
		},
		func(_ *event.Event, _ *record.Web, _ *record.Receipt, to *record.Target) { to.Website = "" },
		func(_ *event.Event, _ *record.Web, _ *record.Receipt, to *record.Target) { to.Website = "web_2" },
	}
	seen := map[string]int{same[0]: -1}
	for i, id := range idsOf(t, differ...) {
		if before, twice := seen[id]; twice {
			t.Errorf("changes %d and %d make one id", before, i)
		}
		seen[id] = i
	}
}

// A browser's event is sent again after midnight, when visitor ids are hashed with
// another salt.
func TestASessionsEventKeepsItsNaturalIDWhenTheSaltChanges(t *testing.T) {
	t.Parallel()
	of := func(session string, salt byte) func(*event.Event, *record.Web, *record.Receipt, *record.Target) {
		return func(e *event.Event, _ *record.Web, r *record.Receipt, _ *record.Target) {
			e.AnonymousID, e.SessionID = []byte("visitor"), []byte(session)
			r.VisitorSalt = bytes.Repeat([]byte{salt}, 32)
		}
	}
	ids := idsOf(t, of("s", 1), of("s", 2), of("", 1), of("", 2))
	if ids[0] != ids[1] {
		t.Errorf("one event of a session has the ids %q", ids[:2])
	}
	if ids[2] == ids[3] {
		t.Error("without a session, events of two visitors have one id")
	}
}

// TestATimeAheadCountsAsItWasSaid sends an event again whose time is replaced by
// that of receipt.
func TestATimeAheadCountsAsItWasSaid(t *testing.T) {
	t.Parallel()
	ahead := func(e *event.Event, _ *record.Web, r *record.Receipt, later time.Duration) {
		r.At = r.At.Add(later)
		e.TimeMillis = receivedAt.Add(24 * time.Hour).UnixMilli()
	}
	ids := idsOf(t,
		func(e *event.Event, w *record.Web, r *record.Receipt, _ *record.Target) { ahead(e, w, r, 0) },
		func(e *event.Event, w *record.Web, r *record.Receipt, _ *record.Target) { ahead(e, w, r, time.Minute) })
	if ids[0] != ids[1] {
		t.Errorf("ids %q", ids)
	}
}

func TestOnlyKindsWithATimeAreKnownByWhatTheySay(t *testing.T) {
	t.Parallel()
	for k := event.Custom; k <= event.Identify; k++ {
		e, web := eventOf(k)
		var b record.Batch
		b.Reset(receipt)
		b.Add(e, target, web)
		e.HasTime = false
		b.Add(e, target, web)
		e.EventID = []byte("mine")
		b.Add(e, target, web)
		var got []bool
		records := b.Records()
		for i := range records {
			got = append(got, strings.HasPrefix(string(decoded(t, &records[i]).ID), "n_"))
		}
		natural := k == event.Vital || k == event.Error || k == event.Engagement || k == event.Identify
		if diff := cmp.Diff([]bool{natural, false, false}, got); diff != "" {
			t.Errorf("kind %d (-want +got):\n%s", k, diff)
		}
		if id := decoded(t, &records[2]).ID; string(id) != "mine" {
			t.Errorf("kind %d: the caller's id became %q", k, id)
		}
	}
}
