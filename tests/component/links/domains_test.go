package links_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/millrace/millrace/internal/adapter/domaincheck"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/resource/link"
	"github.com/millrace/millrace/internal/tenant/audit"
	"github.com/millrace/millrace/internal/tenant/managed"
	"github.com/millrace/millrace/internal/testkit"
	"github.com/millrace/millrace/internal/testkit/nameserver"
)

func TestADomainThatDNSProvesServesAtOnce(t *testing.T) {
	t.Parallel()
	s := newStage(t, "").relay(t)
	resolver := nameserver.Start(t)
	ctx, by := t.Context(), audit.BySystem()
	links := link.NewService(
		link.Rules{Schemes: []string{"https"}, PublicURL: "https://go.example", MaxLinks: 100},
		link.Deps{
			Store: s.db, Folders: s.db, Domains: s.db, Attempts: s.db,
			DNS: domaincheck.New(domaincheck.Config{Resolver: resolver.Addr, SharedHost: "go.example"}),
		},
	)
	named := func(c *config.Settings) { c.Link.PublicURL = "https://go.example" }
	edges := []string{s.edge(t, named), s.edge(t, named)}
	v := newVisitor(t, "198.51.100.9")
	const own = "go.acme.example"
	expect := func(when, path string, status int, location string) {
		t.Helper()
		testkit.Eventually(t, atOnce, func() error {
			for i, e := range edges {
				a, err := v.ask(ctx, http.MethodGet, e+path, "", "Host", own)
				if err != nil {
					return err
				}
				if a.status != status || a.location != location {
					return fmt.Errorf("%s: edge %d: %s: %d to %q, want %d to %q",
						when, i, path, a.status, a.location, status, location)
				}
			}
			return nil
		})
	}
	d, err := links.CreateDomain(ctx, by, s.organizationID, own, true,
		link.DomainFields{RootURL: new("https://acme.example/")})
	if err != nil {
		t.Fatal(err)
	}
	domain := managed.Target{OrganizationID: s.organizationID, Ref: d.ID}
	verify := func() *link.Domain {
		t.Helper()
		d, err := links.VerifyDomain(ctx, by, domain)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	if got := verify(); got.Status != link.DomainPending || got.Problem == "" {
		t.Errorf("without a record: %+v", got)
	}
	expect("pending", "/", http.StatusNotFound, "")
	resolver.Set(t, "go.example", "A 192.0.2.1")
	resolver.Set(t, own, "CNAME go.example.")
	resolver.Set(t, d.RecordName(), fmt.Sprintf("TXT %q", d.RecordValue()))
	if got := verify(); got.Status != link.DomainVerified || !got.PointsHere || got.Problem != "" {
		t.Errorf("with a record: %+v", got)
	}
	expect("verified", "/", http.StatusFound, "https://acme.example/")
	l, err := links.Create(ctx, by, s.organizationID,
		link.Fields{URL: new("https://acme.example/sale"), Domain: new(own), Slug: new("Sale/Grün")})
	if err != nil {
		t.Fatal(err)
	}
	expect("with a link", "/Sale/Gr%C3%BCn", http.StatusFound, "https://acme.example/sale")
	expect("in another case", "/sale/Gr%C3%BCn", http.StatusNotFound, "")
	if _, err := links.UpdateDomain(ctx, by, domain,
		link.DomainFields{NotFoundURL: new("https://acme.example/404")}); err != nil {
		t.Fatal(err)
	}
	expect("changed", "/none", http.StatusFound, "https://acme.example/404")
	toLink := managed.Target{OrganizationID: s.organizationID, Ref: l.ID}
	if _, err := links.Update(ctx, by, toLink, link.Fields{Domain: new("")}); err == nil {
		t.Error("a slug of two parts is moved to the shared host")
	}
	if _, err := links.Delete(ctx, by, toLink); err != nil {
		t.Fatal(err)
	}
	if _, err := links.DeleteDomain(ctx, by, domain); err != nil {
		t.Fatal(err)
	}
	expect("deleted", "/", http.StatusNotFound, "")
}
