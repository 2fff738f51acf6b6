package queryapi

import (
	"github.com/danielgtaylor/huma/v2"

	"github.com/millrace/millrace/internal/analytics"
	"github.com/millrace/millrace/internal/api/rpc"
)

// subjectDocs describe the parameters of subjects.
var subjectDocs = map[string]string{
	"link_id":         "Id of the short link; overrides the other subjects. A key requires global access.",
	"schedule_id":     "Schedule of the monitor; overrides a website and an organization.",
	"website_id":      "Id or client id of the website.",
	"organization_id": "Id of the organization, instead of a website.",
}

// subjectParams say what a query is about.
func subjectParams() []*huma.Param {
	param := func(name, doc string) *huma.Param {
		return &huma.Param{Name: name, In: "query", Description: doc, Schema: &huma.Schema{Type: huma.TypeString}}
	}
	var params []*huma.Param
	for _, s := range subjects {
		params = append(params, param(s.parameter, subjectDocs[s.parameter]))
	}
	return append(params, param(zoneParameter, "IANA time zone; UTC if absent."))
}

// members are those of an object that its decoder knows; one that nobody described may be
// anything.
func members(keys []string, described map[string]*huma.Schema) map[string]*huma.Schema {
	all := map[string]*huma.Schema{}
	for _, key := range keys {
		if all[key] = described[key]; all[key] == nil {
			all[key] = &huma.Schema{}
		}
	}
	return all
}

func queryRequest(r huma.Registry) *huma.Schema {
	text := rpc.Text
	keys, _, _ := analytics.BodyKeys()
	return rpc.Object([]string{"parameters"}, members(keys, map[string]*huma.Schema{
		"id": {Type: huma.TypeString, MaxLength: new(analytics.MaxLabelLen), Description: "Label of the query, returned as " +
			"queryId."},
		"parameters": {
			Type: huma.TypeArray, Items: parameterSchema(), MinItems: new(1), MaxItems: new(analytics.MaxParameters),
			Description: "Names of query types, or objects with a name and their own range.",
		},
		"preset":      {Type: huma.TypeString, Enum: anys(analytics.PresetNames())},
		"startDate":   text("YYYY-MM-DD, or a date-time such as 2026-03-01T08:00:00Z."),
		"endDate":     text("YYYY-MM-DD, included, or a date-time, excluded."),
		"timeZone":    text("IANA time zone; overrides the query parameter timezone."),
		"timezone":    text("Alias of timeZone; only one of the two can be given."),
		"granularity": text("Length of the buckets, for types with supports_granularity in /v1/query/types."),
		"filters":     rpc.ListOf(filterSchema(r), "All must hold."),
		"groupBy":     {Description: "Dimensions to group by, for types that support it."},
		"compare": {Description: "previous_period, or an object with startDate and endDate. Each row gets its values in " +
			"that range and the change."},
		"sortBy":    text("One of allowedSortFields."),
		"sortOrder": {Type: huma.TypeString, Enum: []any{"asc", "desc"}},
		"limit":     {Type: huma.TypeInteger, Minimum: new(1.0), Maximum: new(float64(analytics.MaxLimit))},
		"page":      {Type: huma.TypeInteger, Minimum: new(1.0), Maximum: new(float64(analytics.MaxPage))},
	}))
}

// parameterSchema leaves an object open for the options of its type.
func parameterSchema() *huma.Schema {
	name := rpc.Text("A query type.")
	_, keys, _ := analytics.BodyKeys()
	object := rpc.Object([]string{"name"}, members(keys, map[string]*huma.Schema{
		"name": name,
		"id": {
			Type: huma.TypeString, MaxLength: new(analytics.MaxLabelLen),
			Description: "Label of the parameter in the response, instead of its name.",
		},
		"start_date":  rpc.Text("startDate of this parameter only."),
		"end_date":    rpc.Text("endDate of this parameter only."),
		"granularity": rpc.Text("granularity of this parameter only."),
	}))
	object.AdditionalProperties = true
	object.Description = "Other members are options of the query type; see options in /v1/query/types."
	return &huma.Schema{OneOf: []*huma.Schema{name, object}}
}

// filterName is how the document names a filter, which may hold others.
const filterName = "QueryFilter"

// filterSchema is a reference to it.
func filterSchema(r huma.Registry) *huma.Schema {
	one := &huma.Schema{Ref: "#/components/schemas/" + filterName}
	if r.Map()[filterName] != nil {
		return one
	}
	var operators []any
	for i := range analytics.Operators {
		operators = append(operators, analytics.Operators[i].Name)
	}
	_, _, keys := analytics.BodyKeys()
	filter := rpc.Object(nil, members(keys, map[string]*huma.Schema{
		"field": rpc.Text("One of allowedFilters, or a column of filterable_fields; see /v1/query/types."),
		"op":    {Type: huma.TypeString, Enum: operators},
		"value": {Description: "String, number or boolean; a list of these for in and not_in; absent for is_set and " +
			"not_set."},
		"and": rpc.ListOf(one, "Filters that must all match, instead of field, op and value."),
		"or":  rpc.ListOf(one, "Filters of which at least one must match."),
		"not": one,
	}))
	filter.Description = "A comparison with field, op and value, or exactly one of and, or and not."
	r.Map()[filterName] = filter
	return one
}
