package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/resource/link"
	"github.com/millrace/millrace/internal/tenant/audit"
	"github.com/millrace/millrace/internal/tenant/org"
)

func TestShortLinksAndHostsAreBlockedUntilTheyAreNot(t *testing.T) {
	t.Parallel()
	url, db, w := seeded(t)
	links := link.NewService(link.Rules{Schemes: []string{"https"}, MaxLinks: 10},
		link.Deps{Store: db, Folders: db, Domains: db, Passwords: org.NewPasswords()})
	for slug, to := range map[string]string{
		"Sale-26": "https://good.example", "win": "https://www.evil.example/x", "lose": "https://evil.example",
	} {
		if _, err := links.Create(t.Context(), audit.BySystem(), w.OrganizationID,
			link.Fields{Slug: &slug, URL: &to}); err != nil {
			t.Fatal(err)
		}
	}
	blocked := func() (slugs []string) {
		t.Helper()
		all, err := links.List(t.Context(), link.Filter{OrganizationID: w.OrganizationID, Status: link.Blocked})
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range all {
			slugs = append(slugs, l.Slug)
		}
		return slugs
	}
	const public = "--link.public_url=https://go.example"
	millraceSays := func(want string, args ...string) {
		t.Helper()
		out := mustMillrace(t, append([]string{"links"}, append(args, url, public)...)...)
		wantMatch(t, strings.Join(args, " "), out, want)
	}
	millraceSays(`^blocked short link https://go\.example/sale-26\n$`, "block", "https://go.example/SALE-26?qr=1",
		"--reason", "phishing")
	millraceSays(`^already blocked since 20\S+: short link https://go\.example/sale-26\n$`, "block",
		"go.example/sale-26", "--reason", "spam")
	millraceSays(`^blocked host evil\.example and its subdomains \(short links that lead there: 2\)\n$`,
		"block", "Evil.example")
	if got := blocked(); len(got) != 3 {
		t.Errorf("blocked are %q", got)
	}
	millraceSays(`^KIND +TARGET +SINCE +BY +REASON\nlink +https://go\.example/sale-26 +20\S+ +\S+ +phishing\nhost +evil\.example +20\S+ +\S+ *\n$`, "blocks")
	millraceSays(`^\{"kind":"link","name":"sale-26","address":"https://go\.example/sale-26","reason":"phishing",.*\}\n\{"kind":"host","name":"evil\.example","reason":"",.*\}\n$`, "blocks", "--json")

	entries, err := db.AuditEntries(t.Context(), audit.Filter{OrganizationID: w.OrganizationID, Action: "link.blocked"})
	if err != nil || len(entries) != 1 || entries[0].By.Actor != operator().Actor {
		t.Errorf("entries %+v, %v", entries, err)
	}
	got := printed(t, "links", "unblock", url, public, "evil.example")
	if diff := cmp.Diff(map[string]any{"blocked": false, "changed": true, "links": 2.0, "name": "evil.example"},
		map[string]any{
			"blocked": got["blocked"], "changed": got["changed"], "links": got["links"], "name": got["name"],
		}); diff != "" {
		t.Errorf("it printed (-want +got):\n%s", diff)
	}
	millraceSays(`^was not blocked: evil\.example\n$`, "unblock", "evil.example")
	millraceSays(`^unblocked https://go\.example/sale-26\n$`, "unblock", "https://go.example/sale-26")
	if got := blocked(); len(got) != 0 {
		t.Errorf("blocked are %q", got)
	}
}

func TestWhatIsNeitherAShortLinkNorAHostIsNotBlocked(t *testing.T) {
	t.Parallel()
	url, _, _ := seeded(t)
	for target, want := range map[string]string{
		"https://go.example/none":    "short link not found",
		"https://evil.example/login": "give it alone: evil.example",
		"https://go.example":         "give the address of one of them",
		"sale-26":                    "such as https://go.example/sale-26",
	} {
		_, _, err := millrace(t, "links", "block", url, "--link.public_url=https://go.example", target)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want it to say %q", target, err, want)
		}
	}
	// Without a setting they are where a standalone has them.
	if _, _, err := millrace(t, "links", "block", url, "http://127.0.0.1:8082/none"); err == nil ||
		!strings.Contains(err.Error(), "short link not found") {
		t.Errorf("of a standalone: %v", err)
	}
}
