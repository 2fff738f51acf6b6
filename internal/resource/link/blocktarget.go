package link

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strings"

	"golang.org/x/text/unicode/norm"

	"github.com/millrace/millrace/internal/contract/apierr"
)

// domainPrefix is what ids of domains begin with.
const domainPrefix = "dom_"

// named says what a target names: a short link by its address, or by its name where its
// domain is no more; else a host.
func (b *Blocks) named(ctx context.Context, target string) (Block, error) {
	if strings.HasPrefix(target, domainPrefix) && strings.Contains(target, "/") {
		return Block{Kind: BlockLink, Name: target}, nil
	}
	if addr, err := netip.ParseAddr(target); err == nil && addr.Is6() {
		target = "[" + target + "]"
	}
	if !strings.Contains(target, "://") {
		target = "https://" + target
	}
	host := HostOf(target)
	u, err := url.Parse(target)
	if err != nil || host == "" || u.User != nil {
		return Block{}, b.reject("the address is invalid")
	}
	slug := strings.TrimPrefix(u.Path, "/")
	if host == HostOf(b.publicURL) {
		return b.ofLink(&ServedDomain{}, slug)
	}
	switch domain, err := b.store.ServingDomain(ctx, host); {
	case err == nil:
		return b.ofLink(domain, slug)
	case !errors.Is(err, ErrNotFound):
		return Block{}, err
	case slug != "":
		return Block{}, b.reject(host + " serves no short links; to block all links that lead to it, give it alone: " + host)
	}
	return b.ofHost(host)
}

// ofLink names a short link.
func (b *Blocks) ofLink(domain *ServedDomain, slug string) (Block, error) {
	if slug == "" {
		return Block{}, b.reject("this host serves short links; give the address of one of them")
	}
	if domain.ID != "" {
		slug = norm.NFC.String(slug)
	}
	return Block{Kind: BlockLink, Name: KeyOn(domain.ID, domain.CaseSensitive, slug), Hostname: domain.Hostname}, nil
}

// ofHost names a host. One without a dot is mostly a slug that somebody gave instead of an
// address, and blocking it would do nothing.
func (b *Blocks) ofHost(host string) (Block, error) {
	switch _, err := netip.ParseAddr(host); {
	case err == nil:
	case !strings.Contains(host, "."):
		return Block{}, b.reject("the host has no dot")
	case strings.Count(host, ".") >= MaxBlockLabels:
		return Block{}, b.reject(fmt.Sprintf("the host has %d labels; at most %d are allowed", strings.Count(host, ".")+1,
			MaxBlockLabels))
	}
	return Block{Kind: BlockHost, Name: host}, nil
}

// reject returns the error of a target that is neither a short link nor a host, with its cause.
func (b *Blocks) reject(cause string) error {
	short := "the address of a short link on the host of link.public_url"
	if b.publicURL != "" {
		short = "the address of a short link, such as " + b.publicURL + "/sale-26"
	}
	return apierr.Invalid("target", "invalid_target",
		"target must be "+short+", or a host that links lead to, such as evil.example: "+cause)
}

// Address is where a short link that is blocked stands, as far as that is known; else the
// block's name.
func (b *Blocks) Address(block *Block) string {
	domain, slug, own := strings.Cut(block.Name, "/")
	switch {
	case block.Kind != BlockLink:
	case !own && b.publicURL != "":
		return b.publicURL + "/" + domain
	case own && block.Hostname != "":
		return "https://" + block.Hostname + "/" + slug
	}
	return block.Name
}
