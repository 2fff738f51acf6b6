package insert

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/ch-go/proto"
	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/adapter/clickhouse/clickhousetest"
	"github.com/millrace/millrace/internal/adapter/clickhouse/schema"
	"github.com/millrace/millrace/internal/contract/event"
	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/pipeline/sink"
	"github.com/millrace/millrace/internal/platform/config"
)

func newInserter(t *testing.T, cfg config.ClickHouse, into string) *Inserter {
	t.Helper()
	i := NewInserter(cfg, into)
	t.Cleanup(func() { i.Close() })
	return i
}

func TestABlockIsStoredOncePerToken(t *testing.T) {
	t.Parallel()
	cfg := clickhousetest.Migrated(t, schema.Migrate)
	i := newInserter(t, cfg, "")
	clickhousetest.Insert(t, i, "1:a:0:0-1:202603", clickhousetest.AnEvent("a"), clickhousetest.AnEvent("b"))
	if i.Known() != 0 {
		t.Errorf("%d inserts known after the first one", i.Known())
	}
	clickhousetest.Insert(t, i, "1:a:0:0-1:202603", clickhousetest.AnEvent("a"), clickhousetest.AnEvent("b"))
	if i.Known() != 1 {
		t.Errorf("%d inserts known after the second one", i.Known())
	}
	clickhousetest.Insert(t, i, "1:a:0:0-1:202604",
		clickhousetest.AnEvent("c", func(e *record.Event) { e.TimeMillis = clickhousetest.NextDay }))
	if diff := cmp.Diff([]string{"a", "b", "c"}, clickhousetest.Column(t, cfg, "event_id", "events")); diff != "" {
		t.Errorf("rows without FINAL (-want +got):\n%s", diff)
	}
}

func TestTheSameRowsUnderAnotherTokenAreStoredAgain(t *testing.T) {
	t.Parallel()
	cfg := clickhousetest.Migrated(t, schema.Migrate)
	i := newInserter(t, cfg, "")
	clickhousetest.Insert(t, i, "1:a:0:0-0:202603", clickhousetest.AnEvent("a"))
	clickhousetest.Insert(t, i, "1:a:0:0-1:202603", clickhousetest.AnEvent("a"))
	if got := len(clickhousetest.Column(t, cfg, "event_id", "events")); got != 2 {
		t.Errorf("%d rows without FINAL, want 2: content must not decide, only the token", got)
	}
	if got := len(clickhousetest.Column(t, cfg, "event_id", "events FINAL")); got != 1 {
		t.Errorf("%d rows with FINAL, want 1", got)
	}
}

func TestTheFirstReceivedVersionOfAnEventWins(t *testing.T) {
	t.Parallel()
	cfg := clickhousetest.Migrated(t, schema.Migrate)
	i := newInserter(t, cfg, "")
	version := func(path string, at int64) *record.Event {
		return clickhousetest.AnEvent("a", func(e *record.Event) { e.Path, e.ReceivedAt = []byte(path), at })
	}
	clickhousetest.Insert(t, i, "1", version("second", clickhousetest.Received+1))
	clickhousetest.Insert(t, i, "2", version("first", clickhousetest.Received))
	clickhousetest.Insert(t, i, "3", version("third", clickhousetest.Received+2))
	if diff := cmp.Diff([]string{"first"}, clickhousetest.Column(t, cfg, "path", "events FINAL")); diff != "" {
		t.Errorf("path (-want +got):\n%s", diff)
	}
}

