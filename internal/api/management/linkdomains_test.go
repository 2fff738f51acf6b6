package management_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/resource/link"
)

// resolver is DNS in which the records of all domains are right, but for those with a
// problem.
type resolver struct {
	mu       sync.Mutex
	problems map[string]string // by hostname
	asked    int
}

// CheckDomain implements link.DomainChecker.
func (r *resolver) CheckDomain(_ context.Context, d *link.Domain) link.Proof {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked++
	problem := r.problems[d.Name]
	return link.Proof{Problem: problem, PointsHere: problem == "", Reached: true}
}

func (r *resolver) set(hostname, problem string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.problems == nil {
		r.problems = map[string]string{}
	}
	r.problems[hostname] = problem
}

type domainData struct {
	ID, Hostname, Status                        string
	Version                                     int64
	CaseSensitive, PointsHere                   bool
	RootURL, NotFoundURL, ExpiredURL, Problem   *string
	CheckedAt, VerifiedAt, CreatedAt, UpdatedAt *string
	Verification                                struct{ Type, Name, Value string }
}

// verified makes a domain that is verified.
func (d *fixture) verified(hostname, more string) domainData {
	d.t.Helper()
	made := do[domainData](d, "editor", "linkDomains/create", fmt.Sprintf(`{"hostname":%q%s}`, hostname, more))
	return do[domainData](d, "editor", "linkDomains/verify", fmt.Sprintf(`{"id":%q}`, made.ID))
}

func TestADomainIsMadeProvedChangedAndDeleted(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	d.dns.set("links.own.example", "not there")
	r := d.call("editor", "linkDomains/create", `{"hostname":"Links.own.example","rootUrl":"https://own.example/"}`)
	if r.Status != http.StatusCreated {
		t.Fatalf("status %d: %s", r.Status, r.Text)
	}
	made := do[[]domainData](d, "viewer", "linkDomains/list", `{}`)[0]
	byID := fmt.Sprintf(`{"id":%q}`, made.ID)
	want := domainData{
		ID: made.ID, Hostname: "links.own.example", Status: "pending", Version: 1, RootURL: new("https://own.example/"),
		CreatedAt: made.CreatedAt, UpdatedAt: made.CreatedAt,
	}
	want.Verification.Type, want.Verification.Name = "TXT", "_millrace.links.own.example"
	want.Verification.Value = made.Verification.Value
	if diff := cmp.Diff(want, made); diff != "" || !strings.HasPrefix(made.Verification.Value, "millrace-verification=") ||
		!strings.HasPrefix(made.ID, "dom_") {
		t.Errorf("a new one (-want +got):\n%s", diff)
	}
	bad := do[domainData](d, "editor", "linkDomains/verify", byID)
	if bad.Status != "pending" || bad.Problem == nil || *bad.Problem != "not there" || bad.CheckedAt == nil ||
		bad.VerifiedAt != nil {
		t.Errorf("without its record: %+v", bad)
	}
	d.dns.set("links.own.example", "")
	good := do[domainData](d, "editor", "linkDomains/verify", byID)
	if good.Status != "verified" || good.Problem != nil || !good.PointsHere || good.VerifiedAt == nil {
		t.Errorf("with its record: %+v", good)
	}
	changed := do[domainData](d, "editor", "linkDomains/update",
		fmt.Sprintf(`{"id":%q,"rootUrl":null,"notFoundUrl":"https://own.example/404"}`, made.ID))
	if changed.RootURL != nil || *changed.NotFoundURL != "https://own.example/404" || changed.Version != good.Version+1 {
		t.Errorf("changed: %+v", changed)
	}
	if diff := cmp.Diff(changed, do[domainData](d, "viewer", "linkDomains/get", byID)); diff != "" {
		t.Errorf("read back (-want +got):\n%s", diff)
	}
	d.rejected("editor", "linkDomains/update",
		fmt.Sprintf(`{"id":%q,"version":1,"rootUrl":null}`, made.ID), 409, apierr.Conflict)
	d.rejected("editor", "linkDomains/verify", fmt.Sprintf(`{"id":%q,"version":1}`, made.ID), 409, apierr.Conflict)
	do[struct{ ID string }](d, "editor", "linkDomains/delete", byID)
	d.rejected("editor", "linkDomains/get", byID, 404, apierr.NotFound)
}

