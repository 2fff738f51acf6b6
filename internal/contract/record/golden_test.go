package record_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/contract/event"
	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/contract/record/recordtest"
)

var update = flag.Bool("update", false, "write the golden records of the current revision")

const goldenDir = "testdata/golden"

var (
	receivedAt = time.UnixMilli(1795000000000).UTC()
	receipt    = record.Receipt{
		Organization: "org_01JQZ3F8Y4M2N6P8R0S2T4V6W8",
		RequestID:    "3f0c2a9e-5f63-4d0b-9f0e-6f9f3c1f2a10",
		At:           receivedAt,
		VisitorSalt:  bytes.Repeat([]byte{0xA5}, 32),
	}
	target = record.Target{Website: "web_01JQZ3F8Y4M2N6P8R0S2T4V6WA"}
)

// goldenCase is a record that stands for the contract: one body, what else is
// known of its event, and where it belongs.
type goldenCase struct {
	name, body string
	traced     bool
	target     record.Target
	kind       event.Kind
	web        *record.Web
}

var golden = []goldenCase{
	{name: "minimal", body: `{"name":"signup","eventId":"e-1"}`, target: target},
	{
		name:   "full",
		traced: true,
		target: target,
		body: `{"name":"checkout","eventId":"018f3c1e-7b2a-7c4d-9e5f-000000000001",
		"path":"/checkout?step=3","anonymousId":"anon_4b0c5c1e-6d0a-4f4e-9a57-1b2c3d4e5f60","profileId":"user-7",
		"sessionId":"sess_9f1b2c3d-4e5f-4a6b-8c7d-0e1f2a3b4c5d","timestamp":"2026-11-18T11:05:00.250Z","namespace":"shop",
		"source":"server","properties":{"amount":129.90,"items":["a","b"],"nested":{"deep":null}}}`,
	},
	{
		name:   "plain-visitor",
		target: target,
		body:   `{"name":"a","eventId":"e-2","anonymousId":"anon_1","anonymizeVisitorIds":false}`,
	},
	{name: "organization", body: `{"name":"invoice_paid","eventId":"e-3","properties":{}}`},
	{name: "future", body: `{"name":"a","eventId":"e-4","timestamp":1795003600001}`, target: target},
	{name: "backfill", body: `{"name":"a","eventId":"e-5","timestamp":"2020-02-29"}`, target: target},
	{
		name:   "text",
		target: target,
		body: `{"name":"caf\u00e9 \ud83d\ude00 \"quoted\" \\ \u0000\u001f\t","eventId":"e-6/é","path":"/ü",
		"properties":{"k\u00e9y":"\u00e9\ud800","line":"a\nb"}}`,
	},
	{
		name: "page-view", kind: event.PageView, target: target, web: wholeWeb(),
		body: `{"name":"screen_view","eventId":"e-7","path":"/pricing",
		"anonymousId":"anon_1","sessionId":"sess_1","timestamp":1794999999000}`,
	},
	{
		name: "page-exit", kind: event.PageExit, target: target,
		body: `{"name":"page_exit","eventId":"exit_e-7","path":"/pricing"}`,
		web: webOf(nil,
			map[record.WebNumber]float64{record.TimeOnPage: 12.25, record.ScrollDepth: 80, record.Interactions: 0}),
	},
	{
		name: "outgoing-link", kind: event.OutgoingLink, target: target, body: `{"name":"outgoing_link","eventId":"e-8"}`,
		web: webOf(map[record.WebText]string{record.Href: "https://example.org/a?b=\"c\"", record.LinkText: "more é"}, nil),
	},
	{
		name: "engagement", kind: event.Engagement, target: target,
		body: `{"name":"engagement","path":"/","timestamp":1794999999000,"properties":{"clickCount":3,"maxScrollDepth":55.5}}`,
	},
	{
		name: "vital", kind: event.Vital, target: target,
		body: `{"name":"LCP","path":"/","sessionId":"sess_1","timestamp":1794999999000}`,
		web: webOf(map[record.WebText]string{record.Browser: "Firefox", record.Device: "desktop", record.Country: "AT"},
			map[record.WebNumber]float64{record.Value: 1843.2000000000001}),
	},
	{
		name: "error", kind: event.Error, target: target, body: `{"name":"TypeError","path":"/","timestamp":1794999999000}`,
		web: webOf(map[record.WebText]string{
			record.Message: "x is not a function", record.Filename: "https://example.com/app.js", record.Stack: "a\n  at b",
		},
			map[record.WebNumber]float64{record.Line: 17, record.Column: 0}),
	},
	{
		name:   "identify",
		kind:   event.Identify,
		target: target,
		body: `{"name":"identify","eventId":"e-9","profileId":"user-7","anonymousId":"anon_1",
		"properties":{"email":"a@example.com","plan":null,"seats":3}}`,
	},
}

