package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/ch-go/proto"

	"github.com/millrace/millrace/internal/adapter/clickhouse"
	"github.com/millrace/millrace/internal/adapter/load"
	"github.com/millrace/millrace/internal/pipeline/traffic"
)

// How events are sent under E1 and E2.
const (
	ingestBatch = 100
	ingestPeak  = 40 * time.Second // of looking for what the machine holds, merges and all
	seenFor     = 60 * time.Second // of E1: about fifty events, so that their p95 is not the slowest
	askedFor    = 40 * time.Second // of E2
	dashboards  = 20
	askEvery    = 10 * time.Second // each of them
)

// underIngest is E1 and E2: at half of the rate of events that the product holds, how
// long it takes until an acknowledged event is seen, and what dashboards take.
func (f *queryFigures) underIngest(ctx context.Context, a *asker, conn *clickhouse.Client) error {
	peak, err := f.peak(ctx, a, conn)
	if err != nil {
		return err
	}
	half := peak / 2
	f.notes = append(f.notes, fmt.Sprintf("E: events are acknowledged, stored and rolled up at %.0f a second at most, "+
		"%d a request, load and broker on the same cores; half of it is %.0f.", peak, ingestBatch, half))

	var seen times
	before, err := f.meanwhile(ctx, a, 1, half, seenFor, func(ctx context.Context) (err error) {
		seen, err = f.visible(ctx, a)
		return err
	})
	if err != nil {
		return err
	}
	f.gate(gate{
		"E1", fmt.Sprintf("acknowledged until seen in /v1/query at %.0f events/s: p95 of %d events", half, len(seen)),
		seen.at(0.95), visibleE1, "ms", false,
	})
	f.notes = append(f.notes, fmt.Sprintf("E1: p50 %.0f ms, p95 %.0f ms, most %.0f ms.",
		seen.at(0.5), seen.at(0.95), seen.at(1)))

	var asked *load.Report
	after, err := f.meanwhile(ctx, a, 2, half, askedFor, func(ctx context.Context) (err error) {
		asked, err = f.dashboards(ctx, a)
		return err
	})
	if err != nil {
		return err
	}
	f.gate(gate{"E2", fmt.Sprintf("%d dashboards of %d parameters asking once in %s each at that rate: p95 of %d answers",
		dashboards, len(load.Dashboard), askEvery, asked.Requests), asked.Latency.P95, dashboardE2, "ms", false})
	f.gate(gate{
		"E2", "events accepted a second meanwhile, against without", after.RateAccepted / before.RateAccepted,
		keptE2, "times", true,
	})
	f.notes = append(f.notes,
		fmt.Sprintf("E2: dashboards p50 %.0f ms, p95 %.0f ms, most %.0f ms; %v, %d parts failed.",
			asked.Latency.P50, asked.Latency.P95, asked.Latency.Max, asked.Statuses, asked.FailedParts),
		fmt.Sprintf(
			"E2: events %.0f a second of %.0f without and %.0f with dashboards; p99 of their answers %.0f ms and %.0f ms.",
			before.RateAccepted, half, after.RateAccepted, before.Latency.P99, after.Latency.P99))
	return nil
}

// events are those of a run, for all websites.
func (f *queryFigures) events(a *asker, run uint64) *load.Events {
	sites := make([]traffic.Site, len(f.set.Websites))
	for i, id := range f.set.Websites {
		sites[i] = traffic.Site{ID: id, Host: fmt.Sprintf("site-%03d.example.com", i)}
	}
	world := traffic.NewWorld(traffic.Config{Seed: run, Run: traffic.RunAt(f.began) + run, Sites: sites, Bots: 0.01})
	return &load.Events{
		URL:      a.stack.Ingest,
		Key:      a.stack.key,
		Requests: world.Requests(run, traffic.Mix{Batch: ingestBatch, Duplicates: 0.005}),
	}
}

// drive sends events at a rate for a while.
func (f *queryFigures) drive(
	ctx context.Context, a *asker, run uint64, rate float64, d time.Duration,
) (*load.Report, error) {
	send, closeAll := load.HTTP(connections)
	defer closeAll()
	r, err := load.Drive(ctx, load.Options{Rate: rate, Duration: d, Connections: connections, Timeout: 30 * time.Second},
		f.events(a, run), send)
	if err == nil && r.Statuses["200"] < r.Requests*9/10 {
		err = fmt.Errorf("events are rejected: %v %s", r.Statuses, r.FirstError)
	}
	return r, err
}

// peak sends more than can be taken and returns how much is stored a second, from the
// first quarter of the time on.
func (f *queryFigures) peak(ctx context.Context, a *asker, conn *clickhouse.Client) (float64, error) {
	done := make(chan error, 1)
	var report *load.Report
	go func() {
		var err error
		report, err = f.drive(ctx, a, 0, load.MaxRate, ingestPeak)
		done <- err
	}()
	if err := pause(ctx, ingestPeak/4); err != nil {
		return 0, err
	}
	first, err := storedRows(ctx, conn)
	if err != nil {
		return 0, err
	}
	begun := time.Now()
	if err := <-done; err != nil {
		return 0, err
	}
	last, err := storedRows(ctx, conn)
	if err != nil {
		return 0, err
	}
	stored := float64(last-first) / time.Since(begun).Seconds()
	fmt.Fprintf(os.Stderr, "peak: %.0f events/s accepted, %.0f rows/s stored\n", report.RateAccepted, stored)
	return min(stored, report.RateAccepted), f.drained(ctx, conn)
}

