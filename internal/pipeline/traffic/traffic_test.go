package traffic

import (
	"bytes"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/contract/event"
	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/pipeline/enrich"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func worldOf(seed, run uint64, sites int) *World {
	cfg := Config{Seed: seed, Run: run, Bots: 0.05}
	for i := range sites {
		cfg.Sites = append(cfg.Sites,
			Site{ID: fmt.Sprintf("web_%02d", i), Organization: "org_1", Host: fmt.Sprintf("site-%d.example.com", i)})
	}
	return NewWorld(cfg)
}

func bodies(w *World, mix Mix, n int) [][]byte {
	r := w.Requests(0, mix)
	all := make([][]byte, n)
	for i := range all {
		all[i] = r.Next(noon).Body
	}
	return all
}

func TestTheSameSeedAndRunAreTheSameBytes(t *testing.T) {
	t.Parallel()
	mix := Mix{Batch: 7, Duplicates: 0.02, Disorder: 0.05, Late: 0.1}
	text := func(seed uint64) string {
		return string(bytes.Join(bodies(worldOf(seed, 9, 3), mix, 200), []byte("\n")))
	}
	first := text(5)
	if diff := cmp.Diff(first, text(5)); diff != "" {
		t.Errorf("the second time (-first +second):\n%s", diff)
	}
	if first == text(6) {
		t.Error("another seed makes the same")
	}
}

func TestAnotherRunDiffersInTheIdsOfEventsAndSessionsAlone(t *testing.T) {
	t.Parallel()
	visit := func(run uint64) (events []string) {
		s := worldOf(5, run, 1).Source(0)
		for range 50 {
			for _, e := range s.Visit(0, noon) {
				e.ID, e.SessionID = nil, nil
				events = append(events, string(e.AppendJSON(nil, 0)))
			}
		}
		return events
	}
	if diff := cmp.Diff(visit(1), visit(2)); diff != "" {
		t.Error(diff)
	}
	a, b := worldOf(5, 1, 1).Source(0), worldOf(5, 2, 1).Source(0)
	if bytes.Equal(a.Visit(0, noon)[0].ID, b.Visit(0, noon)[0].ID) {
		t.Error("two runs share an id")
	}
}

var forms = map[Way]*event.Form{Pages: event.Pages, Custom: event.Track, Vitals: event.Vitals, Errors: event.Errors}

func TestTheIngestionHostWouldTakeEveryRequest(t *testing.T) {
	t.Parallel()
	seen := map[Way]int{}
	for _, mix := range []Mix{{Batch: 25, Duplicates: 0.05, Disorder: 0.1, Late: 0.1}, {Batch: 5, PerVisit: true}} {
		r := worldOf(3, 1, 2).Requests(1, mix)
		for range 800 {
			req := r.Next(noon)
			d := new(event.Decoder)
			events, err := d.DecodeForm(forms[req.Way], many(req.Way), req.Body)
			if err != nil {
				t.Fatalf("%s: %v\n%s", req.Way, err, req.Body)
			}
			if len(events) != req.Events || req.Events > mix.Batch || req.Events == 0 {
				t.Fatalf("%s: %d events in the body, %d said, %d allowed", req.Way, len(events), req.Events, mix.Batch)
			}
			for i := range events {
				if at := events[i].TimeMillis; at > noon.UnixMilli() {
					t.Fatalf("an event of %s is sent at %s", time.UnixMilli(at).UTC(), noon)
				}
			}
			seen[req.Way] += req.Events
		}
	}
	for way := range forms {
		if seen[way] == 0 {
			t.Errorf("nothing came by %s", way)
		}
	}
}

func TestAgentsAreWhatTheIngestionHostTakesThemFor(t *testing.T) {
	t.Parallel()
	known := enrich.NewAgents(1 << 20)
	defer known.Close()
	for _, rows := range [][]agentRow{agents.of, bots.of} {
		for _, row := range rows {
			for i, agent := range row.agents {
				want := enrich.Agent{
					Browser: row.browser, BrowserVersion: row.versions[i].short, OS: row.os, OSVersion: row.osVersion,
					Device: row.device, Bot: row.bot, BotKind: row.botKind,
				}
				if diff := cmp.Diff(want, *known.Of([]byte(agent))); diff != "" {
					t.Errorf("%s (-table +host):\n%s", agent, diff)
				}
			}
		}
	}
}

func TestSourcesAreWhatTheIngestionHostTakesThemFor(t *testing.T) {
	t.Parallel()
	for _, row := range sources.of {
		got := enrich.Referrer([]byte(row.url), "site-0.example.com")
		name := got.Name
		if name == "" {
			name = string(got.Host)
		}
		want := []string{row.kind, row.name, row.host, row.url}
		if diff := cmp.Diff(want, []string{string(got.Kind), name, string(got.Host), string(got.URL)}); diff != "" {
			t.Errorf("%q (-table +host):\n%s", row.url, diff)
		}
	}
}

// shares are what is counted of many visits.
type shares struct {
	visits, bounces, phones, bots, returned float64
	events, views, vitals, errors, late     float64
}