// ingestionCount stands for the records that no caller sends.
var ingestionCount = record.Count{
	ID: "edge-1/1795000000000/3/accepted", Outcome: "accepted", Edge: "edge-1", Minute: receivedAt.Add(-time.Minute),
	Events: 1200,
}

// goldenClicks stand for the records of short links.
func goldenClicks() map[string]*record.Event {
	return map[string]*record.Event{
		"click-minimal": {
			ID: []byte("019a1e5c-2e00-7c4d-9e5f-000000000001"), Organization: []byte(receipt.Organization),
			TimeMillis: receivedAt.UnixMilli(),
			ReceivedAt: receivedAt.UnixMilli(),
			Click:      &record.Click{Link: []byte("lnk_01JQZ3F8Y4M2N6P8R0S2T4V6WB"), Status: 302},
		},
		"click": {
			ID: []byte("019a1e5c-2e00-7c4d-9e5f-000000000002"), Organization: []byte(receipt.Organization),
			TimeMillis: receivedAt.UnixMilli(),
			ReceivedAt: receivedAt.UnixMilli(), Web: webOfClick(), Click: &record.Click{
				Link: []byte("lnk_01JQZ3F8Y4M2N6P8R0S2T4V6WB"), Visitor: []byte("4da8fb10600576d2b955d1f591481015"),
				RuleID: []byte("rul_01JQZ3F8Y4M2N6P8R0S2T4V6WC"), VariantID: []byte("var_01JQZ3F8Y4M2N6P8R0S2T4V6WD"),
				BotReason: []byte("prefetch"), IsQR: true, IsBot: true, Status: 307,
			},
		},
	}
}

// goldenExposures stand for the records of feature flags.
func goldenExposures() map[string]*record.Event {
	return map[string]*record.Event{
		"exposure-minimal": {
			ID: []byte("x_000102030405060708090a0b0c0d0e0f"), Organization: []byte(receipt.Organization),
			Website: []byte(target.Website), Name: []byte("new-nav"),
			TimeMillis: receivedAt.UnixMilli(), ReceivedAt: receivedAt.UnixMilli(), AnonymousID: []byte("anon_1"),
			Exposure: &record.Exposure{Variant: []byte("on"), Sample: 100},
		},
		"exposure": {
			ID: []byte("x_0f0e0d0c0b0a09080706050403020100"), Organization: []byte(receipt.Organization),
			Website: []byte(target.Website), Name: []byte("checkout"),
			TimeMillis: receivedAt.UnixMilli(), ReceivedAt: receivedAt.UnixMilli(), ProfileID: []byte("user-7"),
			Exposure: &record.Exposure{
				Variant: []byte("one-page"), Environment: []byte("staging"), Reason: []byte("split"), Sample: 25,
			},
		},
	}
}

// webOfClick has every field of the web that a click can have.
func webOfClick() *record.Web {
	w := new(record.Web)
	for _, t := range []record.WebText{
		record.ReferrerHost, record.ReferrerKind, record.ReferrerName, record.UTMSource, record.UTMMedium, record.UTMCampaign,
		record.UTMTerm, record.UTMContent, record.Browser, record.OS, record.Device, record.Country, record.Region,
		record.City, record.Language,
	} {
		w.Texts[t] = fmt.Appendf(nil, "%.2s", record.WebTexts[t].Key)
	}
	return w
}

