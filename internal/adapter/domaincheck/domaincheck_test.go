package domaincheck

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/miekg/dns"

	"github.com/millrace/millrace/internal/resource/link"
	"github.com/millrace/millrace/internal/tenant/managed"
	"github.com/millrace/millrace/internal/testkit"
	"github.com/millrace/millrace/internal/testkit/nameserver"
)

const (
	shared = "links.example"
	record = "_millrace.go.example.com"
	right  = "millrace-verification=TOKEN"
)

// ours is a domain whose record is right.
var ours = link.Domain{Record: managed.Record{Name: "go.example.com"}, Token: "TOKEN"}

// check is what a Checker says; the server is silent for long enough where it is.
func check(t *testing.T, s *nameserver.Server, timeout time.Duration) link.Proof {
	t.Helper()
	return New(Config{Resolver: s.Addr, SharedHost: shared, Timeout: timeout}).CheckDomain(t.Context(), &ours)
}

func TestWhatARecordSaysProvesADomainOrNamesTheProblem(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 100)
	for name, tc := range map[string]struct {
		records []string
		rcode   int
		problem string
	}{
		"the value":             {records: []string{`TXT "` + right + `"`}},
		"in several strings":    {records: []string{`TXT "millrace-" "verification=" "TOKEN"`}},
		"with spaces around it": {records: []string{`TXT " ` + right + ` "`}},
		"among others": {
			records: []string{`TXT "v=spf1 -all"`, `TXT "millrace-verification=OLD"`, `TXT "` + right + `"`},
		},
		"no such name":   {problem: "DNS has no name " + record + " (NXDOMAIN)."},
		"no such record": {records: []string{"A 192.0.2.1"}, problem: record + " has no TXT record."},
		"another value": {
			records: []string{`TXT "v=spf1 -all"`, `TXT "millrace-verification=OLD"`},
			problem: record + ` has a TXT record, but not this value: it has "millrace-verification=OLD".`,
		},
		"another case": {
			records: []string{`TXT "millrace-verification=token"`},
			problem: record + ` has a TXT record, but not this value: it has "millrace-verification=token".`,
		},
		"a long value": {
			records: []string{`TXT "` + long + `"`},
			problem: record + ` has a TXT record, but not this value: it has "` + long[:40] + `…".`,
		},
		"SERVFAIL": {
			rcode:   dns.RcodeServerFailure,
			problem: record + " cannot be looked up (SERVFAIL): the name servers of the domain fail, or its DNSSEC is wrong.",
		},
		"a refusal":   {rcode: dns.RcodeRefused, problem: record + " cannot be looked up: the resolver answers REFUSED."},
		"by an alias": {records: []string{"CNAME proof.example.net."}},
		"a wrong alias": {
			records: []string{"CNAME none.example.net."}, problem: "DNS has no name " + record + " (NXDOMAIN).",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := nameserver.Start(t)
			s.Set(t, "proof.example.net", `TXT "`+right+`"`)
			s.Set(t, record, tc.records...)
			s.Fail(record, tc.rcode)
			want := link.Proof{Problem: tc.problem, Reached: true}
			if diff := cmp.Diff(want, check(t, s, time.Minute)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if n := s.Asked(record, "udp") + s.Asked(record, "tcp"); n != 1 {
				t.Errorf("%d questions about the record", n)
			}
		})
	}
}

func TestAResponseThatDoesNotFitADatagramIsAskedForByTCP(t *testing.T) {
	t.Parallel()
	s := nameserver.Start(t)
	var records []string
	for i := range 20 {
		records = append(records, fmt.Sprintf("TXT %q", fmt.Sprint(i, strings.Repeat("x", 200))))
	}
	s.Set(t, record, append(records, `TXT "`+right+`"`)...)
	if got := check(t, s, time.Minute); got.Problem != "" {
		t.Errorf("%+v", got)
	}
	if udp, tcp := s.Asked(record, "udp"), s.Asked(record, "tcp"); udp != 1 || tcp != 1 {
		t.Errorf("asked %d times by UDP and %d by TCP", udp, tcp)
	}
}

