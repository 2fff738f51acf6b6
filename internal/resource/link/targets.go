package link

import (
	"crypto/sha256"
	"encoding/binary"
	"math/bits"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// Facts are what rules and variants ask of a visitor. What is not known is empty.
type Facts struct {
	Country, Region, City string
	Device, OS, Browser   string
	Languages             []string // tags that the browser asks for
	ReferrerHost          string
	// Query returns a parameter of the short address; nil where there is no query.
	Query     func(name string) (value string, ok bool)
	Now       time.Time
	Addr      netip.Addr
	UserAgent []byte
}

// Target is where a visitor is sent.
type Target struct {
	URL       string
	RuleID    string // empty where no rule chose it
	VariantID string // empty where it is no variant
}

// Targets are a link's destinations, ready to be chosen from. They do not change, and are
// safe for concurrent use.
type Targets struct {
	own      string
	rules    []Rule
	variants []Variant
	shares   []uint64 // the sums of the weights of the variants up to each
	secret   []byte
}

// NewTargets returns a link's destinations. They share its rules and variants.
func NewTargets(l *Link) *Targets {
	t := &Targets{own: l.URL, rules: l.Rules, variants: l.Variants, secret: l.Secret}
	sum := uint64(0)
	for i := range t.variants {
		sum += uint64(max(0, t.variants[i].Weight))
		t.shares = append(t.shares, sum)
	}
	return t
}

// Single reports whether all visitors are sent to one address, so that Choose needs no
// facts.
func (t *Targets) Single() bool { return len(t.rules) == 0 && len(t.variants) == 0 }

// Ruled reports whether there are rules; without any, Choose asks only for Addr and
// UserAgent.
func (t *Targets) Ruled() bool { return len(t.rules) > 0 }

// Choose returns where a visitor is sent: by the first rule all of whose conditions are
// met, else to one of the variants, else to the link's own address. It allocates nothing
// for user agents of ordinary length.
func (t *Targets) Choose(f *Facts) Target {
	for i := range t.rules {
		if r := &t.rules[i]; r.met(f) {
			return Target{URL: r.URL, RuleID: r.ID}
		}
	}
	if len(t.variants) > 0 {
		if v := t.draw(f); v != nil {
			return Target{URL: v.URL, VariantID: v.ID}
		}
	}
	return Target{URL: t.own}
}

func (r *Rule) met(f *Facts) bool {
	for i := range r.Conditions {
		if !r.Conditions[i].met(f) {
			return false
		}
	}
	return true
}

func (c *Condition) met(f *Facts) bool {
	switch c.Op {
	case After:
		return !f.Now.Before(c.At)
	case Before:
		return f.Now.Before(c.At)
	default:
		return c.listed(f) == (c.Op == In)
	}
}

// listed reports whether what is known of a visitor is among the values.
func (c *Condition) listed(f *Facts) bool {
	switch c.Field {
	case Country:
		return c.has(f.Country)
	case Region:
		return c.has(f.Region)
	case City:
		return c.has(f.City)
	case Device:
		return c.has(f.Device)
	case OS:
		return c.has(f.OS)
	case Browser:
		return c.has(f.Browser)
	case Language:
		return slices.ContainsFunc(f.Languages, c.hasLanguage)
	case ReferrerHost:
		return c.has(f.ReferrerHost)
	case Query:
		return c.hasParameter(f)
	}
	return false
}

func (c *Condition) has(value string) bool {
	if value == "" {
		return false
	}
	for _, v := range c.Values {
		if strings.EqualFold(v, value) {
			return true
		}
	}
	return false
}

// hasLanguage reports whether a tag is one of the values, or a kind of one.
func (c *Condition) hasLanguage(tag string) bool {
	for _, v := range c.Values {
		if len(tag) >= len(v) && strings.EqualFold(tag[:len(v)], v) && (len(tag) == len(v) || tag[len(v)] == '-') {
			return true
		}
	}
	return false
}

func (c *Condition) hasParameter(f *Facts) bool {
	if f.Query == nil {
		return false
	}
	value, ok := f.Query(c.Name)
	return ok && slices.Contains(c.Values, value)
}

// maxOrdinaryAgent is up to which length a user agent is hashed without an allocation, in
// bytes.
const maxOrdinaryAgent = 1024

// draw returns the variant of a visitor: the same one wherever and whenever they come from
// the same network with the same browser. nil stands for weights that add up to none.
func (t *Targets) draw(f *Facts) *Variant {
	total := t.shares[len(t.shares)-1]
	if total == 0 {
		return nil
	}
	var room [secretLen + 16 + maxOrdinaryAgent]byte
	text := append(room[:0], t.secret...)
	addr := network(f.Addr)
	text = append(text, addr[:]...)
	text = append(text, f.UserAgent...)
	sum := sha256.Sum256(text)
	// The upper half of the product is a number below total, each as likely as the next
	// up to one in 2⁴⁷.
	place, _ := bits.Mul64(binary.BigEndian.Uint64(sum[:8]), total)
	for i, upTo := range t.shares {
		if place < upTo {
			return &t.variants[i]
		}
	}
	return nil
}

// network returns an address as 16 bytes, without the half of one of IPv6 that changes
// from day to day.
func network(addr netip.Addr) (b [16]byte) {
	addr = addr.Unmap()
	if !addr.IsValid() {
		return b
	}
	b = addr.As16()
	if addr.Is6() {
		clear(b[8:])
	}
	return b
}

// Bytes is about what the targets take in memory.
func (t *Targets) Bytes() int {
	const fixed, each = 128, 64 // the struct, and each text or element of a list
	n := fixed + len(t.own) + len(t.secret)
	for i := range t.variants {
		n += each + len(t.variants[i].ID) + len(t.variants[i].URL)
	}
	for i := range t.rules {
		r := &t.rules[i]
		n += each + len(r.ID) + len(r.URL)
		for j := range r.Conditions {
			n += 2*each + len(r.Conditions[j].Name)
			for _, v := range r.Conditions[j].Values {
				n += each/4 + len(v)
			}
		}
	}
	return n
}
