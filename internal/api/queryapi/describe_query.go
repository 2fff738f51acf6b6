package queryapi

import (
	"github.com/danielgtaylor/huma/v2"

	"github.com/millrace/millrace/internal/analytics"
	"github.com/millrace/millrace/internal/api/rpc"
)

func queryResponse() *huma.Schema {
	fields := queryFields()
	fields["success"], fields["requestId"] = rpc.Boolean(true), rpc.Text("")
	return rpc.Object([]string{"success", "requestId", "queryId", "data", "meta"}, fields)
}

func queryFields() map[string]*huma.Schema {
	parameter := rpc.Object([]string{"parameter", "success", "data"}, map[string]*huma.Schema{
		"parameter": rpc.Text("The query type as it was asked for, or the id given to it."),
		"success":   {Type: huma.TypeBoolean},
		"error":     rpc.Text("Only where success is false."),
		"code":      {Type: huma.TypeString, Enum: failureCodes(), Description: "Only where success is false: why."},
		"data":      rpc.ListOf(&huma.Schema{Type: huma.TypeObject}, "Rows; their columns are those of the type."),
	})
	return map[string]*huma.Schema{
		"queryId": rpc.Text("The id of the request; empty without one."),
		"data":    rpc.ListOf(parameter, "One entry a parameter; those that failed come last."),
		"meta": rpc.Object([]string{"parameters", "total_parameters", "page", "limit", "filters_applied"},
			map[string]*huma.Schema{
				"parameters":       rpc.ListOf(rpc.Text(""), ""),
				"total_parameters": rpc.Integer(""), "page": rpc.Integer(""), "limit": rpc.Integer(""),
				"filters_applied": rpc.Integer(""),
				"applied":         rpc.ListOf(appliedSchema(), "What each parameter was taken for, in the order of the request."),
			}),
	}
}

func appliedSchema() *huma.Schema {
	return rpc.Object([]string{"parameter", "type", "start", "end", "timezone", "filters", "rows"},
		map[string]*huma.Schema{
			"parameter": rpc.Text("As in data."), "type": rpc.Text("The query type, where an alias was asked for."),
			"start": rpc.Text("Beginning of the range, with the zone's offset."), "end": rpc.Text("End of the range, excluded."),
			"timezone": rpc.Text("The zone of days and hours."), "granularity": rpc.Text("Of a series: the length of a bucket."),
			"previous": rpc.Object([]string{"start", "end"},
				map[string]*huma.Schema{"start": rpc.Text(""), "end": rpc.Text("Excluded.")}),
			"sort":  rpc.Text("The column that rows are ordered by, after a minus where the largest comes first."),
			"limit": rpc.Integer("Rows at most."), "page": rpc.Integer(""), "filters": rpc.Integer("How many filters apply."),
			"source": {Type: huma.TypeString, Description: "Where the numbers come from: events, rollup, or both."},
			"rows":   rpc.Integer("Rows that there are."),
		})
}

// failureCodes are the codes of parameters that failed.
func failureCodes() (codes []any) {
	for i := range analytics.Failures {
		codes = append(codes, analytics.Failures[i].Code)
	}
	return codes
}
