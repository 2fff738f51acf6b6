package links_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/adapter/store"
	"github.com/millrace/millrace/internal/adapter/store/storetest"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/platform/control"
	"github.com/millrace/millrace/internal/resource/link"
	"github.com/millrace/millrace/internal/testkit"
)

// announce tells that domains or blocks changed.
func (s *stage) announce(t *testing.T) {
	t.Helper()
	if err := s.db.InTx(t.Context(), func(ctx context.Context, tx *store.Store) error {
		return tx.Announce(ctx,
			control.Change{Kind: control.Link, ID: "dom_1", OrganizationID: s.organizationID, Version: 1, At: time.Now()})
	}); err != nil {
		t.Fatal(err)
	}
}

func TestDomainsAndBlocksAreSeenEverywhereAtOnce(t *testing.T) {
	t.Parallel()
	s := newStage(t, "").relay(t)
	url := string(s.settings.Store.URL)
	s.create(t, link.Fields{Slug: new("open")})
	inner := s.create(t, link.Fields{Slug: new("inner")})
	storetest.MoveLink(t, url, inner.ID, "dom_1", "dom_1/Über/Sale")
	named := func(c *config.Settings) { c.Link.PublicURL = "https://go.example" }
	edges := []string{s.edge(t, named), s.edge(t, named)}
	v := newVisitor(t, "198.51.100.8")
	expect := func(when, host, path string, status int, location string) {
		t.Helper()
		testkit.Eventually(t, atOnce, func() error {
			for i, e := range edges {
				a, err := v.ask(t.Context(), http.MethodGet, e+path, "", "Host", host)
				if err != nil {
					return err
				}
				if a.status != status || a.location != location {
					return fmt.Errorf("%s: edge %d: %s%s: %d to %q, want %d to %q",
						when, i, host, path, a.status, a.location, status, location)
				}
			}
			return nil
		})
	}
	const shared, own = "go.example", "go.acme.example"
	expect("at first", shared, "/open", http.StatusFound, "https://target.example/open")
	expect("at first", own, "/%C3%9Cber/Sale", http.StatusNotFound, "")

	storetest.AddDomain(t, url, "dom_1", s.organizationID, own, "verified")
	s.announce(t)
	expect("proved", own, "/%C3%9Cber/Sale", http.StatusFound, "https://target.example/inner")
	expect("proved", own, "/%C3%BCber/Sale", http.StatusFound, "https://n.example")
	expect("proved", own, "/", http.StatusFound, "https://r.example")
	expect("proved", own, "/open", http.StatusFound, "https://n.example")
	expect("proved", shared, "/open", http.StatusFound, "https://target.example/open")

	storetest.AddBlock(t, url, "link", "dom_1/Über/Sale")
	s.announce(t)
	expect("the link is blocked", own, "/%C3%9Cber/Sale", http.StatusFound, "https://n.example")
	expect("another link", shared, "/open", http.StatusFound, "https://target.example/open")
	storetest.AddBlock(t, url, "host", "target.example")
	s.announce(t)
	expect("its target is blocked", shared, "/open", http.StatusNotFound, "")
	storetest.RemoveBlocks(t, url)
	s.announce(t)
	expect("nothing is blocked", shared, "/open", http.StatusFound, "https://target.example/open")
	expect("nothing is blocked", own, "/%C3%9Cber/Sale", http.StatusFound, "https://target.example/inner")
}
