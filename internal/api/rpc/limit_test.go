package rpc_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/api/httpkit"
	"github.com/millrace/millrace/internal/api/rpc"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/tenant/org"
	"github.com/millrace/millrace/internal/tenant/ratelimit"
)

// asked counts how often sessions are looked up.
type asked struct {
	credentials
	times atomic.Int64
}

func (a *asked) SignedIn(ctx context.Context, token string) (string, *org.User, []org.Member, error) {
	a.times.Add(1)
	return a.credentials.SignedIn(ctx, token)
}

// Who tries out sessions has what callers without a credential have, and no session is
// looked up for them any more. Who is signed in at the same address goes on.
func TestSessionsThatAreTriedOutAreCountedByAddress(t *testing.T) {
	t.Parallel()
	doc, err := rpc.Describe(rpc.Info{Title: "Test", Version: "1"}, table())
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	app := httpkit.New(httpkit.Config{Host: httpkit.Query}, httpkit.Deps{Log: log, Metrics: prometheus.NewRegistry()})
	limits := config.Default().Limits
	limits.ManageAnonymous = 3
	sessions := &asked{}
	rpc.Mount(app, doc, table(), rpc.Deps{Log: log, Identifier: &rpc.Identifier{
		Keys: sessions, Sessions: sessions, Site: &httpkit.Site{}, Limits: ratelimit.New(limits, ratelimit.Deps{}),
	}})
	expect := func(who, cookie string, want int) {
		t.Helper()
		if status, body := call(t, app, "/rpc/things/list", `{"organizationId":"org_1"}`, "Cookie", cookie); status != want {
			t.Errorf("%s: %d %s, want %d", who, status, body, want)
		}
	}
	expect("who is signed in", "millrace_session=token", http.StatusOK)
	for i := range limits.ManageAnonymous {
		expect("a session that is made up", fmt.Sprintf("millrace_session=made-up-%d", i), http.StatusUnauthorized)
	}
	for i := range 10 {
		expect("one too many", fmt.Sprintf("millrace_session=too-many-%d", i), http.StatusTooManyRequests)
	}
	expect("nobody", "a=b", http.StatusTooManyRequests)
	if got, want := sessions.times.Load(), int64(1+limits.ManageAnonymous); got != want {
		t.Errorf("%d look-ups, want %d", got, want)
	}
	expect("who is still signed in", "millrace_session=token", http.StatusOK)
}