// What makes two sendings of one event differ must not be in its identity; what
// makes two events, must.
func TestIdentityInTheTable(t *testing.T) {
	t.Parallel()
	cfg := clickhousetest.Migrated(t, schema.Migrate)
	i := newInserter(t, cfg, "")
	for _, tc := range []struct {
		name   string
		change func(*record.Event)
		want   int
	}{
		{"another visitor", func(e *record.Event) { e.AnonymousID = []byte("v") }, 1},
		{"another session", func(e *record.Event) { e.SessionID = []byte("s") }, 1},
		{"other properties", func(e *record.Event) { e.Properties = []byte(`{"x":1}`) }, 1},
		{"another time on the same day", func(e *record.Event) { e.TimeMillis++ }, 1},
		{"another day", func(e *record.Event) { e.TimeMillis = clickhousetest.NextDay }, 2},
		{"another name", func(e *record.Event) { e.Name = []byte("login") }, 2},
		{"another id", func(e *record.Event) { e.ID = []byte("b") }, 2},
		{"another website", func(e *record.Event) { e.Website, e.Owner = []byte("web_2"), []byte("web_2") }, 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			of := func(e *record.Event) { e.Path = []byte(tc.name) }
			id := "a of " + tc.name // the cases are apart, because what is theirs is in every identity
			clickhousetest.Insert(t, i, tc.name+" 1", clickhousetest.AnEvent(id, of))
			clickhousetest.Insert(t, i, tc.name+" 2", clickhousetest.AnEvent(id, of, tc.change))
			if got := len(clickhousetest.Column(t, cfg, "event_id", "events FINAL WHERE path = '"+tc.name+"'")); got != tc.want {
				t.Errorf("%d rows with FINAL, want %d", got, tc.want)
			}
		})
	}
}

func TestEveryFieldAtItsLimitComesBack(t *testing.T) {
	t.Parallel()
	cfg := clickhousetest.Migrated(t, schema.Migrate)
	wide := func(n int) []byte { return []byte(strings.Repeat("\U0001F30A", n)) } // four bytes each
	e := clickhousetest.AnEvent("", func(e *record.Event) {
		e.ID, e.Name, e.Path = wide(event.MaxEventIDLen), wide(event.MaxNameLen), wide(event.MaxPathLen)
		e.AnonymousID, e.SessionID, e.ProfileID = wide(event.MaxAnonymousIDLen), wide(event.MaxSessionIDLen),
			wide(event.MaxProfileIDLen)
		e.Namespace, e.Source = wide(event.MaxNamespaceLen), wide(event.MaxSourceLen)
		e.Properties = []byte(`{"x":"` + strings.Repeat("y", event.MaxPropertiesBytes-8) + `"}`)
		e.HasRaw, e.RawMillis = true, clickhousetest.Noon+1
	})
	i := newInserter(t, cfg, "")
	clickhousetest.Insert(t, i, "1", e)

	hash := record.HashOf(e.Owner, e.ID)
	for expr, want := range map[string]string{
		"owner_id": "web_1", "organization_id": "org_1", "website_id": "web_1", "type": "custom",
		"event_date": "2026-03-31", "event_time": "2026-03-31 12:00:00.000", "received_at": "2026-03-31 12:00:01.500",
		"raw_time": "2026-03-31 12:00:00.001", "name": string(e.Name), "event_id": string(e.ID), "path": string(e.Path),
		"anonymous_id": string(e.AnonymousID), "session_id": string(e.SessionID), "profile_id": string(e.ProfileID),
		"namespace": string(e.Namespace), "source": string(e.Source), "properties": string(e.Properties),
		"_topic": "events.v1", "_partition": "3", "_offset": "100", "schema_v": "1",
		"hex(event_key)": strings.ToUpper(hash.Hex()[:16]),
		"bitNot(received_at_inv) = toUnixTimestamp64Milli(received_at)": "1",
	} {
		if diff := cmp.Diff([]string{want}, clickhousetest.Column(t, cfg, expr, "events")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", expr, diff)
		}
	}
}

