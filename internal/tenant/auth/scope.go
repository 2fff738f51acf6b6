package auth

import (
	"fmt"
	"slices"
	"strings"
)

// Scope is one permission of a key (specification 5.3).
type Scope string

// The scopes.
const (
	ScopeReadData         Scope = "read:data"
	ScopeTrackEvents      Scope = "track:events"
	ScopeReadLinks        Scope = "read:links"
	ScopeWriteLinks       Scope = "write:links"
	ScopeReadMonitors     Scope = "read:monitors"
	ScopeWriteMonitors    Scope = "write:monitors"
	ScopeReadStatusPages  Scope = "read:status_pages"
	ScopeWriteStatusPages Scope = "write:status_pages"
	ScopeManageWebsites   Scope = "manage:websites"
	ScopeManageFlags      Scope = "manage:flags"
	ScopeManageConfig     Scope = "manage:config"
)

// Scopes lists every scope with what it grants; docs and --help read it.
var Scopes = []struct {
	Scope  Scope
	Grants string
}{
	{ScopeReadData, "query analytics, compile queries and list websites; link analytics also require global access"},
	{ScopeTrackEvents, "send events to the ingestion host"},
	{ScopeReadLinks, "read short links"},
	{ScopeWriteLinks, "create, update and delete short links"},
	{ScopeReadMonitors, "read uptime monitors with their checks and analytics (planned)"},
	{ScopeWriteMonitors, "create, update, pause, resume and delete uptime monitors (planned)"},
	{ScopeReadStatusPages, "read status pages and incidents (planned)"},
	{ScopeWriteStatusPages, "create, update and delete status pages and incidents (planned)"},
	{ScopeManageWebsites, "create, update, publish and delete websites and their settings"},
	{ScopeManageFlags, "manage feature flags and targeting rules"},
	{ScopeManageConfig, "manage integrations and organization settings"},
}

// ScopeSet is a set of scopes; bit i stands for Scopes[i].
type ScopeSet uint32

// AllScopes holds every scope.
func AllScopes() ScopeSet { return ScopeSet(1)<<len(Scopes) - 1 }

// ParseScopes reads scope names; an unknown one is an error that lists those
// there are.
func ParseScopes(names []string) (ScopeSet, error) {
	var set ScopeSet
	for _, n := range names {
		i := index(Scope(n))
		if i < 0 {
			return 0, fmt.Errorf("unknown scope %q; the scopes are %s", n, strings.Join(AllScopes().Strings(), ", "))
		}
		set |= 1 << i
	}
	return set, nil
}

// Has reports whether the set holds s.
func (set ScopeSet) Has(s Scope) bool {
	i := index(s)
	return i >= 0 && set&(1<<i) != 0
}

// HasAny reports whether the set holds one of others at least.
func (set ScopeSet) HasAny(others ScopeSet) bool { return set&others != 0 }

// Strings returns the names in the table's order.
func (set ScopeSet) Strings() []string {
	var names []string
	for i, row := range Scopes {
		if set&(1<<i) != 0 {
			names = append(names, string(row.Scope))
		}
	}
	return names
}

func index(s Scope) int {
	return slices.IndexFunc(Scopes, func(row struct {
		Scope  Scope
		Grants string
	},
	) bool {
		return row.Scope == s
	})
}

// knownScopes returns the set of the names that this program knows. A name that
// a newer program stored grants nothing here.
func knownScopes(names []string) ScopeSet {
	var set ScopeSet
	for _, n := range names {
		if i := index(Scope(n)); i >= 0 {
			set |= 1 << i
		}
	}
	return set
}
