package ingest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/pipeline/tally"
	"github.com/millrace/millrace/internal/privacy/salt"
	"github.com/millrace/millrace/internal/tenant/auth"
	"github.com/millrace/millrace/internal/tenant/website"
)

// crowd is a world for many callers at once. What is counted about them arrives
// beside it.
type crowd struct {
	mu    sync.Mutex
	inner world

	told map[string]int // events by owner and outcome
}

func (c *crowd) Key(ctx context.Context, secret []byte, from auth.From) (auth.Principal, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.inner.Key(ctx, secret, from)
}

func (c *crowd) ClientWebsite(ctx context.Context, clientID string) (*website.Website, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.inner.ClientWebsite(ctx, clientID)
}

func (c *crowd) Website(ctx context.Context, ref string) (*website.Website, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.inner.Website(ctx, ref)
}

func (c *crowd) Remembered(ref string) *website.Website { return c.inner.Remembered(ref) }

func (c *crowd) Salt(ctx context.Context, at time.Time) ([]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.inner.Salt(ctx, at)
}

func (*crowd) PruneSalts(context.Context, time.Time) error { return nil }

// Publish takes records unless one is called lost, and breaks at one called broken.
func (c *crowd) Publish(_ context.Context, recs []record.Record) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range recs {
		switch value := recs[i].Value; {
		case recs[i].Topic == record.TopicIngestion:
			if err := c.note(value); err != nil {
				return err
			}
		case bytes.Contains(value, []byte(`"name":"lost"`)):
			return errDown
		case bytes.Contains(value, []byte(`"name":"broken"`)):
			panic(errDown) //nolint:forbidigo // as a mistake would
		}
	}
	return nil
}

func (c *crowd) note(value []byte) error {
	var d record.Decoder
	var e record.Event
	if err := d.DecodeEvent(value, &e); err != nil {
		return err
	}
	c.told[fmt.Sprintf("%s/%s %s", e.Organization, e.Website, e.Name)] += int(e.Web.Numbers[record.Value])
	return nil
}

// counted returns an Acceptor that counts, and what has been told so far.
func (c *crowd) counted(t *testing.T) (a *Acceptor, reg *prometheus.Registry, told func() map[string]int) {
	t.Helper()
	c.told = map[string]int{}
	now := func() time.Time { return noon }
	reg = prometheus.NewRegistry()
	counts := tally.New(tally.Deps{Publisher: c, Log: slog.New(slog.DiscardHandler), Metrics: reg, Now: now})
	a = New(Deps{
		Access: c, Salts: salt.New(c, slog.New(slog.DiscardHandler), now), Publisher: c, Metrics: reg, Now: now,
		Tally: counts,
		Quota: rejecting{"org_2": apierr.QuotaExceeded},
	})
	return a, reg, func() map[string]int {
		ended, end := context.WithCancel(t.Context())
		end()
		if err := counts.Run(ended); err != nil {
			t.Fatal(err)
		}
		return c.told
	}
}

