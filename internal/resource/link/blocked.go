package link

import (
	"context"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/millrace/millrace/internal/tenant/managed"
)

// MaxBlockLabels is of how many labels at most a host is that is blocked with all below it.
const MaxBlockLabels = 16

// hostAndAbove lists a host and those that it is below of, the shortest first, but for those
// that cannot be blocked; of an IP address only itself.
func hostAndAbove(host string) (hosts []string) {
	if _, err := netip.ParseAddr(host); err == nil {
		return []string{host}
	}
	for at := len(host); at > 0 && len(hosts) < MaxBlockLabels; {
		at = strings.LastIndexByte(host[:at], '.')
		hosts = append(hosts, host[at+1:])
	}
	return hosts
}

// Hosts lists the hosts that visitors of the link are sent to, each with those above it, in
// order and each once: blocking one of them blocks the link.
func (l *Link) Hosts() (hosts []string) {
	for _, host := range hostsOf(l.addresses()) {
		hosts = append(hosts, hostAndAbove(host)...)
	}
	return once(hosts)
}

func (l *Link) addresses() []string {
	all := []string{l.URL, l.ExpiredURL}
	for i := range l.Rules {
		all = append(all, l.Rules[i].URL)
	}
	for i := range l.Variants {
		all = append(all, l.Variants[i].URL)
	}
	return all
}

// addresses lists those that the fields name, which are held against what is blocked.
func (f *Fields) addresses() []string {
	var to Link
	managed.Apply(f.URL, func(v string) { to.URL = v })
	managed.Apply(f.ExpiredURL, func(v string) { to.ExpiredURL = v })
	managed.Apply(f.Rules, func(v []Rule) { to.Rules = v })
	managed.Apply(f.Variants, func(v []Variant) { to.Variants = v })
	all := to.addresses()
	managed.Apply(f.Preview, func(v Preview) { all = append(all, v.ImageURL) })
	return all
}

// hostsOf lists the hosts of addresses that have one, in order and each once.
func hostsOf(addresses []string) (hosts []string) {
	for _, address := range addresses {
		if host := HostOf(address); host != "" {
			hosts = append(hosts, host)
		}
	}
	return once(hosts)
}

func once(texts []string) []string {
	slices.Sort(texts)
	return slices.Compact(texts)
}

// Ahead returns the service for a call about several links: the store is asked at once what
// is blocked of all that their fields name, and not again for each of them.
func (s *Service) Ahead(ctx context.Context, all ...Fields) (*Service, error) {
	var addresses []string
	for i := range all {
		addresses = append(addresses, all[i].addresses()...)
	}
	rules, err := s.rulesFor(ctx, addresses)
	if err != nil {
		return nil, err
	}
	ahead := *s
	ahead.rules = *rules
	return &ahead, nil
}

// rulesFor returns a copy of the rules with what the store says of the hosts of addresses. It
// is not asked about those that are known already, and so mostly not at all.
func (s *Service) rulesFor(ctx context.Context, addresses []string) (*Rules, error) {
	rules := s.rules
	hosts := slices.DeleteFunc(hostsOf(addresses), func(host string) bool {
		_, known := rules.blocked[host]
		return known
	})
	if len(hosts) == 0 {
		return &rules, nil
	}
	var names []string
	for _, host := range hosts {
		names = append(names, hostAndAbove(host)...)
	}
	blocked, err := s.deps.Store.BlockedHosts(ctx, once(names))
	if err != nil {
		return nil, err
	}
	serving, err := s.deps.Domains.ServingHosts(ctx, hosts)
	if err != nil {
		return nil, err
	}
	rules.know(hosts, blocked, serving)
	return &rules, nil
}

// know notes of hosts that the store was asked about which of them, or of those above them,
// are blocked, and which of them serve.
func (r *Rules) know(hosts, blocked, serving []string) {
	all := make(map[string]bool, len(r.blocked)+len(hosts))
	maps.Copy(all, r.blocked)
	for _, host := range hosts {
		all[host] = slices.ContainsFunc(hostAndAbove(host), func(name string) bool { return slices.Contains(blocked, name) })
	}
	r.blocked, r.serving = all, append(slices.Clip(r.serving), serving...)
}
