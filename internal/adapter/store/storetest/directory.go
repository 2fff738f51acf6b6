package storetest

import (
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/resource/link"
)

// AddDomain adds a domain that keeps the case of its slugs, past the store and its journal.
// It needs an organization, and texts without quotes.
func AddDomain(tb testing.TB, url, id, organizationID, hostname, status string) {
	tb.Helper()
	exec(tb, url, "INSERT INTO link_domains (id, organization_id, version, hostname, status, token, root_url, "+
		"not_found_url, expired_url, case_sensitive, "+
		"problem, points_here, bad_days, created_at, updated_at, created_by) VALUES ('"+id+"', '"+organizationID+
		"', 1, '"+hostname+"', '"+
		status+"', 't', 'https://r.example', 'https://n.example', 'https://e.example', TRUE, '', FALSE, 0, 0, 0, '')")
}

// AddBlock adds a block of a kind, link or host, likewise.
func AddBlock(tb testing.TB, url, kind, name string) {
	tb.Helper()
	exec(tb, url,
		"INSERT INTO link_blocks (kind, name, reason, created_at, created_by) VALUES ('"+kind+"', '"+name+"', '', 0, '')")
}

// RemoveBlocks removes all blocks likewise.
func RemoveBlocks(tb testing.TB, url string) {
	tb.Helper()
	exec(tb, url, "DELETE FROM link_blocks")
}

// MoveLink moves a link to a domain likewise.
func MoveLink(tb testing.TB, url, id, domainID, key string) {
	tb.Helper()
	exec(tb, url, "UPDATE links SET domain_id = '"+domainID+"', slug_key = '"+key+"' WHERE id = '"+id+"'")
}

func exec(tb testing.TB, url, statement string) {
	tb.Helper()
	db := open(tb, url)
	defer db.Close()
	if _, err := db.ExecContext(tb.Context(), statement); err != nil {
		tb.Fatal(err)
	}
}

func (f *Fixture) domain(id, organizationID, hostname, status string) {
	f.tb.Helper()
	AddDomain(f.tb, f.URL, id, organizationID, hostname, status)
}

func (f *Fixture) block(kind, name string) {
	f.tb.Helper()
	f.Store()
	AddBlock(f.tb, f.URL, kind, name)
}

// expectDirectory compares what hosts know besides links.
func (f *Fixture) expectDirectory(when string, want *link.Directory) {
	f.tb.Helper()
	got, err := f.Store().LinkDirectory(f.tb.Context())
	if diff := gocmp.Diff(want, got); diff != "" || err != nil {
		f.tb.Errorf("%s: LinkDirectory() = %v (-want +got):\n%s", when, err, diff)
	}
}

var directoryTests = map[string]func(*testing.T, *Fixture){
	"a directory has the domains that were proved, of organizations that live": func(t *testing.T, f *Fixture) {
		f.expectDirectory("at first", &link.Directory{})
		o, other := f.Organization(), f.Organization()
		f.domain("dom_a", o.ID, "a.example", "verified")
		f.domain("dom_b", o.ID, "b.example", "pending")
		f.domain("dom_c", other.ID, "c.example", "failing")
		f.domain("dom_d", other.ID, "a.example", "pending")
		served := func(id, organizationID, hostname string) link.ServedDomain {
			return link.ServedDomain{
				ID: id, OrganizationID: organizationID, Hostname: hostname,
				RootURL: "https://r.example", NotFoundURL: "https://n.example", ExpiredURL: "https://e.example",
				CaseSensitive: true,
			}
		}
		both := &link.Directory{
			Domains: []link.ServedDomain{served("dom_a", o.ID, "a.example"), served("dom_c", other.ID, "c.example")},
		}
		f.expectDirectory("with domains", both)
		f.delete(o.ID, Start)
		f.expectDirectory("an organization is deleted", &link.Directory{Domains: both.Domains[1:]})
		if _, err := f.Store().RestoreOrganization(t.Context(), somebody, o.ID, "", Start); err != nil {
			t.Fatal(err)
		}
		f.expectDirectory("and restored", both)
		if err := f.Store().PurgeOrganization(t.Context(), somebody, other.ID, Start); err != nil {
			t.Fatal(err)
		}
		f.expectDirectory("the other one is removed", &link.Directory{Domains: both.Domains[:1]})
	},
	"a directory has all blocks": func(_ *testing.T, f *Fixture) {
		f.block("link", "sale")
		f.block("host", "evil.example")
		f.block("link", "dom_a/Sale")
		f.block("host", "sale")
		f.expectDirectory("with blocks", &link.Directory{
			BlockedLinks: []string{"dom_a/Sale", "sale"}, BlockedHosts: []string{"evil.example", "sale"},
		})
	},
}