// webOf returns the fields of a Web.
func webOf(texts map[record.WebText]string, numbers map[record.WebNumber]float64) *record.Web {
	w := new(record.Web)
	for t, v := range texts {
		w.Texts[t] = []byte(v)
	}
	for n, v := range numbers {
		w.Set(n, v)
	}
	return w
}

// wholeWeb has every field of the web that an event of a page can have.
func wholeWeb() *record.Web {
	w := new(record.Web)
	for t := range record.WebTexts {
		w.Texts[t] = fmt.Appendf(nil, "%.2s", record.WebTexts[t].Key)
	}
	for n := range record.WebNumbers {
		w.Set(record.WebNumber(n), float64(n)+0.5)
	}
	w.Set(record.RTT, 0)
	w.Set(record.LookupTime, -1.5e-9)
	w.Set(record.RedirectTime, 1e300)
	for _, t := range []record.WebText{record.Message, record.Filename, record.Stack} {
		w.Texts[t] = nil
	}
	w.Has &^= 1<<record.Line | 1<<record.Column
	return w
}

// goldenFile is one record in a readable form. Value stands in one line.
type goldenFile struct {
	Topic     string          `json:"topic"`
	Key       string          `json:"key"`
	Timestamp int64           `json:"timestamp"`
	Headers   [][2]string     `json:"headers"`
	Value     json.RawMessage `json:"value"`
}

func (g *goldenFile) record() *record.Record {
	r := &record.Record{Topic: g.Topic, Key: []byte(g.Key), Value: g.Value, Time: time.UnixMilli(g.Timestamp)}
	for _, h := range g.Headers {
		r.Headers = append(r.Headers, record.Header{Key: h[0], Value: []byte(h[1])})
	}
	return r
}

func goldenOf(r *record.Record) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "{\n  \"topic\": %q,\n  \"key\": %q,\n  \"timestamp\": %d,\n  \"headers\": [\n",
		r.Topic, r.Key, r.Time.UnixMilli())
	for i, h := range r.Headers {
		comma := ","
		if i == len(r.Headers)-1 {
			comma = ""
		}
		fmt.Fprintf(&b, "    [%q, %q]%s\n", h.Key, h.Value, comma)
	}
	fmt.Fprintf(&b, "  ],\n  \"value\": %s\n}\n", r.Value)
	return b.Bytes()
}

func TestRecordsAreTheGoldenOnes(t *testing.T) {
	t.Parallel()
	for _, tc := range golden {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			r := receipt
			if tc.traced {
				r.Traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
			}
			isGolden(t, tc.name, recordOfCase(t, r, tc))
		})
	}
	var b record.Batch
	b.Reset(receipt)
	b.AddCount(&ingestionCount, target)
	isGolden(t, "count", &b.Records()[0])
	for name, e := range goldenClicks() {
		var r record.ClickRecord
		r.Set(e, []byte(receipt.RequestID))
		isGolden(t, name, &r.Record)
	}
	for name, e := range goldenExposures() {
		var r record.ExposureRecord
		r.Set(e)
		isGolden(t, name, &r.Record)
	}
}

// isGolden compares a record with its golden file.
func isGolden(t *testing.T, name string, rec *record.Record) {
	t.Helper()
	recordtest.Validate(t, rec)
	file := filepath.Join(goldenDir, record.Schema(rec.Topic), fmt.Sprintf("%d-%s.json", record.EventVersion, name))
	got := goldenOf(rec)
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-golden +got):\n%s", file, diff)
	}
}

// TestEveryGoldenRecordStillReads is what keeps the envelope add-only: records of
// all revisions are read by today's reader and keep today's schema.
func TestEveryGoldenRecordStillReads(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(goldenDir + "/*/*.json")
	if err != nil || len(files) < len(golden) {
		t.Fatalf("found %d golden records, %v", len(files), err)
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var g goldenFile
		if err := json.Unmarshal(raw, &g); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		rec := g.record()
		recordtest.Validate(t, rec)
		var d record.Decoder
		var e record.Event
		if err := d.DecodeEvent(rec.Value, &e); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		if err := record.Fits(rec.Topic, &e); err != nil || filepath.Base(filepath.Dir(file)) != record.Schema(rec.Topic) {
			t.Errorf("%s is of topic %s: %v", file, rec.Topic, err)
		}
		sameFields(t, file, &e, rec.Value)
		h, err := record.ParseHeaders(rec.Headers)
		if err != nil {
			t.Errorf("%s: %v", file, err)
		}
		if want := record.HashOf(e.Owner, e.ID); h.Hash != want || h.ReceivedAt != e.ReceivedAt {
			t.Errorf("%s: headers say %s at %d, the value %s at %d", file, h.Hash.Hex(), h.ReceivedAt, want.Hex(), e.ReceivedAt)
		}
	}
}

