package link

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/tenant/audit"
	"github.com/millrace/millrace/internal/tenant/managed"
)

var errAway = errors.New("the store is away")

// guarded is a store in which hosts are blocked, and that knows one link.
type guarded struct {
	Store
	FolderStore
	DomainStore

	blocked []string
	away    bool
	asked   int
	link    *Link
}

func (g *guarded) BlockedHosts(_ context.Context, hosts []string) (found []string, err error) {
	g.asked++
	if g.away {
		return nil, errAway
	}
	for _, host := range hosts {
		if slices.Contains(g.blocked, host) {
			found = append(found, host)
		}
	}
	return found, nil
}

// ServingHosts knows none.
func (*guarded) ServingHosts(context.Context, []string) ([]string, error) { return nil, nil }

func (*guarded) CreateLink(context.Context, audit.By, *Link, Caps) error { return nil }

func (g *guarded) LinkByID(context.Context, string) (*Link, error) { return g.link, nil }

func (*guarded) SaveLink(context.Context, audit.By, managed.Action, *Link, *Link, Caps) error {
	return nil
}

// blockedFields lists the fields that an error rejects for a blocked host, and nothing where it
// is nil.
func blockedFields(t *testing.T, err error) (fields []string) {
	t.Helper()
	if err == nil {
		return nil
	}
	f, ok := errors.AsType[*apierr.Error](err)
	if !ok {
		t.Fatal(err)
	}
	for _, d := range f.Details {
		if d.Rule != "blocked_host" {
			t.Errorf("%s: rule %s", d.Field, d.Rule)
		}
		fields = append(fields, d.Field)
	}
	return fields
}

func TestEveryAddressOfALinkIsHeldAgainstWhatIsBlocked(t *testing.T) {
	t.Parallel()
	g := &guarded{blocked: []string{"evil.example", "198.51.100.7"}}
	s := NewService(rules, Deps{Store: g, Folders: g, Domains: g})
	ios := []Condition{{Field: OS, Op: In, Values: []string{"iOS"}}}
	all := Fields{
		URL: new("https://evil.example"), ExpiredURL: new("https://www.Evil.example./x"),
		Rules:    &[]Rule{{URL: "https://good.example", Conditions: ios}, {URL: "http://0xC6336407/", Conditions: ios}},
		Variants: &[]Variant{{URL: "https://a.b.evil.example:8443", Weight: 1}, {URL: "https://notevil.example", Weight: 1}},
		Preview:  &Preview{ImageURL: "https://evil.example/i.png"},
	}
	want := []string{"url", "expiredUrl", "rules[1].url", "variants[0].url", "preview.imageUrl"}
	_, err := s.Create(t.Context(), audit.By{}, "org_1", all)
	if diff := cmp.Diff(want, blockedFields(t, err)); diff != "" || g.asked != 1 {
		t.Errorf("asked %d times, (-want +got):\n%s", g.asked, diff)
	}
	g.blocked = nil
	if _, err := s.Create(t.Context(), audit.By{}, "org_1", all); err != nil {
		t.Errorf("with nothing blocked: %v", err)
	}
}

func TestALinkToABlockedHostCanBeChangedInOtherFields(t *testing.T) {
	t.Parallel()
	g := &guarded{blocked: []string{"evil.example"}, link: &Link{
		Record: managed.New("lnk", "org_1", "", now), URL: "https://evil.example", RedirectStatus: DefaultStatus,
		Blocked: true,
	}}
	s := NewService(rules, Deps{Store: g, Folders: g, Domains: g})
	update := func(f Fields) error {
		_, err := s.Update(t.Context(), audit.By{}, managed.Target{OrganizationID: "org_1", Ref: g.link.ID}, f)
		return err
	}
	if err := update(Fields{Name: new("x")}); err != nil || g.asked != 0 {
		t.Errorf("without an address: %v, asked %d times", err, g.asked)
	}
	if got := blockedFields(t, update(Fields{URL: new("https://evil.example")})); len(got) != 1 {
		t.Errorf("the address that it has: %q", got)
	}
	g.away = true
	if err := update(Fields{URL: new("https://good.example")}); !errors.Is(err, errAway) {
		t.Errorf("while the store is away: %v, want %v", err, errAway)
	}
}