// endings are requests, one or more for each way to end.
var endings = []struct {
	name    string
	req     Request
	events  int
	outcome map[string]int // events by outcome
	owners  map[string]int // as they are told; nil for nobody's
}{
	{
		"a key's batch for two websites and the organization",
		request("global", "",
			`[{"name":"a","websiteId":"web_1"},{"name":"b","websiteId":"web_2"},{"name":"c"},{"name":"d","websiteId":"web_1"}]`),
		4,
		map[string]int{"accepted": 4},
		map[string]int{"org_1/web_1 accepted": 2, "org_1/web_2 accepted": 1, "org_1/ accepted": 1},
	},
	{
		"a client's event", request("", "client-1", `{"name":"a"}`), 1,
		map[string]int{"accepted": 1},
		map[string]int{"org_1/web_1 accepted": 1},
	},
	{"nobody", request("", "", `[{"name":"a"},{"name":"b"}]`), 1, map[string]int{"AUTH_REQUIRED": 1}, nil},
	{"a forged key", request("forged", "client-1", `{"name":"a"}`), 1, map[string]int{"AUTH_REQUIRED": 1}, nil},
	{"an unknown client", request("", "unknown", `{"name":"a"}`), 1, map[string]int{"WEBSITE_NOT_FOUND": 1}, nil},
	{
		"a bad batch of a limited key", request("limited", "", `[{"name":"a"},{"name":""},{"name":"c"}]`), 3,
		map[string]int{"VALIDATION_ERROR": 3},
		map[string]int{"org_1/web_1 VALIDATION_ERROR": 3},
	},
	{
		"a bad batch of a global key for a website", request("global", "", `[{"name":"","websiteId":"web_2"},{"name":"b"}]`),
		2,
		map[string]int{"VALIDATION_ERROR": 2},
		map[string]int{"org_1/web_2 VALIDATION_ERROR": 2},
	},
	{
		"a bad event of a global key for a foreign website", request("global", "web_3", `{"name":""}`), 1,
		map[string]int{"VALIDATION_ERROR": 1},
		map[string]int{"org_1/ VALIDATION_ERROR": 1},
	},
	{
		"a body that is no JSON", request("global", "", `nonsense`), 1,
		map[string]int{"VALIDATION_ERROR": 1},
		map[string]int{"org_1/ VALIDATION_ERROR": 1},
	},
	{
		"no scope", request("readonly", "", `[{"name":"a"},{"name":"b"}]`), 2,
		map[string]int{"FORBIDDEN": 2},
		map[string]int{"org_1/ FORBIDDEN": 2},
	},
	{
		"a limited key's other website", request("limited", "web_2", `{"name":"a"}`), 1,
		map[string]int{"ACCESS_DENIED": 1},
		map[string]int{"org_1/web_1 ACCESS_DENIED": 1},
	},
	{
		"a website of nobody", request("", "client-4", `{"name":"a"}`), 1,
		map[string]int{"WEBSITE_MISSING_ORGANIZATION": 1},
		nil,
	},
	{
		"a used up quota", request("", "client-3", `[{"name":"a"},{"name":"b"}]`), 2,
		map[string]int{"QUOTA_EXCEEDED": 2},
		map[string]int{"org_2/web_3 QUOTA_EXCEEDED": 2},
	},
	{
		"no acknowledgement", request("global", "", `[{"name":"lost","websiteId":"web_1"},{"name":"b"}]`), 2,
		map[string]int{"DELIVERY_UNAVAILABLE": 2},
		map[string]int{"org_1/web_1 DELIVERY_UNAVAILABLE": 1, "org_1/ DELIVERY_UNAVAILABLE": 1},
	},
	{
		"a mistake of ours", request("", "client-1", `{"name":"broken"}`), 1,
		map[string]int{"INTERNAL_SERVER_ERROR": 1},
		map[string]int{"org_1/web_1 INTERNAL_SERVER_ERROR": 1},
	},
	{
		"events that stand for themselves",
		func() Request {
			r := request("", "client-1", `[{"type":"track","name":"a","eventId":"1"},{"type":"track"},{"type":"nonsense"}]`)
			r.Route = Batch
			return r
		}(), 3,
		map[string]int{"accepted": 1, "VALIDATION_ERROR": 2},
		map[string]int{"org_1/web_1 accepted": 1, "org_1/web_1 VALIDATION_ERROR": 2},
	},
	{
		"an address that the website does not want",
		func() Request {
			r := request("", "client-6", `[{"name":"a"},{"name":"b"}]`)
			r.Addr = netip.MustParseAddr("192.0.2.7")
			return r
		}(), 2,
		map[string]int{"excluded": 2},
		map[string]int{"org_1/web_6 excluded": 2},
	},
}

// do accepts a request; what panics is an error.
func do(ctx context.Context, a *Acceptor, req Request) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = errDown
		}
	}()
	_, err = a.Accept(ctx, req)
	return err
}

func TestEveryEventEndsInOneWayAndIsToldToItsOwner(t *testing.T) {
	t.Parallel()
	for _, tc := range endings {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var c crowd
			a, reg, told := c.counted(t)
			_ = do(t.Context(), a, tc.req)
			received, ended := funnelOf(t, reg)
			if received != tc.events {
				t.Errorf("%d events were received, want %d", received, tc.events)
			}
			if diff := cmp.Diff(tc.outcome, ended); diff != "" {
				t.Errorf("outcomes (-want +got):\n%s", diff)
			}
			want := tc.owners
			if want == nil {
				want = map[string]int{}
			}
			if diff := cmp.Diff(want, told()); diff != "" {
				t.Errorf("told (-want +got):\n%s", diff)
			}
		})
	}
}

