// Package cidr reads the addresses and ranges that people put into lists of who
// may call.
//
// It promises one written form for what means the same, and that an IPv4 address
// is the same whether it is written as IPv4 or inside IPv6, in a list as in a
// caller's address. It rejects names, zones and ranges that cross the two
// families.
package cidr

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// MaxLen is the longest text that is looked at, in bytes.
const MaxLen = 64

var errMeaning = errors.New("not an address or a range")

// mapped is how many bits stand in front of an IPv4 address inside IPv6.
const mapped = 96

// Parse reads an address or a range, such as 203.0.113.7 or 2001:db8::/32, and
// returns the range: an address is the range of itself alone, and bits behind
// the mask are zero.
func Parse(text string) (netip.Prefix, error) {
	if len(text) > MaxLen {
		return netip.Prefix{}, errMeaning
	}
	text = strings.TrimSpace(text)
	if !strings.Contains(text, "/") {
		addr, err := netip.ParseAddr(text)
		if err != nil || addr.Zone() != "" {
			return netip.Prefix{}, errMeaning
		}
		addr = addr.Unmap()
		return netip.PrefixFrom(addr, addr.BitLen()), nil
	}
	p, err := netip.ParsePrefix(text)
	if err != nil || p.Addr().Is4In6() && p.Bits() < mapped {
		return netip.Prefix{}, errMeaning
	}
	if p.Addr().Is4In6() {
		p = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-mapped)
	}
	return p.Masked(), nil
}

// ParseList reads a list, without what stands in it twice. On an error at is the
// entry that cannot be read.
func ParseList(texts []string) (list []netip.Prefix, at int, err error) {
	for i, text := range texts {
		p, err := Parse(text)
		if err != nil {
			return nil, i, fmt.Errorf("reading %.*q: %w", MaxLen, text, err)
		}
		if !slices.Contains(list, p) {
			list = append(list, p)
		}
	}
	return list, 0, nil
}

// Contains reports whether one of the ranges holds the address; none holds the
// zero Addr. It allocates nothing.
func Contains(list []netip.Prefix, addr netip.Addr) bool {
	addr = addr.Unmap().WithZone("")
	for _, p := range list {
		if p.Contains(addr) {
			return true
		}
	}
	return false
}

// Format returns the texts of a list: an address alone where a range has just
// one.
func Format(list []netip.Prefix) []string {
	texts := make([]string, len(list))
	for i, p := range list {
		texts[i] = p.String()
		if p.IsSingleIP() {
			texts[i] = p.Addr().String()
		}
	}
	return texts
}