func TestADomainAgainstTheRulesIsRejectedWithItsField(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	made := d.verified("taken.example.com", "")
	for body, want := range map[string]string{
		`{}`:                                               "hostname",
		`{"hostname":"go.example.com"}`:                    "hostname",
		`{"hostname":"api.example.com"}`:                   "hostname",
		`{"hostname":"192.0.2.1"}`:                         "hostname",
		`{"hostname":"*.example.com"}`:                     "hostname",
		`{"hostname":"localhost"}`:                         "hostname",
		`{"hostname":"` + strings.Repeat("x.", 127) + `"}`: "hostname",
		`{"hostname":"x.example.com","rootUrl":"javascript:alert(1)"}`:                  "rootUrl",
		`{"hostname":"x.example.com","notFoundUrl":"https://x.example.com/404"}`:        "notFoundUrl",
		`{"hostname":"x.example.com","expiredUrl":"https://taken.example.com/expired"}`: "expiredUrl",
		`{"hostname":"x.example.com","expiredUrl":""}`:                                  "expiredUrl",
		`{"hostname":"x.example.com","status":"verified"}`:                              "status",
	} {
		r := d.rejected("editor", "linkDomains/create", body, 400, apierr.Validation)
		if len(r.Details) == 0 || r.Details[0].Field != want {
			t.Errorf("%.80s: %s, want a detail of %s", body, r.Text, want)
		}
	}
	r := d.rejected("editor", "linkDomains/update", fmt.Sprintf(`{"id":%q,"caseSensitive":true}`, made.ID),
		400, apierr.Validation)
	if len(r.Details) == 0 || r.Details[0].Field != "caseSensitive" {
		t.Errorf("caseSensitive in a change: %s", r.Text)
	}
	d.rejected("editor", "linkDomains/create", `{"hostname":"TAKEN.example.com"}`, 409, apierr.Conflict)
	claim := do[domainData](d, "stranger", "linkDomains/create", `{"hostname":"taken.example.com"}`)
	if r := d.rejected("stranger", "linkDomains/verify", fmt.Sprintf(`{"id":%q}`, claim.ID),
		409, apierr.Conflict); r.Error != "Another organization has verified this hostname" {
		t.Errorf("another organization's: %s", r.Text)
	}
}

func TestWhoMayReachDomains(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	made := d.verified("own.example.com", "")
	byID := fmt.Sprintf(`{"id":%q}`, made.ID)
	site := do[struct{ ID string }](d, "owner", "websites/create", `{"name":"Shop","domain":"shop.example.com"}`).ID
	ofSite := d.key(site, "read:links", "write:links")
	for _, operation := range []string{"get", "verify", "update", "delete"} {
		d.rejected("stranger", "linkDomains/"+operation, byID, 404, apierr.NotFound)
		d.rejected(ofSite, "linkDomains/"+operation, byID, 403, apierr.AccessDenied)
	}
	for _, operation := range []string{"verify", "update", "delete"} {
		d.rejected("viewer", "linkDomains/"+operation, byID, 403, apierr.Forbidden)
		d.rejected(d.key("", "read:links"), "linkDomains/"+operation, byID, 403, apierr.Forbidden)
	}
	d.rejected(d.key("", "write:links"), "linkDomains/list", `{}`, 403, apierr.Forbidden)
	d.rejected("", "linkDomains/list", `{}`, 401, apierr.AuthRequired)
	if all := do[[]domainData](d, d.key("", "read:links"), "linkDomains/list", `{}`); len(all) != 1 {
		t.Errorf("a key reads %+v", all)
	}
	if d.dns.asked != 1 {
		t.Errorf("DNS was asked %d times", d.dns.asked)
	}
}

