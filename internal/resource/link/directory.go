package link

import "strings"

// ServedDomain is what the short-link host has to know of an organization's own host.
type ServedDomain struct {
	ID             string
	OrganizationID string
	Hostname       string // in ASCII and lower case, without a port
	RootURL        string // where "/" leads; empty: nowhere
	NotFoundURL    string // where unknown slugs lead; empty: nowhere
	ExpiredURL     string // where links lead that are over and say nothing themselves; empty: nowhere
	CaseSensitive  bool   // slugs are matched by case
}

// DomainOf returns the id of the domain in a key that KeyOn made; empty on the shared host.
// It shares memory with the key.
func DomainOf(key string) string {
	if id, _, ok := strings.Cut(key, "/"); ok { // in no slug of the shared host
		return id
	}
	return ""
}

// Directory is what the short-link host knows beside links: the domains that serve, and what
// an operator has blocked. It is read whole, and does not change.
type Directory struct {
	Domains      []ServedDomain
	BlockedLinks []string // by slug key
	BlockedHosts []string // in ASCII and lower case; what is below one is blocked too
}

// Index returns the Directory ready to be asked. It shares the Directory's texts.
func (d *Directory) Index() *Index {
	x := &Index{
		domains: make(map[string]*ServedDomain, len(d.Domains)), links: setOf(d.BlockedLinks), hosts: setOf(d.BlockedHosts),
	}
	for i := range d.Domains {
		x.domains[d.Domains[i].Hostname] = &d.Domains[i]
	}
	return x
}

func setOf(names []string) map[string]struct{} {
	set := make(map[string]struct{}, len(names))
	for _, name := range names {
		set[name] = struct{}{}
	}
	return set
}

// Index answers from a Directory. It does not change, and is safe for concurrent use; the
// zero value knows no domain and no block.
type Index struct {
	domains      map[string]*ServedDomain
	links, hosts map[string]struct{}
}

// Domain returns the domain of a hostname in ASCII and lower case; nil where none serves.
func (x *Index) Domain(hostname []byte) *ServedDomain { return x.domains[string(hostname)] }

// Domains is how many serve.
func (x *Index) Domains() int { return len(x.domains) }

// Blocks is how many links and hosts are blocked.
func (x *Index) Blocks() int { return len(x.links) + len(x.hosts) }

// Blocked reports whether a link is blocked, or leads anybody to a host that is. It costs
// nothing while nothing is blocked, and allocates nothing for addresses whose hosts are
// written in ASCII and lower case.
func (x *Index) Blocked(l *Served) bool {
	if len(x.links) > 0 {
		if _, is := x.links[l.SlugKey]; is {
			return true
		}
	}
	return len(x.hosts) > 0 && (x.BlockedURL(l.URL) || x.BlockedURL(l.ExpiredURL) || l.Targets.blocked(x))
}

// BlockedURL reports whether the host of an address is blocked, or one above it.
func (x *Index) BlockedURL(address string) bool {
	if len(x.hosts) == 0 {
		return false
	}
	for host := HostOf(address); host != ""; {
		if _, is := x.hosts[host]; is {
			return true
		}
		_, host, _ = strings.Cut(host, ".")
	}
	return false
}

// blocked reports whether a rule or a variant leads to a blocked host; t may be nil.
func (t *Targets) blocked(x *Index) bool {
	if t == nil {
		return false
	}
	for i := range t.rules {
		if x.BlockedURL(t.rules[i].URL) {
			return true
		}
	}
	for i := range t.variants {
		if x.BlockedURL(t.variants[i].URL) {
			return true
		}
	}
	return false
}