func TestForACallAboutManyLinksTheStoreIsAskedOnce(t *testing.T) {
	t.Parallel()
	g := &guarded{blocked: []string{"evil.example"}}
	s := NewService(rules, Deps{Store: g, Folders: g, Domains: g})
	all := make([]Fields, MaxBulk)
	for i := range all {
		all[i].URL = new(fmt.Sprintf("https://shop%d.example", i))
	}
	all[7].URL = new("https://www.evil.example")
	ahead, err := s.Ahead(t.Context(), all...)
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range all {
		_, err := ahead.Create(t.Context(), audit.By{}, "org_1", f)
		if rejected := len(blockedFields(t, err)) > 0; rejected != (i == 7) {
			t.Errorf("item %d: %v", i, err)
		}
	}
	if g.asked != 1 {
		t.Errorf("asked %d times", g.asked)
	}
	// What was not told ahead is asked for, and what was is not forgotten.
	_, err = ahead.Create(t.Context(), audit.By{}, "org_1",
		Fields{URL: new("https://new.example"), ExpiredURL: all[7].URL})
	if got := blockedFields(t, err); len(got) != 1 || got[0] != "expiredUrl" || g.asked != 2 {
		t.Errorf("%q, asked %d times", got, g.asked)
	}
	g.away = true
	if _, err := s.Ahead(t.Context(), all...); !errors.Is(err, errAway) {
		t.Errorf("while the store is away: %v, want %v", err, errAway)
	}
}

// shelf keeps no blocks, and knows one domain.
type shelf struct{ BlockStore }

func (shelf) BlockLinks(_ context.Context, _ audit.By, b Block) (*Blocking, error) {
	return &Blocking{Block: b, Changed: true}, nil
}

func (shelf) ServingDomain(_ context.Context, hostname string) (*ServedDomain, error) {
	switch hostname {
	case "links.acme.example":
		return &ServedDomain{ID: "dom_1", Hostname: hostname, CaseSensitive: true}, nil
	case "away.example":
		return nil, errAway
	}
	return nil, ErrNotFound
}

func TestATargetIsAShortLinkOrAHost(t *testing.T) {
	t.Parallel()
	b := NewBlocks("http://127.0.0.1:8082", shelf{}, func() time.Time { return now })
	labels := func(n int) string { return strings.Repeat("a.", n-1) + "a" }
	for target, want := range map[string]string{
		"http://127.0.0.1:8082/Sale-26":        "link sale-26",
		"127.0.0.1/sale?qr=1#x":                "link sale",
		"https://links.acme.example/Sale/2026": "link dom_1/Sale/2026",
		"Links.Acme.example/u\u0308ber":        "link dom_1/\u00fcber",
		"links.acme.example/%C3%BCber":         "link dom_1/\u00fcber",
		"dom_9/Sale":                           "link dom_9/Sale",
		"evil.example":                         "host evil.example",
		"https://Evil.example:8443/":           "host evil.example",
		"bücher.example":                       "host xn--bcher-kva.example",
		"198.51.100.7":                         "host 198.51.100.7",
		"2001:DB8::1":                          "host 2001:db8::1",
		"[2001:db8::1]":                        "host 2001:db8::1",
		"http://[2001:db8::1]/":                "host 2001:db8::1",
		labels(MaxBlockLabels):                 "host " + labels(MaxBlockLabels),
		labels(MaxBlockLabels + 1):             "at most 16 are allowed",
		"127.0.0.1":                            "give the address of one of them",
		"http://127.0.0.1:8082/":               "give the address of one of them",
		"links.acme.example":                   "give the address of one of them",
		"https://evil.example/login":           "give it alone: evil.example",
		"sale-26":                              "the host has no dot",
		"localhost":                            "the host has no dot",
		"xn--a.example":                        "IDNA rejects the host",
		"https://a\u0378.evil.example/":        "IDNA rejects the host",
		"":                                     "the address is invalid",
		"/sale":                                "the address is invalid",
		"mailto:ann@evil.example":              "the address is invalid",
		"ftp://evil.example":                   "the address is invalid",
		"https://evil example/":                "the address is invalid",
		"away.example":                         errAway.Error(),
	} {
		got, err := b.Block(t.Context(), audit.By{}, target, "")
		said := fmt.Sprint(err)
		if err == nil {
			said = string(got.Kind) + " " + got.Name
		}
		if err == nil && said != want || !strings.Contains(said, want) {
			t.Errorf("%q: %s, want %q", target, said, want)
		}
	}
}

func TestTheReasonOfABlockIsShort(t *testing.T) {
	t.Parallel()
	b := NewBlocks("", shelf{}, nil)
	for n, ok := range map[int]bool{0: true, 1: true, MaxReasonLen: true, MaxReasonLen + 1: false} {
		if _, err := b.Block(t.Context(), audit.By{}, "evil.example", strings.Repeat("x", n)); (err == nil) != ok {
			t.Errorf("of %d: %v", n, err)
		}
	}
}
