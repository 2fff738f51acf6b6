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
		"parameter": rpc.Text("Query type as requested, or the id of the parameter."),
		"success":   {Type: huma.TypeBoolean},
		"error":     rpc.Text("Error message. Only if success is false."),
		"code":      {Type: huma.TypeString, Enum: failureCodes(), Description: "Error code. Only if success is false."},
		"data":      rpc.ListOf(&huma.Schema{Type: huma.TypeObject}, "Rows with the columns of the type."),
	})
	return map[string]*huma.Schema{
		"queryId": rpc.Text("Id of the request; empty if absent."),
		"data":    rpc.ListOf(parameter, "One entry for each parameter; failed ones come last."),
		"meta": rpc.Object([]string{"parameters", "total_parameters", "page", "limit", "filters_applied"},
			map[string]*huma.Schema{
				"parameters":       rpc.ListOf(rpc.Text(""), ""),
				"total_parameters": rpc.Integer(""), "page": rpc.Integer(""), "limit": rpc.Integer(""),
				"filters_applied": rpc.Integer(""),
				"applied":         rpc.ListOf(appliedSchema(), "Resolved parameters, in the order of the request."),
			}),
	}
}

func appliedSchema() *huma.Schema {
	return rpc.Object([]string{"parameter", "type", "start", "end", "timezone", "filters", "rows"},
		map[string]*huma.Schema{
			"parameter": rpc.Text("As in data."), "type": rpc.Text("Name of the query type, if an alias was requested."),
			"start": rpc.Text("Start of the range, with the UTC offset of the " +
				"zone."), "end": rpc.Text("End of the range, excluded."),
			"timezone": rpc.Text("Time zone of days and hours."), "granularity": rpc.Text("Length of a bucket of a series."),
			"previous": rpc.Object([]string{"start", "end"},
				map[string]*huma.Schema{"start": rpc.Text(""), "end": rpc.Text("Excluded.")}),
			"sort":  rpc.Text("Column by which rows are sorted, with a minus sign for descending order."),
			"limit": rpc.Integer("Rows at most."), "page": rpc.Integer(""), "filters": rpc.Integer("Number of filters that " +
				"apply."),
			"source": {Type: huma.TypeString, Description: "Source of the data: events, rollup, or both."},
			"rows":   rpc.Integer("Number of rows."),
		})
}

// failureCodes are the codes of parameters that failed.
func failureCodes() (codes []any) {
	for i := range analytics.Failures {
		codes = append(codes, analytics.Failures[i].Code)
	}
	return codes
}
