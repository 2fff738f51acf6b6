package tally

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/contract/record"
)

// topic is a Publisher that keeps what it is given as the sink would: the first
// record of each owner and id.
type topic struct {
	mu       sync.Mutex
	fails    int // so many attempts are rejected, though some of what they bring is kept
	keeps    int // of an attempt that fails
	attempts int
	counts   map[record.Hash]string
	batches  []int
}

func (p *topic) Publish(_ context.Context, recs []record.Record) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.attempts++
	for i := range recs {
		if p.fails > 0 && time.Since(recs[i].Time) > time.Second {
			return errors.New("too old to be sent")
		}
	}
	kept := recs
	failed := p.attempts <= p.fails
	if failed {
		kept = recs[:min(p.keeps, len(recs))]
	}
	for i := range kept {
		if err := p.keep(&kept[i]); err != nil {
			return err
		}
	}
	if failed {
		return errors.New("not acknowledged")
	}
	p.batches = append(p.batches, len(recs))
	return nil
}

func (p *topic) keep(r *record.Record) error {
	h, err := record.ParseHeaders(r.Headers)
	if err != nil {
		return err
	}
	var d record.Decoder
	var e record.Event
	if err := d.DecodeEvent(r.Value, &e); err != nil {
		return err
	}
	if p.counts == nil {
		p.counts = map[record.Hash]string{}
	}
	p.counts[h.Hash] = fmt.Sprintf("%s %s/%s %s %s %g", r.Topic, e.Organization, e.Website,
		time.UnixMilli(e.TimeMillis).UTC().Format(time.TimeOnly), e.Name, e.Web.Numbers[record.Value])
	return nil
}

// told returns how often each count was told.
func (p *topic) told() map[string]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := map[string]int{}
	for text := range maps.Values(p.counts) {
		all[text]++
	}
	return all
}

func newTally(p Publisher) (*Tally, *prometheus.Registry) {
	reg := prometheus.NewRegistry()
	return New(Deps{Publisher: p, Log: slog.New(slog.DiscardHandler), Metrics: reg}), reg
}

var (
	site = Owner{Organization: "org_1", Website: "web_1"}
	noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
)

func TestCountsArePublishedEachMinuteByOwnerMinuteAndOutcome(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var to topic
		tally, _ := newTally(&to)
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- tally.Run(ctx) }()
		tally.Add(site, Accepted, 3, noon)
		tally.Add(site, Accepted, 4, noon.Add(59*time.Second))
		tally.Add(site, Rejected(apierr.RateLimited), 1, noon)
		tally.Add(site, Accepted, 5, noon.Add(time.Minute))
		tally.Add(Owner{Organization: "org_1"}, Bot, 2, noon)
		tally.Add(Owner{}, Rejected(apierr.AuthRequired), 9, noon) // nobody's
		time.Sleep(interval - time.Second)                         //nolint:forbidigo // fake time
		synctest.Wait()
		if len(to.told()) != 0 {
			t.Errorf("counts were published before the minute was over: %v", to.told())
		}
		time.Sleep(time.Second) //nolint:forbidigo // fake time
		synctest.Wait()
		want := map[string]int{
			"ingestion.v1 org_1/web_1 12:00:00 accepted 7": 1, "ingestion.v1 org_1/web_1 12:00:00 RATE_LIMITED 1": 1,
			"ingestion.v1 org_1/web_1 12:01:00 accepted 5": 1, "ingestion.v1 org_1/ 12:00:00 bot 2": 1,
		}
		if diff := cmp.Diff(want, to.told()); diff != "" {
			t.Errorf("counts (-want +got):\n%s", diff)
		}
		// What comes late for a minute that was told is told besides.
		tally.Add(site, Accepted, 7, noon)
		stop()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		want["ingestion.v1 org_1/web_1 12:00:00 accepted 7"]++
		if diff := cmp.Diff(want, to.told()); diff != "" {
			t.Errorf("counts after the end (-want +got):\n%s", diff)
		}
	})
}

func TestACountThatIsSentAgainIsTheSameOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		to := topic{fails: 3, keeps: 2}
		tally, reg := newTally(&to)
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- tally.Run(ctx) }()
		tally.Add(site, Accepted, 3, noon)
		tally.Add(site, Excluded, 1, noon)
		time.Sleep(interval) //nolint:forbidigo // fake time
		synctest.Wait()
		tally.Add(site, Accepted, 4, noon)
		time.Sleep(interval) //nolint:forbidigo // fake time
		stop()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		want := map[string]int{
			"ingestion.v1 org_1/web_1 12:00:00 accepted 3": 1, "ingestion.v1 org_1/web_1 12:00:00 excluded 1": 1,
			"ingestion.v1 org_1/web_1 12:00:00 accepted 4": 1,
		}
		if diff := cmp.Diff(want, to.told()); diff != "" {
			t.Errorf("counts (-want +got):\n%s", diff)
		}
		if n := counterOf(t, reg, "millrace_tally_publish_failures_total"); n != 3 {
			t.Errorf("%g failures were counted, want 3", n)
		}
	})
}

func TestACountThatIsNeverTakenIsLostWithTheProcessAndNotedAsSuch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		to := topic{fails: 1000}
		tally, reg := newTally(&to)
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- tally.Run(ctx) }()
		tally.Add(site, Accepted, 3, noon)
		time.Sleep(interval) //nolint:forbidigo // fake time
		synctest.Wait()
		tally.Add(site, Accepted, 4, noon)
		stop()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if n := counterOf(t, reg, "millrace_tally_uncounted_events_total"); n != 7 {
			t.Errorf("%g events are noted as uncounted, want 7", n)
		}
	})
}

