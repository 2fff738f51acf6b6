package ingest

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/pipeline/tally"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/privacy/salt"
	"github.com/millrace/millrace/internal/tenant/ratelimit"
)

// limited returns an acceptor that limits.
func (w *world) limited(p Publisher, limits config.Limits) *Acceptor {
	return New(Deps{
		Access: w, Salts: salt.New(w, slog.New(slog.DiscardHandler), time.Now), Publisher: p,
		Metrics: prometheus.NewRegistry(),
		Limits:  ratelimit.New(limits, ratelimit.Deps{}), Now: func() time.Time { return noon },
	})
}

func from(addr string, r Request) Request {
	r.Addr = netip.MustParseAddr(addr)
	return r
}

func TestWhoeverSendsIsCounted(t *testing.T) {
	t.Parallel()
	const good, bad = `{"name":"a"}`, `{"name":""}`
	for _, tc := range []struct {
		name        string
		first, next Request
		want        apierr.Code // of the next one; empty for none
	}{
		{"a key", request("global", "", good), request("global", "", good), apierr.RateLimited},
		{
			"a key from elsewhere", from("192.0.2.1", request("global", "", good)),
			from("192.0.2.2", request("global", "", good)), apierr.RateLimited,
		},
		{"a key to another website", request("global", "web_1", good), request("global", "web_2", good), apierr.RateLimited},
		{"another key", request("global", "", good), request("limited", "", good), ""},
		{
			"a website from one address", from("192.0.2.1", request("", "client-1", good)),
			from("192.0.2.1", request("", "client-1", good)), apierr.RateLimited,
		},
		{
			"a website by its id before", from("192.0.2.1", request("", "client-1", good)),
			from("192.0.2.1", request("", "client-0", good)), apierr.RateLimited,
		},
		{
			"a website by the body", from("192.0.2.1", request("", "client-1", good)),
			from("192.0.2.1", request("", "", `{"name":"a","websiteId":"client-1"}`)), apierr.RateLimited,
		},
		{
			"a website from another address", from("192.0.2.1", request("", "client-1", good)),
			from("192.0.2.2", request("", "client-1", good)), "",
		},
		{
			"another website", from("192.0.2.1", request("", "client-1", good)),
			from("192.0.2.1", request("", "client-2", good)), "",
		},
		{
			"ids that are tried out", from("192.0.2.1", request("", "one", good)), from("192.0.2.1", request("", "two", good)),
			apierr.RateLimited,
		},
		{"after a bad body", request("global", "", bad), request("global", "", good), apierr.RateLimited},
		{"a bad body", request("global", "", good), request("global", "", bad), apierr.RateLimited},
		{"after a key without scope", request("readonly", "", good), request("readonly", "", good), apierr.RateLimited},
		{
			"keys that are tried out", from("192.0.2.1", request("forged", "", good)),
			from("192.0.2.1", request("made-up", "", good)), apierr.RateLimited,
		},
		{
			"a key beside one that was tried out", from("192.0.2.1", request("forged", "", good)),
			from("192.0.2.1", request("global", "", good)), "",
		},
		{
			"a website beside a key that was tried out", from("192.0.2.1", request("forged", "", good)),
			from("192.0.2.1", request("", "client-1", good)), "",
		},
		{"nobody", request("", "", good), request("", "", good), apierr.AuthRequired},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w := &world{}
			cfg := config.Default().Limits
			cfg.Track = 1
			a := w.limited(w, cfg)
			if _, err := track(t, a, tc.first); apierr.Is(err, apierr.RateLimited) {
				t.Fatalf("the first request: %v", err)
			}
			published := len(w.published)
			if _, err := a.Check(t.Context(), tc.next); apierr.Is(err, apierr.RateLimited) {
				t.Errorf("Check() = %v, though it counts nothing", err)
			}
			_, err := track(t, a, tc.next)
			if f := apierr.Of(err); (f == nil) != (tc.want == "") || f != nil && f.Code != tc.want {
				t.Errorf("Track() = %v, want %q", err, tc.want)
			}
			if tc.want != "" && len(w.published) != published {
				t.Error("something was published")
			}
		})
	}
}

// gate is a publisher that holds requests until it is opened.
type gate struct{ arrived, open chan struct{} }

func (g gate) Publish(ctx context.Context, _ []record.Record) error {
	g.arrived <- struct{}{}
	select {
	case <-g.open:
		return apierr.New(apierr.DeliveryUnavailable)
	case <-ctx.Done():
		return ctx.Err()
	}
}

func TestTwentyRequestsOfAKeyAreUnderWayAtMost(t *testing.T) {
	t.Parallel()
	g := gate{make(chan struct{}), make(chan struct{})}
	a := (&world{}).limited(g, config.Default().Limits)
	track := func() error {
		_, err := track(t, a, request("global", "", `{"name":"a"}`))
		return err
	}
	ended := make(chan error)
	for range 20 {
		go func() { ended <- track() }()
		<-g.arrived
	}
	err := track()
	if f := apierr.Of(err); f == nil || f.Code != apierr.RateLimited ||
		f.Message != "Too many concurrent API key requests" {
		t.Errorf("the 21st: %v", err)
	}
	close(g.open)
	for range 20 {
		if err := <-ended; !apierr.Is(err, apierr.DeliveryUnavailable) {
			t.Errorf("a request under way: %v", err)
		}
	}
	go func() { ended <- track() }()
	<-g.arrived // the failed ones have given their places back
	<-ended
}

// Client ids that are no website's are looked up as often as their address may try, however
// often it does, and whether or not the body can be read.
func TestClientIDsThatAreTriedOutAreNotLookedUpForEver(t *testing.T) {
	t.Parallel()
	w := &world{}
	cfg := config.Default().Limits
	cfg.Track = 3
	a := w.limited(w, cfg)
	// asks whose a rejected request is
	a.deps.Tally = tally.New(tally.Deps{Publisher: w, Log: slog.New(slog.DiscardHandler)})
	for i := range 10 {
		want := apierr.WebsiteNotFound
		if i >= cfg.Track {
			want = apierr.RateLimited
		}
		if _, err := track(t, a,
			from("192.0.2.1", request("", fmt.Sprint("made-up-", i), `{"name":"a"}`))); !apierr.Is(err, want) {
			t.Errorf("request %d: %v, want %s", i+1, err, want)
		}
		a.Reject(t.Context(), from("192.0.2.2", request("", fmt.Sprint("unread-", i), "")),
			apierr.New(apierr.PayloadTooLarge))
	}
	if n := len(w.asked); n != 2*cfg.Track {
		t.Errorf("%d look-ups, want %d", n, 2*cfg.Track)
	}
	if _, err := track(t, a, from("192.0.2.1", request("", "client-1", `{"name":"a"}`))); err != nil {
		t.Errorf("a website that is remembered: %v", err)
	}
}