func countShares(w *World, visits int) (n shares) {
	s := w.Source(0)
	seen := map[string]bool{}
	for range visits {
		events := s.Visit(0, noon)
		n.visits++
		first := &events[0]
		if seen[string(first.AnonymousID)] {
			n.returned++
		}
		seen[string(first.AnonymousID)] = true
		if string(first.Web.Texts[record.Device]) == mobile {
			n.phones++
		}
		if len(first.Web.Texts[record.Bot]) > 0 {
			n.bots++
		}
		if first.ReceivedAt-first.TimeMillis > 1000 {
			n.late++
		}
		views := 0.0
		for i := range events {
			switch events[i].Topic {
			case record.TopicVitals:
				n.vitals++
			case record.TopicErrors:
				n.errors++
			default:
				n.events++
			}
			if string(events[i].Type) == record.TypePageView {
				views++
			}
		}
		n.views += views
		if views == 1 {
			n.bounces++
		}
	}
	return n
}

func TestSharesAreThoseOfTheTables(t *testing.T) {
	t.Parallel()
	n := countShares(worldOf(1, 1, 1), 20_000)
	for _, c := range []struct {
		name            string
		got, low, below float64
	}{
		{"visits of one page", n.bounces / n.visits, 0.44, 0.50},
		{"pages of a visit", n.views / n.visits, 2.5, 3.6},
		{"events of a page", n.events / n.views, 1.9, 2.2},
		{"measurements of an event", n.vitals / n.events, 0.08, 0.15},
		{"errors of a page", n.errors / n.views, 0.008, 0.012},
		{"visits on a phone", n.phones / n.visits, 0.35, 0.45},
		{"visits of bots", n.bots / n.visits, 0.045, 0.055},
		{"visits of who was here before", n.returned / n.visits, 0.1, 0.42},
		{"visits that are told late", n.late / n.visits, 0.008, 0.012},
	} {
		if c.got < c.low || c.got >= c.below {
			t.Errorf("%s: %.3f, want from %.3f to %.3f", c.name, c.got, c.low, c.below)
		}
	}
}

func TestWebsitesAreVisitedByZipfsLaw(t *testing.T) {
	t.Parallel()
	s := worldOf(1, 1, 20).Source(0)
	var counts [20]float64
	const visits = 60_000
	for range visits {
		counts[s.Site()]++
	}
	// The k-th gets ln((k+1)/k) of ln(21).
	for k := range counts {
		want := math.Log(float64(k+2)/float64(k+1)) / math.Log(21)
		if got := counts[k] / visits; math.Abs(got-want) > 0.01 {
			t.Errorf("website %d gets %.3f of the visits, want %.3f", k, got, want)
		}
	}
}

func TestVisitsOfADayBeginWithinItAndMostlyByDay(t *testing.T) {
	t.Parallel()
	day, s := noon.Truncate(24*time.Hour), worldOf(1, 1, 1).Source(0)
	var byHour [24]int
	for range 20_000 {
		at := s.Began(day)
		if at.Before(day) || !at.Before(day.AddDate(0, 0, 1)) {
			t.Fatalf("a visit of %s begins at %s", day, at)
		}
		byHour[at.Hour()]++
	}
	if byHour[15] < 2*byHour[4] { // morning in America, afternoon in Europe; nearly all asleep
		t.Errorf("%d visits at 15:00, %d at 04:00", byHour[15], byHour[4])
	}
}

func TestSomeEventsComeAgainLateAndOutOfOrder(t *testing.T) {
	t.Parallel()
	r := worldOf(2, 1, 1).Requests(0, Mix{Batch: 20, Duplicates: 0.02, Disorder: 0.05, Late: 0.1})
	ids, total, again, late := map[string]bool{}, 0.0, 0.0, 0.0
	for range 1500 {
		req := r.Next(noon)
		events, err := new(event.Decoder).DecodeForm(forms[req.Way], many(req.Way), req.Body)
		if err != nil {
			t.Fatal(err)
		}
		for i := range events {
			total++
			if ids[string(events[i].EventID)] {
				again++
			}
			ids[string(events[i].EventID)] = true
			if noon.UnixMilli()-events[i].TimeMillis > (2 * time.Hour).Milliseconds() {
				late++
			}
		}
	}
	if share := again / total; share < 0.015 || share > 0.025 {
		t.Errorf("%.4f of the events come again, want 0.02", share)
	}
	if share := late / total; share < 0.06 || share > 0.12 {
		t.Errorf("%.4f of the events are late, want a little less than 0.1", share)
	}
}

func TestAChoiceGivesEveryRowAShare(t *testing.T) {
	t.Parallel()
	c := newChoice([]int{1000, 1, 500, 1}, func(weight *int) int { return *weight })
	var slots [4]int
	for _, i := range c.at {
		slots[i]++
	}
	if slots[0] < 160 || slots[0] > 180 || slots[1] < 1 || slots[2] < 75 || slots[3] < 1 {
		t.Errorf("of 256 slots the rows have %v", slots)
	}
}

func BenchmarkVisit(b *testing.B) {
	s, events := worldOf(1, 1, 10).Source(0), 0
	for b.Loop() {
		events += len(s.Visit(s.Site(), noon))
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(events), "ns/event")
}

// many is the shape of a way's bodies.
func many(w Way) event.Shape {
	if w == Custom {
		return event.OneOrMany
	}
	return event.Many
}

func BenchmarkRequests(b *testing.B) {
	r, events := worldOf(1, 1, 10).Requests(0, Mix{Batch: 100}), 0
	for b.Loop() {
		events += r.Next(noon).Events
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(events), "ns/event")
}
