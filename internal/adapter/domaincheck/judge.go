package domaincheck

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/miekg/dns"

	"github.com/millrace/millrace/internal/resource/link"
)

// shownLen is how much of a record that is not the right one is shown, in bytes: enough to
// know it by.
const shownLen = 40

// problem says what is wrong with the record of a domain; empty when nothing is.
func (c *Checker) problem(d *link.Domain, a *answer) string {
	name := d.RecordName()
	switch {
	case a.err != nil:
		return c.silence(name, a.err)
	case a.rcode == dns.RcodeNameError:
		return fmt.Sprintf("DNS has no name %s (NXDOMAIN).", name)
	case a.rcode == dns.RcodeServerFailure:
		return name + " cannot be looked up (SERVFAIL): the name servers of the domain fail, or its DNSSEC is wrong."
	case a.rcode != dns.RcodeSuccess:
		return fmt.Sprintf("%s cannot be looked up: the resolver answers %s.", name, dns.RcodeToString[a.rcode])
	}
	return wrongText(d, texts(a.records))
}

func (c *Checker) silence(name string, err error) string {
	var timeout net.Error
	if errors.Is(err, context.DeadlineExceeded) || errors.As(err, &timeout) && timeout.Timeout() {
		return fmt.Sprintf("%s was not answered for within %s.", name, c.cfg.Timeout)
	}
	return name + " cannot be looked up: the resolver cannot be reached."
}

// texts are the values of TXT records, whichever name they were found under: the resolver
// has followed CNAME records. One value may be sent in several strings.
func texts(records []dns.RR) (values []string) {
	for _, r := range records {
		if txt, ok := r.(*dns.TXT); ok {
			values = append(values, strings.TrimSpace(strings.Join(txt.Txt, "")))
		}
	}
	return values
}

// wrongText says what is wrong with the values that a domain's record has.
func wrongText(d *link.Domain, values []string) string {
	switch {
	case slices.Contains(values, d.RecordValue()):
		return ""
	case len(values) == 0:
		return d.RecordName() + " has no TXT record."
	}
	found := values[0]
	for _, v := range values {
		if strings.HasPrefix(v, link.RecordPrefix) {
			found = v
			break
		}
	}
	if len(found) > shownLen {
		found = strings.ToValidUTF8(found[:shownLen], "") + "…"
	}
	return fmt.Sprintf("%s has a TXT record, but not this value: it has %q.", d.RecordName(), found)
}

// pointsHere reports whether a host leads to the shared one: by a CNAME record, or by an
// address that both have.
func pointsHere(shared string, own, others []answer) bool {
	if shared == "" {
		return false
	}
	there := addresses(others)
	if a, err := netip.ParseAddr(strings.Trim(shared, "[]")); err == nil {
		there = append(there, a.Unmap())
	}
	for _, a := range addresses(own) {
		if slices.Contains(there, a) {
			return true
		}
	}
	for i := range own {
		for _, r := range own[i].records {
			if alias, ok := r.(*dns.CNAME); ok && strings.EqualFold(strings.TrimSuffix(alias.Target, "."), shared) {
				return true
			}
		}
	}
	return false
}

func addresses(answers []answer) (all []netip.Addr) {
	for i := range answers {
		for _, r := range answers[i].records {
			var ip net.IP
			switch r := r.(type) {
			case *dns.A:
				ip = r.A
			case *dns.AAAA:
				ip = r.AAAA
			}
			if a, ok := netip.AddrFromSlice(ip); ok {
				all = append(all, a.Unmap())
			}
		}
	}
	return all
}

func isAddress(host string) bool {
	_, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil
}
