package links_test

import (
	"net/http"
	"os/exec"
	"testing"

	"github.com/millrace/millrace/internal/resource/link"
	"github.com/millrace/millrace/tests/harness"
)

// runOperator runs a command of millrace links.
func (s *stage) runOperator(t *testing.T, args ...string) {
	t.Helper()
	args = append([]string{"links"},
		append(args, "--store.url="+string(s.settings.Store.URL), "--link.public_url=https://go.example")...)
	if out, err := exec.CommandContext(t.Context(), harness.Binary(t, "millrace"), args...).CombinedOutput(); err != nil {
		t.Fatalf("millrace %q: %v\n%s", args, err, out)
	}
}

// is compares the status of a link.
func (s *stage) is(t *testing.T, slug string, want link.Status) {
	t.Helper()
	l, err := s.links.Get(t.Context(), link.Ref{OrganizationID: s.organizationID, Slug: slug})
	if err != nil || l.Status(s.links.Now()) != want {
		t.Errorf("%s: %+v, %v, want %s", slug, l, err, want)
	}
}

func TestABlockIsSeenEverywhereAtOnce(t *testing.T) {
	t.Parallel()
	s := newStage(t, "").relay(t)
	edges := []string{s.edge(t, nil), s.edge(t, nil)}
	v := newVisitor(t, "198.51.100.7")
	s.create(t, link.Fields{Slug: new("bait"), URL: new("https://www.evil.example/login")})
	s.create(t, link.Fields{Slug: new("good")})
	leads(t, atOnce, v, edges, "bait", "https://www.evil.example/login")
	for _, target := range []string{"https://go.example/BAIT?qr=1", "evil.example"} {
		s.runOperator(t, "block", target, "--reason", "phishing")
		leads(t, atOnce, v, edges, "bait", "")
		s.is(t, "bait", link.Blocked)
		s.is(t, "good", link.Active)
		if a := v.get(t, edges[0]+"/good"); a.status != http.StatusFound {
			t.Errorf("another one, with %s blocked: %d", target, a.status)
		}
		s.runOperator(t, "unblock", target)
		leads(t, atOnce, v, edges, "bait", "https://www.evil.example/login")
		s.is(t, "bait", link.Active)
	}
}
