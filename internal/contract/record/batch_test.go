package record_test

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/contract/event"
	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/contract/record/recordtest"
)

func TestAddDecidesTimeAndTopic(t *testing.T) {
	t.Parallel()
	at := receivedAt.UnixMilli()
	for _, tc := range []struct {
		name     string
		sent     int64 // 0: none
		want     int64
		keepsRaw bool
		topic    string
	}{
		{"no time is the time of receipt", 0, at, false, record.TopicEvents},
		{"a time of the past stays", at - 1, at - 1, false, record.TopicEvents},
		{"an hour ahead stays", at + time.Hour.Milliseconds(), at + time.Hour.Milliseconds(), false, record.TopicEvents},
		{"more than an hour ahead becomes receipt", at + time.Hour.Milliseconds() + 1, at, true, record.TopicEvents},
		{"the far future becomes receipt", event.MaxTimeMillis, at, true, record.TopicEvents},
		{"90 days old is live", at - 90*86400_000, at - 90*86400_000, false, record.TopicEvents},
		{"older than 90 days is backfill", at - 90*86400_000 - 1, at - 90*86400_000 - 1, false, record.TopicEventsBackfill},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			body := `{"name":"a"}`
			if tc.sent != 0 {
				body = fmt.Sprintf(`{"name":"a","timestamp":%d}`, tc.sent)
			}
			rec := recordOf(t, receipt, body, target)
			recordtest.Validate(t, rec)
			e := decoded(t, rec)
			if e.TimeMillis != tc.want || e.HasRaw != tc.keepsRaw || tc.keepsRaw && e.RawMillis != tc.sent ||
				rec.Topic != tc.topic {
				t.Errorf("got %s, topic %s", rec.Value, rec.Topic)
			}
			if !rec.Time.Equal(receivedAt) {
				t.Errorf("record's time is %v, want that of receipt", rec.Time)
			}
		})
	}
}