func TestALinkIsOnAnOwnDomain(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	domain := d.verified("own.example.com", `,"caseSensitive":true`)
	r := d.call("editor", "links/create", `{"url":"https://example.com","domain":"Own.Example.com","slug":"Gr\u00fcn/a"}`)
	if !r.Success || !strings.Contains(r.Text, `"shortUrl":"https://own.example.com/Gr%C3%BCn/a"`) ||
		!strings.Contains(r.Text, `"domain":"own.example.com"`) {
		t.Fatalf("made: %s", r.Text)
	}
	made := do[linkData](d, "viewer", "links/get", `{"domain":"own.example.com","slug":"Gr\u00fcn/a"}`)
	d.rejected("viewer", "links/get", `{"domain":"own.example.com","slug":"gr\u00fcn/a"}`, 404, apierr.NotFound)
	d.rejected("viewer", "links/get", `{"slug":"Gr\u00fcn/a"}`, 404, apierr.NotFound)
	d.rejected("viewer", "links/get", fmt.Sprintf(`{"domain":"own.example.com","id":%q}`, made.ID), 400, apierr.Validation)
	do[linkData](d, "editor", "links/create", `{"url":"https://example.com","slug":"shared"}`)
	for filter, want := range map[string]int{
		`{"domain":"own.example.com"}`: 1, `{"domain":null}`: 1, `{"domain":""}`: 1, `{}`: 2,
	} {
		if got := do[[]linkData](d, "viewer", "links/list", filter); len(got) != want {
			t.Errorf("%s: %d links, want %d", filter, len(got), want)
		}
	}
	for body, want := range map[string]string{
		`{"domain":"own.example.com","slug":"Gr\u00fcn/a"}`: `"reason":"taken"`,
		`{"domain":"own.example.com","slug":"gr\u00fcn/a"}`: `"available":true`,
		`{"domain":"own.example.com","slug":"robots.txt"}`:  `"reason":"reserved"`,
		`{"domain":"own.example.com","slug":"a b"}`:         `"reason":"invalid_slug"`,
		`{"domain":"own.example.com","slug":"a"}`:           `"available":true`, `{"slug":"a"}`: `"reason":"invalid_slug"`,
	} {
		if r := d.call("viewer", "links/checkSlug", body); !strings.Contains(r.Text, want) {
			t.Errorf("checkSlug %s: %s, want %s", body, r.Text, want)
		}
	}
	for _, operation := range []string{"links/checkSlug", "links/create", "links/list"} {
		body := map[string]string{
			"links/checkSlug": `{"domain":"none.example.com","slug":"a"}`,
			"links/create":    `{"url":"https://example.com","domain":"none.example.com"}`,
			"links/list":      `{"domain":"none.example.com"}`,
		}[operation]
		if r := d.rejected("editor", operation, body, 400, apierr.Validation); r.Details[0].Field != "domain" {
			t.Errorf("%s: %s", operation, r.Text)
		}
	}
	if r := d.rejected("editor", "linkDomains/delete", fmt.Sprintf(`{"id":%q}`, domain.ID),
		409, apierr.Conflict); !strings.Contains(r.Error, "has links (1);") {
		t.Errorf("with a link: %s", r.Text)
	}
	upserted := do[linkData](d, "editor", "links/upsert",
		`{"externalId":"x","url":"https://example.com","domain":"own.example.com","slug":"x"}`)
	moved := d.call("editor", "links/bulkUpdate",
		fmt.Sprintf(`{"items":[{"id":%q,"domain":null,"slug":"moved"},{"id":%q,"domain":null}]}`, upserted.ID, made.ID))
	if !strings.Contains(moved.Text, `"shortUrl":"https://go.example.com/moved"`) ||
		!strings.Contains(moved.Text, `"rule":"invalid_slug"`) {
		t.Errorf("moved: %s", moved.Text)
	}
}