// recordOf decodes a body of one event and makes its record.
func recordOf(t *testing.T, r record.Receipt, body string, to record.Target) *record.Record {
	t.Helper()
	return recordOfCase(t, r, goldenCase{body: body, target: to})
}

func recordOfCase(t *testing.T, r record.Receipt, c goldenCase) *record.Record {
	t.Helper()
	var d event.Decoder
	events, err := d.Decode([]byte(c.body))
	if err != nil {
		t.Fatal(err)
	}
	events[0].Kind = c.kind
	var b record.Batch
	b.Reset(r)
	b.Add(&events[0], c.target, c.web)
	return &b.Records()[0]
}

// sameFields wants e to say what encoding/json reads in value, of the fields that
// this revision knows.
func sameFields(t *testing.T, name string, e *record.Event, value []byte) {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(value))
	dec.UseNumber()
	var all map[string]any
	if err := dec.Decode(&all); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	want := map[string]any{}
	got := fieldsOf(t, e)
	for key, v := range all {
		if _, known := got[key]; known && v != "" {
			want[key] = v
		}
	}
	for key, v := range got {
		if v == nil || v == "" || v == false {
			delete(got, key)
		}
		if n, ok := want[key].(json.Number); ok { // which may be written in more ways than one
			if f, err := n.Float64(); err == nil && got[key] == f {
				got[key] = want[key]
			}
		}
		if want[key] == false {
			delete(want, key)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-encoding/json +DecodeEvent):\n%s", name, diff)
	}
}

func fieldsOf(t *testing.T, e *record.Event) map[string]any {
	t.Helper()
	m := map[string]any{
		"v": number(e.Version), "id": string(e.ID), "idGenerated": e.IDGenerated, "organization": string(e.Organization),
		"website": string(e.Website), "owner": string(e.Owner), "type": string(e.Type), "name": string(e.Name),
		"ts": number(e.TimeMillis), "rawTs": nil, "receivedAt": number(e.ReceivedAt), "anonymousId": string(e.AnonymousID),
		"profileId": string(e.ProfileID), "sessionId": string(e.SessionID), "path": string(e.Path),
		"namespace": string(e.Namespace), "source": string(e.Source), "properties": nil,
	}
	for t, f := range &record.WebTexts {
		m[f.Key] = ""
		if e.Web != nil {
			m[f.Key] = string(e.Web.Texts[t])
		}
	}
	for n, f := range &record.WebNumbers {
		m[f.Key] = nil
		if e.Web == nil {
			continue
		}
		if v, ok := e.Web.Get(record.WebNumber(n)); ok {
			m[f.Key] = v
		}
	}
	if c := e.Click; c != nil {
		maps.Copy(m, map[string]any{
			"link": string(c.Link), "visitor": string(c.Visitor), "ruleId": string(c.RuleID), "variantId": string(c.VariantID),
			"botReason": string(c.BotReason), "isQr": c.IsQR, "isBot": c.IsBot, "status": number(c.Status),
		})
	}
	if x := e.Exposure; x != nil {
		maps.Copy(m, map[string]any{
			"variant": string(x.Variant), "environment": string(x.Environment), "reason": string(x.Reason),
			"samplePercent": number(x.Sample),
		})
	}
	if e.HasRaw {
		m["rawTs"] = number(e.RawMillis)
	}
	if e.Properties != nil {
		dec := json.NewDecoder(strings.NewReader(string(e.Properties)))
		dec.UseNumber()
		var properties any
		if err := dec.Decode(&properties); err != nil {
			t.Fatal(err)
		}
		m["properties"] = properties
	}
	return m
}

func number[T int | int64](n T) json.Number { return json.Number(fmt.Sprint(n)) }
