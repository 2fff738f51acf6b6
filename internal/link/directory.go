package link

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

// Directory is what the short-link host knows beside links: the domains that serve, and what
// an operator has blocked. It is read whole, and does not change.
type Directory struct {
	Domains      []ServedDomain
	BlockedLinks []string // by slug key
	BlockedHosts []string // in ASCII and lower case; what is below one is blocked too
}