func TestAResolverThatIsSilentOrAwayIsNoFaultOfTheDomain(t *testing.T) {
	t.Parallel()
	s := nameserver.Start(t)
	s.Silence(true)
	// Long enough for both rounds on a machine that stands still for a second.
	want := link.Proof{Problem: record + " was not answered for within 4s."}
	began := time.Now()
	if diff := cmp.Diff(want, check(t, s, 4*time.Second)); diff != "" {
		t.Errorf("a silent one (-want +got):\n%s", diff)
	}
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("it took %s", took)
	}
	testkit.Eventually(t, time.Minute, func() error { // the last datagram may be on its way
		if n := s.Asked(record, "udp"); n != rounds {
			return fmt.Errorf("asked %d times, want %d: a datagram may be lost", n, rounds)
		}
		return nil
	})
	var config net.ListenConfig
	free, err := config.ListenPacket(t.Context(), "udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	free.Close()
	got := New(Config{Resolver: free.LocalAddr().String(), Timeout: time.Minute}).CheckDomain(t.Context(), &ours)
	if diff := cmp.Diff(
		link.Proof{Problem: record + " cannot be looked up: the resolver cannot be reached."}, got); diff != "" {
		t.Errorf("one that is away (-want +got):\n%s", diff)
	}
}

func TestTheNextResolverIsAskedWhereOneIsSilent(t *testing.T) {
	t.Parallel()
	dead, s := nameserver.Start(t), nameserver.Start(t)
	dead.Silence(true)
	s.Set(t, record, `TXT "`+right+`"`)
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
	defer cancel()
	got := ask(ctx, []string{dead.Addr, s.Addr}, question{record, dns.TypeTXT})
	if values := texts(got.records); got.err != nil || len(values) != 1 || values[0] != right {
		t.Errorf("%+v", got)
	}
}

func TestAHostPointsHereByANameOrAnAddress(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		shared string
		own    []string
		want   bool
	}{
		"an alias of it":               {shared, []string{"CNAME links.example."}, true},
		"an alias in capitals":         {shared, []string{"CNAME LINKS.Example."}, true},
		"an alias of an alias":         {shared, []string{"CNAME edge.example.net."}, true},
		"an address of it":             {shared, []string{"A 192.0.2.9", "A 192.0.2.1"}, true},
		"an address of IPv6":           {shared, []string{"AAAA 2001:db8::1"}, true},
		"another address":              {shared, []string{"A 192.0.2.9"}, false},
		"another name":                 {shared, []string{"CNAME elsewhere.example."}, false},
		"nothing":                      {shared, nil, false},
		"the address that the host is": {"192.0.2.9", []string{"A 192.0.2.9"}, true},
		"an IPv6 address":              {"2001:db8::9", []string{"AAAA 2001:db8::9"}, true},
		"no shared host":               {"", []string{"A 192.0.2.1"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := nameserver.Start(t)
			s.Set(t, shared, "A 192.0.2.1", "AAAA 2001:db8::1")
			s.Set(t, "edge.example.net", "CNAME links.example.")
			s.Set(t, "elsewhere.example", "A 192.0.2.77")
			s.Set(t, ours.Name, tc.own...)
			got := New(Config{Resolver: s.Addr, SharedHost: tc.shared, Timeout: time.Minute}).CheckDomain(t.Context(), &ours)
			if got.PointsHere != tc.want {
				t.Errorf("%+v, want %v", got, tc.want)
			}
		})
	}
}

func TestTheSystemsResolversAreAsked(t *testing.T) {
	t.Parallel()
	servers, err := New(Config{}).servers()
	if err == nil && len(servers) == 0 {
		t.Error("none, and no reason")
	}
	for _, s := range servers {
		if _, port, err := net.SplitHostPort(s); err != nil || port == "" {
			t.Errorf("%q: %v", s, err)
		}
	}
}
