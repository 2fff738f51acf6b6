package analytics

import (
	"slices"
	"strings"
	"sync"
)

// Catalog lists every query type, grouped by category, in the order in which
// GET /v1/query/types shows them.
var Catalog = reading("read:data",
	summaryTypes, currentTypes, pageTypes, pageDetailTypes, pathTypes, retentionTypes, funnelTypes, trafficTypes,
	technologyTypes, placeTypes,
	customEventTypes, propertyTypes, percentileTypes, errorTypes, errorImpactTypes, vitalTypes, sessionTypes,
	sessionListTypes, profileTypes, engagementTypes, realtimeTypes, outboundTypes, ingestionTypes, linkTypes,
	exposureTypes,
)

// reading returns the types of groups that need a scope.
func reading(scope string, groups ...[]Type) []Type {
	all := slices.Concat(groups...)
	for i := range all {
		all[i].Scope = scope
	}
	return all
}

var byName = sync.OnceValue(func() map[string]*Type {
	m := map[string]*Type{}
	for i := range Catalog {
		t := &Catalog[i]
		m[t.Name] = t
		for _, a := range t.Aliases {
			m[a] = t
		}
	}
	return m
})

// Lookup returns the type of that name or alias; nil when there is none.
func Lookup(name string) *Type { return byName()[name] }

// typeNames returns the names and aliases of all types.
func typeNames() []string {
	var names []string
	for i := range Catalog {
		names = append(append(names, Catalog[i].Name), Catalog[i].Aliases...)
	}
	return names
}

// suggestType returns a sentence for a name that no type has.
func suggestType(name string) string { return didYouMean(name, typeNames(), typeSynonyms) }

// column returns the column of that name; nil when there is none.
func (t *Type) column(name string) *Column {
	for i := range t.Columns {
		if t.Columns[i].Name == name {
			return &t.Columns[i]
		}
	}
	return nil
}

func supportedSorts(t *Type) string {
	return "Supported sort fields: " + strings.Join(t.Sorts, ", ")
}

func supportedGroups(t *Type) string {
	if len(t.Groups) == 0 {
		return t.Name + " supports no groupBy"
	}
	return "Supported groups: " + strings.Join(t.Groups, ", ")
}