func TestAddMakesAnIDForAnEventWithoutOne(t *testing.T) {
	t.Parallel()
	ids := map[string]bool{}
	uuid7 := regexp.MustCompile(`^01a1ee56-5e00-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	for range 100 {
		rec := recordOf(t, receipt, `{"name":"a","eventId":""}`, target)
		recordtest.Validate(t, rec)
		e := decoded(t, rec)
		if !e.IDGenerated || !uuid7.MatchString(string(e.ID)) {
			t.Fatalf("id %q, generated %t: want a UUIDv7 of the time of receipt", e.ID, e.IDGenerated)
		}
		ids[string(e.ID)] = true
	}
	if len(ids) != 100 {
		t.Errorf("%d different ids of 100", len(ids))
	}
}

func TestAddHidesVisitorsUnlessTold(t *testing.T) {
	t.Parallel()
	hashed := string(event.AppendHashedVisitor(nil, []byte("anon_1"), receipt.VisitorSalt))
	for _, tc := range []struct {
		setting event.Anonymize
		sent    string
		want    string
	}{
		{event.AnonymizeUnset, "", hashed},
		{event.AnonymizeFalse, "", "anon_1"},
		{event.AnonymizeFalse, `,"anonymizeVisitorIds":true`, hashed},
		{event.AnonymizeTrue, `,"anonymizeVisitorIds":false`, "anon_1"},
		{event.AnonymizeFalse, `,"anonymizeVisitorIds":"auto"`, hashed},
	} {
		to := record.Target{Website: "web_1", Anonymize: tc.setting}
		e := decoded(t, recordOf(t, receipt, `{"name":"a","anonymousId":"anon_1"`+tc.sent+`}`, to))
		if string(e.AnonymousID) != tc.want {
			t.Errorf("setting %d, event %s: stored %q, want %q", tc.setting, tc.sent, e.AnonymousID, tc.want)
		}
	}
}

// TestRecordsKeepNothingOfTheRequest overwrites everything that a Batch was given
// and wants the records unchanged.
func TestRecordsKeepNothingOfTheRequest(t *testing.T) {
	t.Parallel()
	body := []byte(
		`[{"name":"caf\u00e9","properties":{ "a" : 1 },"anonymousId":"x"},{"name":"b","eventId":"1"},{"name":"c"}]`)
	r := receipt
	r.VisitorSalt = bytes.Clone(r.VisitorSalt)
	var d event.Decoder
	events, err := d.Decode(body)
	if err != nil {
		t.Fatal(err)
	}
	var b record.Batch
	b.Reset(r)
	for i := range events {
		b.Add(&events[i], record.Target{Website: []string{"web_1", "", "web_2"}[i]}, nil)
	}
	before := fmt.Sprintf("%s", b.Records())
	clear(body)
	clear(r.VisitorSalt)
	if _, err := d.Decode(
		[]byte(`[{"name":"zzzz\u00e9","properties":{ "b" : 2 }},{"name":"z"},{"name":"z"}]`)); err != nil {
		t.Fatal(err)
	}
	if after := fmt.Sprintf("%s", b.Records()); after != before {
		t.Errorf("records changed:\n%s\n%s", before, after)
	}
	for i := range b.Records() {
		recordtest.Validate(t, &b.Records()[i])
	}
}

func TestWebsiteHeaderOfAnOrganizationIsEmptyAndNotNull(t *testing.T) {
	t.Parallel()
	rec := recordOf(t, receipt, `{"name":"a"}`, record.Target{})
	for _, h := range rec.Headers {
		if h.Value == nil || len(h.Value) == 0 != (h.Key == record.HeaderWebsite) {
			t.Errorf("header %s is %q, nil is %t", h.Key, h.Value, h.Value == nil)
		}
	}
}

func TestAbandonedRecordsSurviveTheNextRequest(t *testing.T) {
	t.Parallel()
	var d event.Decoder
	events, err := d.Decode([]byte(`{"name":"first","eventId":"1"}`))
	if err != nil {
		t.Fatal(err)
	}
	var b record.Batch
	b.Reset(receipt)
	b.Add(&events[0], target, nil)
	kept := b.Records()
	before := fmt.Sprintf("%s", kept)
	b.Abandon()
	other := receipt
	other.RequestID = strings.Repeat("z", 36)
	b.Reset(other)
	b.Add(&events[0], record.Target{Website: "web_9"}, nil)
	if after := fmt.Sprintf("%s", kept); after != before {
		t.Errorf("abandoned records changed:\n%s\n%s", before, after)
	}
}

func TestHashTellsOwnerAndIDApart(t *testing.T) {
	t.Parallel()
	h := func(owner, id string) string { return record.HashOf([]byte(owner), []byte(id)).Hex() }
	if h("ab", "c") == h("a", "bc") || h("", "abc") == h("abc", "") {
		t.Error("a letter moved from the owner to the id makes the same hash")
	}
	long := strings.Repeat("é", 512)
	if h("web_1", long) == h("web_1", long[:1022]+"è") {
		t.Error("the end of a long id does not count")
	}
	got, err := record.ParseHash([]byte(h("a", "b")))
	if err != nil || got.Hex() != h("a", "b") {
		t.Errorf("ParseHash = %s, %v", got.Hex(), err)
	}
	for _, bad := range []string{"", strings.Repeat("0", 31), strings.Repeat("0", 33), strings.Repeat("g", 32)} {
		if _, err := record.ParseHash([]byte(bad)); err == nil {
			t.Errorf("ParseHash(%q) is no error", bad)
		}
	}
}

func TestHeadersRoundTrip(t *testing.T) {
	t.Parallel()
	r := receipt
	r.Traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	rec := recordOf(t, r, `{"name":"a","eventId":"1"}`, target)
	h, err := record.ParseHeaders(append(rec.Headers, record.Header{Key: "later", Value: []byte("x")}))
	if err != nil {
		t.Fatal(err)
	}
	got := []string{
		string(h.Schema), string(h.Type), string(h.Website), string(h.Organization),
		string(h.RequestID), string(h.Traceparent), h.Hash.Hex(), strconv.FormatInt(h.ReceivedAt, 10),
	}
	want := []string{
		"events.v1", "custom", target.Website, r.Organization, r.RequestID, r.Traceparent,
		record.HashOf([]byte(target.Website), []byte("1")).Hex(), "1795000000000",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for i := range rec.Headers[:7] {
		less := append(append([]record.Header{}, rec.Headers[:i]...), rec.Headers[i+1:]...)
		if _, err := record.ParseHeaders(less); err == nil || !strings.Contains(err.Error(), rec.Headers[i].Key) {
			t.Errorf("without %s: %v", rec.Headers[i].Key, err)
		}
	}
	for _, bad := range []record.Header{
		{Key: "received-at"},
		{Key: "received-at", Value: []byte("12x")},
		{Key: "received-at", Value: []byte("-1")},
		{Key: "eid", Value: []byte("0")},
	} {
		if err := new(record.Headers).Set(bad.Key, bad.Value); err == nil {
			t.Errorf("header %s = %q is no error", bad.Key, bad.Value)
		}
	}
}

func decoded(t *testing.T, rec *record.Record) *record.Event {
	t.Helper()
	var d record.Decoder
	e := new(record.Event)
	if err := d.DecodeEvent(rec.Value, e); err != nil {
		t.Fatal(err)
	}
	return e
}

// TestTextsWithEscapesAreEscapedAgain mixes events whose texts may be copied as
// they are with events whose texts may not.
func TestTextsWithEscapesAreEscapedAgain(t *testing.T) {
	t.Parallel()
	body := `[{"name":"plain","path":"/é"},{"name":"a","path":"say \"hi\"","properties":{"k":"\""}},` +
		`{"name":"b","source":"back\\slash"},{"name":"c","profileId":"line\nend"},{"name":"d","namespace":"\u0001"},{"name":"plain"}]`
	events, err := new(event.Decoder).Decode([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	var batch record.Batch
	batch.Reset(receipt)
	for i := range events {
		batch.Add(&events[i], target, nil)
	}
	want := []string{"plain|/é|||", `a|say "hi"|||`, `b||back\slash||`, "c|||line\nend|", "d||||\x01", "plain||||"}
	records := batch.Records()
	for i := range records {
		recordtest.Validate(t, &records[i])
		e := decoded(t, &records[i])
		got := fmt.Sprintf("%s|%s|%s|%s|%s", e.Name, e.Path, e.Source, e.ProfileID, e.Namespace)
		if got != want[i] {
			t.Errorf("record %d: got %q, want %q", i, got, want[i])
		}
	}
}

func TestVisitorsInARowAreToldApart(t *testing.T) {
	t.Parallel()
	next := receipt
	next.VisitorSalt = []byte("the next day's")
	var batch record.Batch
	for _, r := range []record.Receipt{receipt, next} {
		batch.Reset(r)
		for _, id := range []string{"a", "a", "b", "", "b", "a"} {
			batch.Add(&event.Event{Name: []byte("n"), AnonymousID: []byte(id)}, target, nil)
			records := batch.Records()
			got := decoded(t, &records[len(records)-1]).AnonymousID
			if want := event.AppendHashedVisitor(nil, []byte(id), r.VisitorSalt); !bytes.Equal(got, want) {
				t.Errorf("visitor %q is stored as %q, want %q", id, got, want)
			}
		}
	}
}