// What an edge lets through as a raw time reaches beyond what the column holds;
// the event's own times are at the limits that the sink keeps them in.
func TestTimesAtAndBeyondTheirLimits(t *testing.T) {
	t.Parallel()
	cfg := clickhousetest.Migrated(t, schema.Migrate)
	i := newInserter(t, cfg, "")
	at := func(y int, offset int64) int64 { return time.Date(y, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli() + offset }
	for n, tc := range []struct {
		raw, event, received int64
		want                 string
	}{
		{
			at(1900, 0), at(2000, 0), at(2000, 0),
			"1900-01-01 00:00:00.000|2000-01-01 00:00:00.000|2000-01-01|2000-01-01 00:00:00.000",
		},
		{at(1900, -1), at(2000, 0), 0, "1900-01-01 00:00:00.000|2000-01-01 00:00:00.000|2000-01-01|1970-01-01 00:00:00.000"},
		{
			at(2300, -1), at(2149, -1), at(2300, -1),
			"2299-12-31 23:59:59.999|2148-12-31 23:59:59.999|2148-12-31|2299-12-31 23:59:59.999",
		},
		{
			at(2300, 0), clickhousetest.Noon, at(2300, 0),
			"2299-12-31 23:59:59.999|2026-03-31 12:00:00.000|2026-03-31|2299-12-31 23:59:59.999",
		},
		{
			8_640_000_000_000_000, clickhousetest.Noon, math.MaxInt64,
			"2299-12-31 23:59:59.999|2026-03-31 12:00:00.000|2026-03-31|2299-12-31 23:59:59.999",
		},
	} {
		id := strconv.Itoa(n)
		clickhousetest.Insert(t, i, "1:a:0:"+id, clickhousetest.AnEvent(id, func(e *record.Event) {
			e.HasRaw, e.RawMillis, e.TimeMillis, e.ReceivedAt = true, tc.raw, tc.event, tc.received
		}))
		got := clickhousetest.Column(t, cfg,
			"concat(toString(raw_time), '|', toString(event_time), '|', toString(event_date), '|', toString(received_at))",
			"events WHERE event_id = '"+id+"'")
		if diff := cmp.Diff([]string{tc.want}, got); diff != "" {
			t.Errorf("raw time %d, event %d, received %d (-want +got):\n%s", tc.raw, tc.event, tc.received, diff)
		}
	}
}

func TestAnOrganizationsEventHasNoWebsite(t *testing.T) {
	t.Parallel()
	cfg := clickhousetest.Migrated(t, schema.Migrate)
	i := newInserter(t, cfg, "")
	clickhousetest.Insert(t, i, "1",
		clickhousetest.AnEvent("a", func(e *record.Event) { e.Website, e.Owner = nil, []byte("org_1") }))
	if diff := cmp.Diff([]string{"org_1||1970-01-01 00:00:00.000"},
		clickhousetest.Column(t, cfg, "concat(owner_id, '|', website_id, '|', toString(raw_time))", "events")); diff != "" {
		t.Errorf("row (-want +got):\n%s", diff)
	}
}

func TestManyValuesOfALowCardinalityColumn(t *testing.T) {
	t.Parallel()
	cfg := clickhousetest.Migrated(t, schema.Migrate)
	for _, n := range []int{1, 256, 257, 65536, 65537} {
		table := fmt.Sprintf("events_of_%d_names", n) // no view groups them
		clickhousetest.Run(t, cfg, "CREATE TABLE "+table+" AS events")
		i := newInserter(t, cfg, table)
		events := make([]*record.Event, 0, n)
		for k := range n {
			name := []byte("n" + strings.Repeat("x", k%3) + time.UnixMilli(int64(k)).UTC().Format(time.RFC3339Nano))
			events = append(events, clickhousetest.AnEvent(string(name), func(e *record.Event) { e.Name = name }))
		}
		clickhousetest.Insert(t, i, "1", events...)
		if got := clickhousetest.Column(t, cfg,
			"uniqExact(name)", table); got[0] != clickhousetest.Column(t, cfg, "countIf(name = event_id)", table)[0] {
			t.Errorf("%d names: %s are their own row's", n, got[0])
		}
	}
}

func TestABlockOverTwoMonthsIsRejected(t *testing.T) {
	t.Parallel()
	cfg := clickhousetest.Migrated(t, schema.Migrate)
	i := newInserter(t, cfg, "")
	err := i.Insert(t.Context(), clickhousetest.BlockOf(i, clickhousetest.AnEvent("a"),
		clickhousetest.AnEvent("b", func(e *record.Event) { e.TimeMillis = clickhousetest.NextDay })), "1")
	if e, ok := errors.AsType[*sink.InsertError](err); !ok || e.Class != sink.ClassRejected {
		t.Errorf("Insert() = %v, want class %s", err, sink.ClassRejected)
	}
	if got := clickhousetest.Column(t, cfg, "event_id", "events"); len(got) != 0 {
		t.Errorf("%d rows were stored", len(got))
	}
}

func TestAfterAnErrorAnInsertGoesOnOnANewConnection(t *testing.T) {
	t.Parallel()
	cfg := clickhousetest.Migrated(t, schema.Migrate)
	i := newInserter(t, cfg, "")
	clickhousetest.Run(t, cfg, "RENAME TABLE events TO away")
	err := i.Insert(t.Context(), clickhousetest.BlockOf(i, clickhousetest.AnEvent("a")), "1")
	if e, ok := errors.AsType[*sink.InsertError](err); !ok || e.Class != sink.ClassSchema {
		t.Errorf("Insert() = %v, want class %s", err, sink.ClassSchema)
	}
	clickhousetest.Run(t, cfg, "RENAME TABLE away TO events")
	clickhousetest.Insert(t, i, "1", clickhousetest.AnEvent("a"))
	if inUse(t, i) != inUse(t, i) {
		t.Error("the new connection is not kept")
	}
}

func TestAnInsertGoesIntoANullTable(t *testing.T) {
	t.Parallel()
	cfg := clickhousetest.Migrated(t, schema.Migrate)
	clickhousetest.Run(t, cfg, schema.Events.NullSQL("events_null"))
	clickhousetest.Insert(t, newInserter(t, cfg, "events_null"), "1", clickhousetest.AnEvent("a"))
	if got := clickhousetest.Column(t, cfg, "event_id", "events"); len(got) != 0 {
		t.Errorf("%d rows were stored", len(got))
	}
}

func TestAServerThatIsAwayIsAClassOfItsOwn(t *testing.T) {
	t.Parallel()
	cfg := config.Default().ClickHouse
	cfg.Addr = []string{"127.0.0.1:1"}
	i := newInserter(t, cfg, "")
	err := i.Insert(t.Context(), clickhousetest.BlockOf(i, clickhousetest.AnEvent("a")), "1")
	if e, ok := errors.AsType[*sink.InsertError](err); !ok || e.Class != sink.ClassNetwork {
		t.Errorf("Insert() = %v, want class %s", err, sink.ClassNetwork)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 0)
	defer cancel()
	err = i.Insert(ctx, clickhousetest.BlockOf(i, clickhousetest.AnEvent("a")), "1")
	if e, ok := errors.AsType[*sink.InsertError](err); !ok || e.Class != sink.ClassTimeout {
		t.Errorf("Insert() = %v, want class %s", err, sink.ClassTimeout)
	}
}

func TestEveryResponseOfTheServerHasItsClass(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		code    proto.Error
		message string
		want    sink.Class
	}{
		{252, "Too many parts (3000). Merges are processing significantly slower than inserts", sink.ClassBusy},
		{252, "Too many partitions for single INSERT block (more than 1)", sink.ClassRejected},
		{241, "", sink.ClassMemory},
		{243, "", sink.ClassDisk},
		{242, "", sink.ClassKeeper},
		{159, "", sink.ClassTimeout},
		{60, "", sink.ClassSchema},
		{117, "", sink.ClassRejected},
		{49, "", sink.ClassOther},
	} {
		if got := Classify(&ch.Exception{Code: tc.code, Message: tc.message}).Class; got != tc.want {
			t.Errorf("code %d %q is %s, want %s", tc.code, tc.message, got, tc.want)
		}
	}
}

func TestAppendingARowAllocatesNothing(t *testing.T) { //nolint:paralleltest // counts allocations
	b := newBlock(&schema.Events, &sizes{})
	e := clickhousetest.AnEvent("a")
	row := &sink.Row{Event: e, Topic: []byte(record.TopicEvents)}
	const rows = 1000
	fill := func() {
		b.Reset()
		for range rows {
			b.Append(row)
		}
	}
	fill()
	if perRow := testing.AllocsPerRun(10, fill) / rows; perRow > 0.05 { // the dictionaries' own words, once a block
		t.Errorf("%.3f allocations a row", perRow)
	}
}

func TestWithoutATokenNothingIsIgnored(t *testing.T) {
	t.Parallel()
	cfg := clickhousetest.Migrated(t, schema.Migrate)
	i := newInserter(t, cfg, "")
	for range 3 {
		clickhousetest.Insert(t, i, "", clickhousetest.AnEvent("a"))
	}
	if got := len(clickhousetest.Column(t, cfg, "event_id", "events")); got != 3 {
		t.Errorf("%d rows without FINAL, want 3", got)
	}
}
