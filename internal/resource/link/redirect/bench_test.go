package redirect

import (
	"context"
	"net/netip"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/pipeline/enrich"
	"github.com/millrace/millrace/internal/resource/link"
	"github.com/millrace/millrace/internal/resource/link/click"
)

// one finds the same link for every slug.
type one struct{ link link.Served }

// Find implements Links.
func (o *one) Find(_ context.Context, _ []byte, _ time.Time, to *link.Served) error {
	*to = o.link
	return nil
}

// someone is always the same visitor: what is found out about others is enrich's work.
type someone struct{ visitor enrich.Visitor }

// Visitor implements Visitors.
func (s someone) Visitor(netip.Addr, []byte) enrich.Visitor { return s.visitor }

type nobody struct{}

// Take implements Clicks.
func (nobody) Take(*click.Click) {}

func decideOnce(tb testing.TB, l *link.Link, query string) func() {
	tb.Helper()
	h := New(Config{SharedHost: "go.example"},
		Deps{
			Links:    &one{*l.Served()},
			Visitors: someone{enrich.Visitor{Agent: &enrich.Agent{Browser: "Chrome"}}},
			Clicks:   nobody{},
		})
	agent, asked, host, path := []byte(person), []byte(query), []byte("go.example:8082"), []byte("/Summer")
	return func() {
		v := h.Visit()
		v.Host, v.Path, v.Addr, v.UserAgent, v.Query = host, path, visitor, agent, asked
		if err := h.Decide(tb.Context(), v); err != nil {
			tb.Fatal(err)
		}
		h.Release(v)
	}
}

func TestAPlainRedirectAllocatesNothing(t *testing.T) { //nolint:paralleltest // what others allocate would be counted
	plain := &link.Link{Enabled: true, URL: "https://target.example/path", RedirectStatus: 302, ForwardQuery: true}
	if n := testing.AllocsPerRun(1000, decideOnce(t, plain, "")); n >= 1 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkRedirect(b *testing.B) {
	plain := link.Link{Enabled: true, URL: "https://target.example/path", RedirectStatus: 302, ForwardQuery: true}
	campaign := plain
	campaign.UTM = link.UTM{Source: "newsletter", Medium: "email"}
	split := plain
	split.Secret, split.Variants = []byte("sixteen bytes .."),
		[]link.Variant{{ID: "a", URL: plain.URL, Weight: 1}, {ID: "b", URL: plain.URL, Weight: 1}}
	for name, of := range map[string]struct {
		link  link.Link
		query string
	}{"plain": {plain, ""}, "query": {plain, "a=1&b=2"}, "utm": {campaign, ""}, "variants": {split, ""}} {
		b.Run(name, func(b *testing.B) {
			run := decideOnce(b, &of.link, of.query)
			b.ReportAllocs()
			for b.Loop() {
				run()
			}
		})
	}
}
