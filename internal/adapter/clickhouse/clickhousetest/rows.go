package clickhousetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/pipeline/sink"
	"github.com/millrace/millrace/internal/privacy/tombstone"
)

var (
	Noon     = time.Date(2026, 3, 31, 12, 0, 0, 0, time.UTC).UnixMilli()
	NextDay  = Noon + 24*time.Hour.Milliseconds() // in April
	Received = Noon + 1500
)

// AnEvent returns a plain event; change it as a test needs.
func AnEvent(id string, change ...func(*record.Event)) *record.Event {
	e := &record.Event{
		Version: 1, ID: []byte(id), Organization: []byte("org_1"), Website: []byte("web_1"), Owner: []byte("web_1"),
		Type: []byte(record.TypeCustom), Name: []byte("signup"), TimeMillis: Noon, ReceivedAt: Received,
	}
	for _, f := range change {
		f(e)
	}
	return e
}

// WebEvent returns an event with fields of the web.
func WebEvent(id, kind, name string, change ...func(*record.Event)) *record.Event {
	return AnEvent(id, append([]func(*record.Event){func(e *record.Event) {
		e.Type, e.Name, e.Web = []byte(kind), []byte(name), new(record.Web)
	}}, change...)...)
}

// SomeEvents returns events with few and many values in each column, on one day
// of March.
func SomeEvents(r *rand.Rand, n int) []*record.Event {
	events := make([]*record.Event, n)
	pick := func(prefix string, of int) []byte {
		if k := r.IntN(of + 1); k > 0 {
			return fmt.Append(nil, prefix, k)
		}
		return nil
	}
	for i := range events {
		events[i] = AnEvent(fmt.Sprint("e", r.Uint64()), func(e *record.Event) {
			e.Owner = fmt.Append(nil, "web_", r.IntN(3))
			e.Name, e.Namespace, e.Source = fmt.Append(nil, "n", r.IntN(300)), pick("ns", 2), pick("s", 2)
			e.AnonymousID, e.SessionID, e.ProfileID = pick("v", 20), pick("s", 30), pick("p", 10)
			e.Path, e.Properties = pick("/", 50), pick(`{"x":`, 9)
			e.TimeMillis += r.Int64N(3_600_000)
			e.ReceivedAt += r.Int64N(10_000)
			e.HasRaw, e.RawMillis = r.IntN(2) == 0, Noon+r.Int64N(1000)
			if r.IntN(4) == 0 {
				e.Web = new(record.Web)
				e.Web.Texts[record.Browser], e.Web.Texts[record.Title] = pick("b", 3), pick("title ", 100)
				e.Web.Set(record.WebNumber(r.IntN(record.NumWebNumbers)), float64(r.IntN(5)))
			}
		})
	}
	return events
}

// Browsing makes random events what browsers send: views with all that is known
// of them, exits, and a few others.
func Browsing(r *rand.Rand, n int) []*record.Event {
	events := SomeEvents(r, n)
	names := []string{"screen_view", "screen_view", "screen_view", "page_exit", "signup", "link_out", "n0"}
	kinds := []string{"", "direct", "internal", "search", "other"}
	for _, e := range events {
		e.Name = []byte(names[r.IntN(len(names))])
		if e.Properties = nil; r.IntN(3) == 0 {
			e.Properties = fmt.Appendf(nil, `{"time_on_page":%d}`, r.IntN(40)-5)
		}
		if r.IntN(5) == 0 { // from a server
			continue
		}
		e.Web = new(record.Web)
		for i := range e.Web.Texts {
			if r.IntN(3) > 0 {
				e.Web.Texts[i] = fmt.Appendf(nil, "%d-%d", i, r.IntN(4))
			}
		}
		e.Web.Texts[record.ReferrerKind] = []byte(kinds[r.IntN(len(kinds))])
		if r.IntN(2) == 0 {
			e.Web.Set(record.TimeOnPage, float64(r.IntN(60)))
		}
	}
	return events
}

// AClick returns a plain click of lnk_1; change it as a test needs.
func AClick(id string, change ...func(*record.Event)) *record.Event {
	e := &record.Event{
		Version: 2, ID: []byte(id), Organization: []byte("org_1"), Owner: []byte("lnk_1"), Type: []byte(record.TypeClick),
		Name:       []byte(record.TypeClick),
		TimeMillis: Noon, ReceivedAt: Noon, Click: &record.Click{Link: []byte("lnk_1"), Status: 302},
	}
	for _, f := range change {
		f(e)
	}
	return e
}

// SomeClicks are random clicks of one day of a link, with values drawn from few.
func SomeClicks(r *rand.Rand, owner string, day int64, n int) []*record.Event {
	one := func(of ...string) []byte { return []byte(of[r.IntN(len(of))]) }
	all := make([]*record.Event, n)
	for i := range all {
		all[i] = AClick(fmt.Sprint(day, " ", i), func(e *record.Event) {
			e.Owner, e.TimeMillis = []byte(owner), day*record.MillisPerDay+r.Int64N(record.MillisPerDay)
			w := new(record.Web)
			w.Texts[record.Country], w.Texts[record.Region], w.Texts[record.City] = one("", "AT", "DE"), one("", "Styria"),
				one("", "Graz", "Wien", "Linz")
			w.Texts[record.Device], w.Texts[record.Browser] = one("mobile", "desktop"), one("Firefox", "")
			w.Texts[record.ReferrerHost], w.Texts[record.ReferrerName] = one("", "google.com", "example.org"), one("", "Google")
			e.Web = w
			e.Click.Visitor, e.Click.RuleID, e.Click.VariantID = one("", "a", "b", "c", "d"), one("", "rul_1"), one("",
				"var_1", "var_2")
			e.Click.IsQR, e.Click.IsBot = r.IntN(3) == 0, r.IntN(4) == 0
		})
	}
	return all
}

// BlockOf returns a block of events of the topic events.v1, from offset 100 on.
func BlockOf(i sink.Inserter, events ...*record.Event) sink.Block {
	b := i.NewBlock(record.TopicEvents)
	for n, e := range events {
		b.Append(&sink.Row{
			Event: e, Hash: record.HashOf(e.Owner, e.ID), Topic: []byte(record.TopicEvents), Partition: 3,
			Offset: int64(100 + n),
		})
	}
	return b
}

// Insert stores events under a token.
func Insert(t *testing.T, i sink.Inserter, insertToken string, events ...*record.Event) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	if err := i.Insert(ctx, BlockOf(i, events...), insertToken); err != nil {
		t.Fatal(err)
	}
}

// ClassIs reports whether an error has a class; an empty one means no error.
func ClassIs(err error, want sink.Class) bool {
	if want == "" {
		return err == nil
	}
	e, ok := errors.AsType[*sink.InsertError](err)
	return ok && e.Class == want
}

// From makes an event one of a website and a visitor, received at a time in Unix milliseconds.
func From(owner, profile, visitor string, at int64) func(*record.Event) {
	return func(e *record.Event) {
		e.Owner, e.Website, e.Organization = []byte(owner), []byte(owner), []byte("org_1")
		e.ProfileID, e.AnonymousID, e.ReceivedAt, e.TimeMillis = []byte(profile), []byte(visitor), at, at
	}
}

// Stone returns a tombstone for what was received up to Received.
func Stone(owner string, kind tombstone.Kind, id string) tombstone.Tombstone {
	s := tombstone.Tombstone{Owner: owner, Kind: kind, Before: time.UnixMilli(Received)}
	if kind != tombstone.Website {
		s.ID = tombstone.IDOf(kind, []byte(owner), []byte(id))
	}
	return s
}