// A broker that is elected while an edge is drained answers a moment later.
func TestTheLastCountsAreSentAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		to := topic{fails: 5}
		tally, reg := newTally(&to)
		ctx, stop := context.WithCancel(t.Context())
		tally.Add(site, Accepted, 3, noon)
		stop()
		if err := tally.Run(ctx); err != nil {
			t.Fatal(err)
		}
		if n := counterOf(t, reg, "millrace_tally_uncounted_events_total"); n != 0 ||
			to.told()["ingestion.v1 org_1/web_1 12:00:00 accepted 3"] != 1 {
			t.Errorf("%g events are noted as uncounted, told was %v", n, to.told())
		}
	})
}

func TestTheOwnersThatAreCountedAtATimeAreBounded(t *testing.T) {
	t.Parallel()
	var to topic
	tally, reg := newTally(&to)
	for i := range MaxCells + 1 {
		tally.Add(Owner{Organization: "org_1", Website: strconv.Itoa(i)}, Accepted, 2, noon)
	}
	if n := counterOf(t, reg, "millrace_tally_uncounted_events_total"); n != 2 {
		t.Errorf("%g events are uncounted with one owner too many, want 2", n)
	}
	tally.Add(Owner{Organization: "org_1", Website: "0"}, Accepted, 1, noon) // known ones go on
	if err := tally.flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	total := 0
	for _, n := range to.batches {
		total += n
		if n > atOnce {
			t.Errorf("%d records were published at once", n)
		}
	}
	if total != MaxCells {
		t.Errorf("%d counts were published, want %d", total, MaxCells)
	}
	tally.Add(Owner{Organization: "org_1", Website: "new"}, Accepted, 1, noon)
	if n := counterOf(t, reg, "millrace_tally_uncounted_events_total"); n != 2 {
		t.Errorf("after a publication %g events are uncounted, want still 2", n)
	}
}

func TestNothingIsLostBetweenCountingAndPublishing(t *testing.T) {
	t.Parallel()
	var to topic
	tally, _ := newTally(&to)
	var all sync.WaitGroup
	for g := range 8 {
		all.Go(func() {
			for i := range 1000 {
				tally.Add(Owner{Organization: "org_1", Website: strconv.Itoa(i % 10)}, Outcome(g%numOutcomes), 1, noon)
			}
		})
	}
	published := make(chan struct{})
	go func() {
		defer close(published)
		for range 20 {
			if err := tally.flush(t.Context()); err != nil {
				t.Error(err)
			}
		}
	}()
	all.Wait()
	<-published
	if err := tally.flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for text, times := range to.told() {
		var where, clock, outcome string
		var n float64
		if _, err := fmt.Sscanf(text, "ingestion.v1 %s %s %s %g", &where, &clock, &outcome, &n); err != nil {
			t.Fatal(err)
		}
		sum += n * float64(times)
	}
	if sum != 8000 {
		t.Errorf("the counts add up to %g, want 8000", sum)
	}
}

func TestEveryCodeHasAnOutcomeOfItsOwnAndUnknownOnesAreInternal(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for i := range numOutcomes {
		o := Outcome(i)
		if o.String() == "" || seen[o.String()] {
			t.Errorf("outcome %d is called %q", o, o)
		}
		seen[o.String()] = true
	}
	for _, code := range rejections {
		if got := Rejected(code).String(); got != string(code) {
			t.Errorf("Rejected(%s) = %s", code, got)
		}
	}
	if got := Rejected("SOMETHING_ELSE").String(); got != string(apierr.Internal) {
		t.Errorf("Rejected of an unknown code = %s, want %s", got, apierr.Internal)
	}
}

func TestNilCountsNothing(t *testing.T) {
	t.Parallel()
	(*Tally)(nil).Add(site, Accepted, 1, noon)
}

//nolint:paralleltest // counts allocations of the process
func TestCountingAllocatesNothingForAnOwnerThatIsKnown(t *testing.T) {
	tally, _ := newTally(&topic{})
	tally.Add(site, Accepted, 1, noon)
	if n := testing.AllocsPerRun(1000, func() { tally.Add(site, Accepted, 1, noon) }); n != 0 {
		t.Errorf("Add() allocates %g times", n)
	}
}

func BenchmarkAdd(b *testing.B) {
	tally, _ := newTally(&topic{})
	owners := make([]Owner, 1000)
	for i := range owners {
		owners[i] = Owner{
			Organization: "org_01JQZ3F8Y4M2N6P8R0S2T4V6W8", Website: fmt.Sprintf("web_01JQZ3F8Y4M2N6P8R0S2T4%04d", i),
		}
	}
	b.ReportAllocs()
	b.RunParallel(func(p *testing.PB) {
		for i := 0; p.Next(); i++ {
			tally.Add(owners[i%len(owners)], Accepted, 1, noon)
		}
	})
}

func counterOf(t *testing.T, reg *prometheus.Registry, name string) float64 {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == name {
			return f.GetMetric()[0].GetCounter().GetValue()
		}
	}
	t.Fatalf("there is no metric %s", name)
	return 0
}
