package analytics

import (
	"fmt"
	"slices"
	"strings"
)

// What measurements may be filtered and grouped by.
var (
	vitalFilters = fieldsOf(tableVitals)
	vitalGroups  = groupsOf(tableVitals)
)

// percentiles are those that a metric's distribution is told by.
var percentiles = []int{50, 75, 90, 95, 99}

// distribution is a column for each of percentiles, exact up to the last digit that
// is shown. They are one aggregate, which holds the values once.
func distribution() []Column {
	levels := make([]string, len(percentiles))
	for i, p := range percentiles {
		levels[i] = fmt.Sprintf("%g", float64(p)/100)
	}
	columns := make([]Column, len(percentiles))
	for i, p := range percentiles {
		columns[i] = Column{
			Name: fmt.Sprintf("p%d", p), Type: Number, Label: fmt.Sprintf("p%d", p), Example: "1843.2",
			Description: fmt.Sprintf("Percentile %d of the measurements.", p),
			Expr:        fmt.Sprintf("round(quantilesExactInclusive(%s)(e.value)[%d], 4)", strings.Join(levels, ", "), i+1),
		}
	}
	return columns
}

// units of the metrics; those that are not named have none.
var metricUnits = map[string]string{"fcp": milliseconds, "lcp": milliseconds, "inp": milliseconds, "ttfb": milliseconds}

const milliseconds = "milliseconds"

// ofMetric is a column about one metric: avg, or a percentile such as p75. It is
// null where nothing was measured.
func ofMetric(measure, metric string) Column {
	c := Column{
		Name: measure + "_" + metric, Type: Number, Unit: metricUnits[metric], Label: measure + " " + strings.ToUpper(metric),
		Example:     "1210.5",
		Description: "Average " + strings.ToUpper(metric) + "; null if there is no measurement.", Expr: "avgOrNullIf",
	}
	if metric == "cls" {
		c.Example = "0.08"
	}
	if p, ok := strings.CutPrefix(measure, "p"); ok {
		c.Description = strings.ToUpper(metric) + ": percentile " + p +
			" of the measurements; null if there is no measurement."
		c.Expr = "quantileExactInclusiveOrNullIf(0." + p + ")"
	}
	c.Expr = "round(" + c.Expr + "(e.value, e.name = '" + strings.ToUpper(metric) + "'), 4)"
	return c
}

// ofMetrics are such columns, named as measure_metric.
func ofMetrics(names string) []Column {
	var columns []Column
	for name := range strings.FieldsSeq(names) {
		measure, metric, _ := strings.Cut(name, "_")
		columns = append(columns, ofMetric(measure, metric))
	}
	return columns
}

// The columns that types of measurements share.
var (
	metricName = Column{
		Name: "metric_name", Type: String, Label: "Metric", Description: "Name of the metric.", Example: "LCP",
		Expr: "e.name",
	}
	samples = Column{
		Name: "samples", Type: Number, Label: "Samples", Description: "Measurements.", Example: "240", Expr: "count()",
	}
	vitalVisitors = Column{
		Name: "visitors", Type: Number, Label: "Visitors", Description: "Distinct anonymous ids with a measurement.",
		Example: "96", Expr: visitors,
	}
)

// vitalType is a type of measurements without a visualization of its own.
func vitalType(name, title, description string, columns ...[]Column) Type {
	return Type{
		Name: name, Subjects: Website | Organization, Table: "vitals",
		Title: title, Category: "Performance", Tags: []string{"vitals"}, Visualization: "table", Description: description,
		Columns: slices.Concat(columns...), Filters: vitalFilters, Groups: vitalGroups, DefaultLimit: DefaultLimit,
		Public: true,
	}
}

// vitalsBy is a type with a row for each value of a field, the largest first.
func vitalsBy(name, label, field, example string, columns []Column, order string) Type {
	what := strings.ToLower(label)
	t := vitalType(name, "Web vitals by "+what,
		"Web vitals by "+what+", most measurements first. Measurements without a value are excluded.",
		[]Column{
			{Name: "name", Type: String, Label: label, Description: "Value of the field.", Example: example, Expr: field},
			vitalVisitors,
		}, columns)
	t.Where, t.GroupBy, t.Tie = field+" != ''", field, field
	t.Sorts, t.OrderBy, t.Desc = []string{order, "visitors"}, order, true
	return t
}

