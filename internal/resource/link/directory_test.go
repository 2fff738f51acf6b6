package link_test

import (
	"testing"

	"github.com/millrace/millrace/internal/resource/link"
)

func TestHostsAreComparedAsBrowsersAskForThem(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"https://a.example":                    "a.example",
		"http://A.Example./x":                  "a.example",
		"HTTPS://a.example:8443?q":             "a.example",
		"https://a.example#x":                  "a.example",
		"https://bücher.example/ü":             "xn--bcher-kva.example",
		"https://b%C3%BCcher.example/":         "xn--bcher-kva.example",
		"https://XN--BCHER-KVA.example":        "xn--bcher-kva.example",
		"https://ａ.example/":                   "a.example",
		"https://a_b.example/":                 "a_b.example",
		"https://192.0.2.1:80/":                "192.0.2.1",
		"https://[2001:DB8::1]:8443/":          "2001:db8::1",
		"https://a.example:80/?next=http://b/": "a.example",
		"https://a.example:bad/":               "",
		"mailto:x@a.example":                   "",
		"ftp://a.example":                      "",
		"a.example":                            "",
		"":                                     "",
	} {
		if got := link.HostOf(address); got != want {
			t.Errorf("HostOf(%q) = %q, want %q", address, got, want)
		}
	}
}

func directory() *link.Index {
	return (&link.Directory{
		Domains:      []link.ServedDomain{{ID: "dom_1", Hostname: "go.acme.example"}},
		BlockedLinks: []string{"sale", "dom_1/Sale"},
		BlockedHosts: []string{"evil.example", "xn--bcher-kva.example", "192.0.2.1"},
	}).Index()
}

func TestALinkIsBlockedByItsKeyAndByEachAddress(t *testing.T) {
	t.Parallel()
	const fine, evil = "https://fine.example/", "https://a.b.evil.example:8443/x?y#z"
	targets := func(l link.Link) *link.Targets { l.URL = fine; return link.NewTargets(&l) }
	for name, tc := range map[string]struct {
		link link.Served
		want bool
	}{
		"fine": {link.Served{
			SlugKey: "other", URL: fine, ExpiredURL: fine, Targets: targets(link.Link{Rules: []link.Rule{{URL: fine}}}),
		}, false},
		"by key":             {link.Served{SlugKey: "sale", URL: fine}, true},
		"by key on a domain": {link.Served{SlugKey: "dom_1/Sale", URL: fine}, true},
		"another case there": {link.Served{SlugKey: "dom_1/sale", URL: fine}, false},
		"another domain":     {link.Served{SlugKey: "dom_2/Sale", URL: fine}, false},
		"by url":             {link.Served{URL: "https://evil.example"}, true},
		"below a host":       {link.Served{URL: evil}, true},
		"above a host":       {link.Served{URL: "https://example/"}, false},
		"a like name":        {link.Served{URL: "https://notevil.example/"}, false},
		"an evil path":       {link.Served{URL: "https://fine.example/evil.example"}, false},
		"in other letters":   {link.Served{URL: "https://Evil.EXAMPLE./"}, true},
		"in Unicode":         {link.Served{URL: "https://www.Bücher.example/"}, true},
		"an address":         {link.Served{URL: "http://192.0.2.1/"}, true},
		"by expiredUrl":      {link.Served{URL: fine, ExpiredURL: evil}, true},
		"by a rule": {
			link.Served{URL: fine, Targets: targets(link.Link{Rules: []link.Rule{{URL: fine}, {URL: evil}}})}, true,
		},
		"by a variant": {
			link.Served{URL: fine, Targets: targets(link.Link{Variants: []link.Variant{{URL: fine}, {URL: evil}}})}, true,
		},
		"not over the network": {link.Served{URL: "mailto:a@evil.example"}, false},
	} {
		if got := directory().Blocked(&tc.link); got != tc.want {
			t.Errorf("%s: %t, want %t", name, got, tc.want)
		}
		if new(link.Index).Blocked(&tc.link) {
			t.Errorf("%s: blocked where nothing is", name)
		}
	}
}

func TestADomainIsFoundByItsHostname(t *testing.T) {
	t.Parallel()
	x := directory()
	if d := x.Domain([]byte("go.acme.example")); d == nil || d.ID != "dom_1" {
		t.Errorf("domain %+v", d)
	}
	if d := x.Domain([]byte("acme.example")); d != nil {
		t.Errorf("domain %+v of the host above", d)
	}
	if x.Domains() != 1 || x.Blocks() != 5 {
		t.Errorf("%d domains, %d blocks", x.Domains(), x.Blocks())
	}
}

func TestLookingForBlocksAllocatesNothing(t *testing.T) { //nolint:paralleltest // what others allocate would be counted
	x := directory()
	l := &link.Served{
		SlugKey:    "other",
		URL:        "https://www.fine.example:8443/a?b",
		ExpiredURL: "https://fine.example",
		Targets: link.NewTargets(&link.Link{
			Rules: []link.Rule{{URL: "https://a.fine.example/"}}, Variants: []link.Variant{{URL: "http://b.fine.example"}},
		}),
	}
	if n := testing.AllocsPerRun(1000, func() {
		if x.Blocked(l) {
			t.Error("it is blocked")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
