package ingest

import (
	"net/netip"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/api/httpkit"
	"github.com/millrace/millrace/internal/contract/apierr"
)

// The steps, those of the package comment, and those that the reference tells of are the
// same ones in the same order.
func TestTheStepsAreThoseOfTheTableOfChecksAndOfThePackageComment(t *testing.T) {
	t.Parallel()
	var taken, table, told []string
	for _, s := range acceptSteps {
		taken = append(taken, s.name)
	}
	for _, c := range httpkit.ChecksOf(httpkit.Intake) {
		if c.Name != "route" && c.Name != "body" { // which are the surface's
			table = append(table, c.Name)
		}
	}
	text, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(?m)^//  \d\. (\w+)[.,]`).FindAllStringSubmatch(string(text), -1) {
		told = append(told, strings.ToLower(m[1]))
	}
	if diff := cmp.Diff(table, taken); diff != "" {
		t.Errorf("steps (-table of checks +acceptSteps):\n%s", diff)
	}
	if diff := cmp.Diff(taken, told); diff != "" {
		t.Errorf("steps (-acceptSteps +package comment):\n%s", diff)
	}
}

// The rules of a website have an order too: its organization, the page, the address, the
// target, and behind them the quota. What is left out in silence comes after all of them.
func TestAClientIsToldOfTheFirstRuleThatItBreaks(t *testing.T) {
	t.Parallel()
	const (
		own, others     = `{"name":"a"}`, `{"name":"a","websiteId":"client-1"}`
		page, evil      = "https://a.example.net", "https://evil.test"
		here, elsewhere = "192.0.2.1", "203.0.113.1"
	)
	for _, tc := range []struct {
		name, site, origin, from, agent, body string
		want                                  apierr.Code
	}{
		{"organization, page", "client-4", evil, here, chrome, own, apierr.WebsiteMissingOrganization},
		{"organization, target", "client-4", "", here, chrome, others, apierr.WebsiteMissingOrganization},
		{"organization, bot", "client-4", "", here, gptBot, own, apierr.WebsiteMissingOrganization},
		{"page, address", "client-r", evil, elsewhere, chrome, own, apierr.OriginNotAuthorized},
		{"page, target", "client-r", evil, here, chrome, others, apierr.OriginNotAuthorized},
		{"page, bot", "client-r", evil, here, gptBot, own, apierr.OriginNotAuthorized},
		{"address, target", "client-r", page, elsewhere, chrome, others, apierr.IPNotAuthorized},
		{"address, bot", "client-r", page, elsewhere, gptBot, own, apierr.IPNotAuthorized},
		{"target, bot", "client-r", page, here, gptBot, others, apierr.AccessDenied},
		{"quota, bot", "client-r", page, here, gptBot, own, apierr.QuotaExceeded},
		{"quota, excluded address", "client-r", page, "192.0.2.66", chrome, own, apierr.QuotaExceeded},
	} {
		w := &world{quota: rejecting{"org_1": apierr.QuotaExceeded}} // which is the last of them, and always broken
		req := request("", tc.site, tc.body)
		req.Origin, req.UserAgent, req.Addr = []byte(tc.origin), []byte(tc.agent), netip.MustParseAddr(tc.from)
		if got, err := w.enriching(t).Accept(t.Context(), req); !apierr.Is(err, tc.want) || got.Silent {
			t.Errorf("%s: %v, want %s", tc.name, err, tc.want)
		}
	}
}