// storedRows counts the rows of the tables that events go to.
func storedRows(ctx context.Context, conn *clickhouse.Client) (n uint64, err error) {
	var rows proto.ColUInt64
	err = conn.Do(ctx, ch.Query{
		Body: "SELECT sum(rows) AS n FROM system.parts WHERE active AND database = currentDatabase() AND table IN " +
			"('events', 'vitals', 'errors')",
		Result: proto.Results{{Name: "n", Data: &rows}},
		OnResult: func(context.Context, proto.Block) error {
			if rows.Rows() > 0 {
				n = rows[0]
			}
			return nil
		},
	})
	return n, err
}

// drained waits until nothing more is stored.
func (f *queryFigures) drained(ctx context.Context, conn *clickhouse.Client) error {
	const (
		still = 4 * time.Second
		most  = 3 * time.Minute
	)
	for begun, rows := time.Now(), uint64(0); time.Since(begun) < most; {
		now, err := storedRows(ctx, conn)
		if err != nil || now == rows {
			return err
		}
		rows = now
		if err := pause(ctx, still); err != nil {
			return err
		}
	}
	return errors.New("what was sent is not stored after minutes")
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// meanwhile sends events at a rate and does something until the time is over.
func (f *queryFigures) meanwhile(
	ctx context.Context, a *asker, run uint64, rate float64, d time.Duration, do func(context.Context) error,
) (report *load.Report, err error) {
	within, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	var all sync.WaitGroup
	var failed error
	all.Go(func() {
		if pause(within, time.Second) == nil { // until the rate is reached
			failed = do(within)
		}
	})
	report, err = f.drive(ctx, a, run, rate, d)
	all.Wait()
	return report, errors.Join(err, failed)
}

// visible sends an event now and then and waits until the query host counts it.
func (f *queryFigures) visible(ctx context.Context, a *asker) (seen times, err error) {
	probe := *a
	probe.website = f.set.Websites[len(f.set.Websites)/2]
	now := time.Now().UTC()
	probe.from, probe.until = now.AddDate(0, 0, -1).Truncate(24*time.Hour), now.AddDate(0, 0, 2).Truncate(24*time.Hour)
	for n := 0; ctx.Err() == nil; n++ {
		name := fmt.Sprintf("probe_%d_%d", now.UnixMilli(), n)
		body := fmt.Sprintf(`[{"name":%q,"eventId":%q}]`, name, name)
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.stack.Ingest+"/track?website_id="+probe.website,
			strings.NewReader(body))
		if err != nil {
			return seen, err
		}
		req.Header.Set("X-Api-Key", a.stack.key)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			break // the time is over
		}
		resp.Body.Close()
		acknowledged := time.Now()
		question := fmt.Sprintf(`{"parameters":["custom_events"],"startDate":%q,"endDate":%q,"filters":[{"field":"event_name","op":"eq","value":%q}]}`,
			probe.from.Format(time.DateOnly), probe.last(), name)
		for ctx.Err() == nil {
			response, err := probe.ask(ctx, question, true)
			if err != nil && ctx.Err() == nil {
				return seen, err
			}
			if strings.Contains(string(response), name) {
				seen = append(seen, time.Since(acknowledged))
				break
			}
			if pause(ctx, 20*time.Millisecond) != nil {
				break
			}
		}
		if pause(ctx, 100*time.Millisecond) != nil {
			break
		}
	}
	if len(seen) == 0 {
		return nil, errors.New("no event was seen in time")
	}
	return seen, nil
}

// dashboards has the largest websites' dashboards asked for.
func (f *queryFigures) dashboards(ctx context.Context, a *asker) (*load.Report, error) {
	work := &rounds{
		asker:    *a,
		websites: f.set.Websites[:dashboards],
		body:     load.DashboardBody(time.Now().UTC().AddDate(0, 0, 1).Truncate(24*time.Hour), 30),
	}
	send, closeAll := load.HTTP(dashboards)
	defer closeAll()
	d := askedFor - 2*time.Second
	return load.Drive(ctx,
		load.Options{Rate: dashboards / askEvery.Seconds(), Duration: d, Connections: dashboards, Timeout: 30 * time.Second},
		work, send)
}

// rounds asks for the dashboards of websites, one after the other.
type rounds struct {
	load.Questions

	asker    asker
	websites []string
	body     string
	next     int
}

// Next implements load.Work.
func (r *rounds) Next() load.Request {
	website := r.websites[r.next%len(r.websites)]
	r.next++
	return load.Request{
		URL:    r.asker.stack.Query + "/v1/query?website_id=" + website,
		Header: http.Header{"X-Api-Key": {r.asker.stack.key}, "Content-Type": {"application/json"}},
		Body:   []byte(r.body), Units: 1,
	}
}