// Whatever happens at the same time, what was received is what was accepted,
// rejected for a reason, or not wanted.
func TestWhatWasReceivedIsTheSumOfAllOutcomesUnderLoad(t *testing.T) {
	t.Parallel()
	const callers, rounds = 16, 200
	var c crowd
	a, reg, told := c.counted(t)
	var all sync.WaitGroup
	for g := range callers {
		all.Go(func() {
			for i := range rounds {
				_ = do(t.Context(), a, endings[(g+i)%len(endings)].req)
			}
		})
	}
	all.Wait()
	wantReceived, wantEnded, wantTold := 0, map[string]int{}, map[string]int{}
	for g := range callers {
		for i := range rounds {
			e := endings[(g+i)%len(endings)]
			wantReceived += e.events
			for what, n := range e.outcome {
				wantEnded[what] += n
			}
			for whose, n := range e.owners {
				wantTold[whose] += n
			}
		}
	}
	received, ended := funnelOf(t, reg)
	sum := 0
	for _, n := range ended {
		sum += n
	}
	if received != sum || received != wantReceived {
		t.Errorf("received %d, all outcomes together %d, sent %d", received, sum, wantReceived)
	}
	if diff := cmp.Diff(wantEnded, ended); diff != "" {
		t.Errorf("outcomes (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(wantTold, told()); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
}

func TestARequestWithoutItsBodyCountsForItsWebsite(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		req  Request
		why  apierr.Code
		told map[string]int
	}{
		"a client id in the query": {
			request("", "client-1", "ignored"), apierr.PayloadTooLarge, map[string]int{"org_1/web_1 PAYLOAD_TOO_LARGE": 1},
		},
		"a key": {
			request("limited", "", ""), apierr.PayloadTooLarge, map[string]int{"org_1/web_1 PAYLOAD_TOO_LARGE": 1},
		},
		"a key and a website": {
			request("global", "web_2", ""), apierr.PayloadTooLarge, map[string]int{"org_1/web_2 PAYLOAD_TOO_LARGE": 1},
		},
		"nobody that is known": {request("", "unknown", ""), apierr.PayloadTooLarge, map[string]int{}},
		"a body that is too slow": {
			request("limited", "", ""), apierr.DeadlineExceeded, map[string]int{"org_1/web_1 DEADLINE_EXCEEDED": 1},
		},
		"an unknown encoding": {
			request("limited", "", ""), apierr.Validation, map[string]int{"org_1/web_1 VALIDATION_ERROR": 1},
		},
		"a body without room": {
			request("limited", "", ""), apierr.ServiceUnavailable, map[string]int{"org_1/web_1 SERVICE_UNAVAILABLE": 1},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var c crowd
			a, reg, told := c.counted(t)
			a.Reject(t.Context(), tc.req, apierr.New(tc.why))
			received, ended := funnelOf(t, reg)
			if diff := cmp.Diff(map[string]int{string(tc.why): 1}, ended); received != 1 || diff != "" {
				t.Errorf("received %d, outcomes (-want +got):\n%s", received, diff)
			}
			if diff := cmp.Diff(tc.told, told()); diff != "" {
				t.Errorf("told (-want +got):\n%s", diff)
			}
		})
	}
}

func TestImportedEventsAreInTheFunnel(t *testing.T) {
	t.Parallel()
	var c crowd
	a, reg, _ := c.counted(t)
	in := Import{
		Key: []byte("global"), ID: []byte("imp"), Events: [][]byte{[]byte(`{"name":"a"}`), []byte(`{"name":""}`)},
		AppendID: func(dst []byte, i int) []byte { return fmt.Append(dst, i) },
	}
	if _, err := a.Import(t.Context(), in, func(int, *apierr.Error) {}); err != nil {
		t.Fatal(err)
	}
	in.Events = [][]byte{[]byte(`{"name":"lost"}`)}
	if _, err := a.Import(t.Context(), in, nil); !errors.Is(err, errDown) {
		t.Fatal(err)
	}
	received, ended := funnelOf(t, reg)
	if diff := cmp.Diff(map[string]int{"accepted": 1, "VALIDATION_ERROR": 1, "DELIVERY_UNAVAILABLE": 1},
		ended); received != 3 || diff != "" {
		t.Errorf("received %d, outcomes (-want +got):\n%s", received, diff)
	}
}

// funnelOf reads the metrics of the funnel, all routes together.
func funnelOf(t *testing.T, reg *prometheus.Registry) (received int, ended map[string]int) {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	ended = map[string]int{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			n := int(m.GetCounter().GetValue())
			switch {
			case f.GetName() == "millrace_ingest_events_received_total":
				received += n
			case f.GetName() == "millrace_ingest_events_total" && n > 0:
				for _, l := range m.GetLabel() {
					if strings.HasPrefix(l.GetName(), "outcome") {
						ended[l.GetValue()] += n
					}
				}
			}
		}
	}
	return received, ended
}