// vitalSeries is a type over time.
func vitalSeries(t Type) Type {
	t.Visualization, t.Tags, t.Series = "line", []string{"vitals", "series"}, true
	t.Sorts, t.OrderBy, t.DefaultLimit = []string{"date", t.Columns[len(t.Columns)-1].Name}, "date", MaxLimit
	return t
}

// vitalDimensions are what measurements are told apart by.
var vitalDimensions = []struct {
	suffix, label, field, example string
	vitals, webVitals             bool // asked as vitals_by_<suffix>, and as web_vitals_by_<suffix>
}{
	{"page", "Page", "e.path", "/pricing", false, true}, // vitals_by_page is per metric
	{"country", "Country", "e.country", "Austria", true, true},
	{"browser", "Browser", "e.browser", "Firefox", true, true},
	{"os", "Operating system", "e.os", "Windows", false, true},
	{"device", "Device", "e.device", "desktop", false, true},
	{"region", "Region", "e.region", "Styria", true, true},
	{"city", "City", "e.city", "Graz", true, false},
}

var vitalTypes = func() []Type {
	overview := vitalType("vitals_overview", "Web vitals",
		"Web vitals by metric: FCP, LCP, INP and TTFB in milliseconds, FPS in frames per second, CLS without a unit.",
		[]Column{metricName}, distribution(),
		[]Column{
			{
				Name: "avg_value", Type: Number, Label: "Average", Description: "Mean of the measurements.", Example: "1210.5",
				Expr: "round(avg(e.value), 4)",
			},
			samples,
		})
	overview.Aliases, overview.Tags = []string{"performance"}, []string{"vitals", "overview"}
	overview.GroupBy, overview.Tie = "e.name", "e.name"
	overview.Sorts, overview.OrderBy = []string{"metric_name", "samples"}, "metric_name"

	trends := vitalSeries(vitalType("vitals_time_series", "Web vitals over time",
		"Web vitals by metric for each day or hour. A metric without measurements has no row.",
		[]Column{dateColumn, metricName}, distribution(), []Column{samples}))
	trends.groups = []Column{metricName}
	// it is cut by that already
	trends.Groups = slices.DeleteFunc(slices.Clone(vitalGroups), func(name string) bool { return name == metricName.Name })

	pages := vitalType("vitals_by_page", "Web vitals by page",
		"Web vitals by metric for each page, most measurements first. Measurements without a path are excluded.",
		[]Column{
			{
				Name: "page", Type: String, Label: "Page", Description: "Page path or URL as sent.", Example: "/pricing",
				Expr: "e.path",
			},
			metricName,
		},
		distribution(), []Column{samples})
	pages.Where, pages.GroupBy, pages.Tie = "e.path != ''", "e.path, e.name", "e.path, e.name"
	pages.Sorts, pages.OrderBy, pages.Desc = []string{"samples"}, "samples", true

	measurements := samples.named("measurements")
	all := []Type{overview, trends, pages}
	var web []Type
	for _, d := range vitalDimensions {
		var show func(string) string
		if d.suffix == "country" {
			show = countryName
		}
		if d.vitals {
			t := vitalsBy("vitals_by_"+d.suffix, d.label, d.field, d.example,
				append(ofMetrics("p50_lcp p50_fcp p50_cls p50_inp p50_ttfb"), samples), "samples")
			t.Columns[0].Show = show
			all = append(all, t)
		}
		if d.webVitals {
			t := vitalsBy("web_vitals_by_"+d.suffix, d.label, d.field, d.example,
				append(ofMetrics("avg_fcp p50_fcp avg_lcp p50_lcp p75_lcp avg_cls p50_cls avg_inp p75_inp avg_ttfb"), measurements),
				"measurements")
			t.Columns[0].Show, t.Public = show, false
			web = append(web, t)
		}
	}
	series := vitalSeries(vitalType("web_vitals_time_series", "Web vitals by day",
		"Web vitals by day or hour, with all metrics in one row.",
		[]Column{dateColumn}, ofMetrics("avg_fcp p50_fcp avg_lcp p50_lcp avg_cls p50_cls avg_inp p50_inp avg_ttfb p50_ttfb"),
		[]Column{measurements}))
	series.Public = false
	return slices.Concat(all, web, []Type{series})
}()
