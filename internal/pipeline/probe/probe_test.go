package probe

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

// hosts are an edge and a query host that answer as they are told to.
type hosts struct {
	sent           atomic.Int64
	ingest, query  int // status of responses; 0 means 200
	loses, garbles bool
}

func (h *hosts) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	status := h.query
	if r.URL.Path == "/track" {
		status = h.ingest
		h.sent.Add(1)
	}
	if status != 0 {
		w.Header().Set("Location", "/elsewhere")
		http.Error(w, "no", status)
		return
	}
	counted := h.sent.Load()
	if h.loses {
		counted = 0
	}
	if h.garbles {
		_, _ = fmt.Fprint(w, `{"success":true,"data":[{"success":false,"data":[]}]}`)
		return
	}
	_, _ = fmt.Fprintf(w, `{"success":true,"data":[{"parameter":"custom_events","success":true,"data":[{"name":"other","total_events":9},{"name":%q,"total_events":%d}]}]}`, event, counted)
}

// start returns a probe of the hosts, and how often it asked for an account.
func start(t *testing.T, h *hosts, accountErr error) (p *Probe, accounts *int) {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	accounts = new(int)
	return New(Config{Interval: time.Hour, IngestURL: server.URL, QueryURL: server.URL}, Deps{
		Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(),
		Account: func(context.Context) (Account, error) {
			*accounts++
			return Account{WebsiteID: "web_1", Key: "k"}, accountErr
		},
	}), accounts
}

func TestAProbeSaysAtWhichStepItFailed(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name    string
		hosts   *hosts
		account error
		outcome string
		says    string // the error; empty for none
		again   bool   // the next round wants another key
	}{
		{"all is well", &hosts{}, nil, seen, "", false},
		{"the store is away", &hosts{}, errors.New("store is away"), noAccount, "store is away", true},
		{"the query host is away", &hosts{query: 503}, nil, notAsked, "querying events: 503", false},
		{"the query host cannot count", &hosts{garbles: true}, nil, notAsked, "could not count", false},
		{"the edge refuses", &hosts{ingest: 503}, nil, notSent, "sending an event: 503", false},
		{"the edge sends elsewhere", &hosts{ingest: 307}, nil, notSent, "sending an event: 307", false},
		{"the key is refused", &hosts{ingest: 401}, nil, notSent, "the probe's key is rejected", true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			p, accounts := start(t, tc.hosts, tc.account)
			var account Account
			err := p.round(t.Context(), &account)
			if tc.says == "" && err != nil || tc.says != "" && (err == nil || !strings.Contains(err.Error(), tc.says)) {
				t.Errorf("round() = %v, want %q", err, tc.says)
			}
			if got := testutil.ToFloat64(p.metrics.attempts.WithLabelValues(tc.outcome)); got != 1 {
				t.Errorf("%v probes are %s", got, tc.outcome)
			}
			_ = p.round(t.Context(), &account)
			if got := *accounts == 2; got != tc.again {
				t.Errorf("%d accounts in two rounds", *accounts)
			}
		})
	}
}

func TestAnEventThatIsWaitedForCounts(t *testing.T) {
	t.Parallel()
	p, _ := start(t, &hosts{loses: true}, nil)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- p.round(ctx, &Account{WebsiteID: "web_1", Key: "k"}) }()
	for p.last() == 0 { // until it was sent
		select {
		case err := <-ended:
			t.Fatalf("the round ended: %v", err)
		default:
		}
	}
	before := p.last()
	if after := p.last(); after < before {
		t.Errorf("%s after %s", after, before)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("a stop is no failure: %v", err)
	}
}

// What a process measured says nothing once another one probes, and what it did before it probed says nothing
// of the probe.
func TestWhoStopsProbingTellsNothingOfIt(t *testing.T) {
	t.Parallel()
	p, _ := start(t, &hosts{loses: true}, nil)
	if got := testutil.ToFloat64(p.metrics.success); got != 0 {
		t.Errorf("before it probes its last success is at %v", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		p.work(ctx)
	}()
	for p.last() == 0 { // until an event was sent
		runtime.Gosched()
	}
	if got := testutil.ToFloat64(p.metrics.success); got == 0 {
		t.Error("while it probes it waits for nothing")
	}
	cancel()
	<-ended
	if got := p.last(); got != 0 {
		t.Errorf("an event takes %s where nothing probes", got)
	}
}
