package browser

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/api/httpkit"
	"github.com/millrace/millrace/internal/api/linkhost"
	"github.com/millrace/millrace/internal/pipeline/enrich"
	"github.com/millrace/millrace/internal/platform/fair"
	"github.com/millrace/millrace/internal/resource/link"
	"github.com/millrace/millrace/internal/resource/link/redirect"
	"github.com/millrace/millrace/internal/testkit"
)

// guarded is one link with the password "sesame".
type guarded struct{ link *link.Served }

// Find implements redirect.Links.
func (g guarded) Find(_ context.Context, _ []byte, _ time.Time, to *link.Served) error {
	*to = *g.link
	return nil
}

// Verify implements redirect.Passwords.
func (guarded) Verify(_ context.Context, _ fair.Owner, _, password string) (bool, error) {
	return password == "sesame", nil
}

// Visitor implements redirect.Visitors.
func (guarded) Visitor(netip.Addr, []byte) enrich.Visitor {
	return enrich.Visitor{Agent: &enrich.Agent{}}
}

// The way of the form ends on another host, which a form-action in the page's policy would
// not let it reach.
func TestAPasswordFormLeadsToAnotherHost(t *testing.T) {
	t.Parallel()
	target := serve(t, "target.example.net", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, `<!doctype html><title>The target</title>`)
	}))
	g := guarded{&link.Served{
		ID: "lnk_1", Enabled: true, URL: target + "/deep", RedirectStatus: http.StatusFound, PasswordHash: "#",
		Secret: []byte("secret"),
	}}
	app := linkhost.New(linkhost.Config{Site: httpkit.Site{PublicURL: "http://go.example.com"}}, linkhost.Deps{
		Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(),
		Redirects: redirect.New(redirect.Config{}, redirect.Deps{Links: g, Visitors: g, Passwords: g}),
	})
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go app.Listener(listener)
	t.Cleanup(func() { app.Shutdown() })
	_, port, _ := net.SplitHostPort(listener.Addr().String())

	v := newVisitor(t)
	v.open("http://go.example.com:" + port + "/vault?from=mail")
	// The focus is set with the first frame that is drawn, which is after the page has loaded.
	testkit.Eventually(t, within, func() error {
		style := `getComputedStyle(document.querySelector("main")).maxWidth + " " + document.activeElement.id`
		if got := get[string](v, style); got != "416px password" {
			return fmt.Errorf("style and focus of the form: %q", got)
		}
		return nil
	})
	typed := func(password string) {
		script := fmt.Sprintf(`document.querySelector("#password").value = %q; document.querySelector("form").submit()`,
			password)
		v.leave(chromedp.Evaluate[chromedp.Void](script))
	}
	typed("wrong")
	testkit.Eventually(t, within, func() error {
		if got := get[string](v,
			`document.querySelector("[role=alert]")?.textContent ?? ""`); !strings.Contains(got, "wrong") {
			return fmt.Errorf("no alert: %q", got)
		}
		return nil
	})
	typed("sesame")
	testkit.Eventually(t, within, func() error {
		if got := get[string](v, `document.title + " " + location.href`); got != "The target "+target+"/deep" {
			return fmt.Errorf("at %s", got)
		}
		return nil
	})
}
