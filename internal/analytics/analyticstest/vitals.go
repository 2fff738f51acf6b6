package analyticstest

import (
	"slices"
	"strconv"
	"strings"
)

var vitalResults = func() map[string]result {
	all := map[string]result{
		"vitals_time_series":     {order: "date", ascending: true, limit: 10_000, kind: "vital", rows: vitalsOverTime},
		"vitals_by_page":         {order: "samples", limit: 100, kind: "vital", rows: vitalsByPage},
		"web_vitals_time_series": {order: "date", ascending: true, limit: 10_000, kind: "vital", rows: webVitalsOverTime},
	}
	path := func(e *Event) string { return e.Path }
	web := func(column string) func(*Event) string { return func(e *Event) string { return e.Web[column] } }
	for suffix, get := range map[string]func(*Event) string{
		"page": path, "country": web("country"), "browser": web("browser"), "os": web("os"), "device": web("device"),
		"region": web("region"), "city": web("city"),
	} {
		all["web_vitals_by_"+suffix] = result{
			order: "measurements", limit: 100, kind: "vital", rows: vitalsOf(get, suffix == "country", "measurements",
				"avg_fcp p50_fcp avg_lcp p50_lcp p75_lcp avg_cls p50_cls avg_inp p75_inp avg_ttfb"),
		}
		if suffix != "page" {
			all["vitals_by_"+suffix] = result{
				order: "samples", limit: 100, kind: "vital", rows: vitalsOf(get, suffix == "country", "samples",
					"p50_lcp p50_fcp p50_cls p50_inp p50_ttfb"),
			}
		}
	}
	return all
}()

// vitalsOf are the metrics of the columns that are named, per value.
func vitalsOf(get func(*Event) string, country bool, counted, columns string) func([]Event, *Question) []Row {
	return func(events []Event, _ *Question) []Row {
		var rows []Row
		values, groups := group(events, get)
		for _, v := range values {
			if v == "" {
				continue
			}
			row := metricsOf(groups[v], columns)
			row["name"], row["visitors"], row[counted] = v, distinct(groups[v], visitorOf), float64(len(groups[v]))
			if country {
				row["name"] = countryNames[v]
			}
			rows = append(rows, row)
		}
		return rows
	}
}

func metricsOf(events []Event, columns string) Row {
	row := Row{}
	for column := range strings.FieldsSeq(columns) {
		measure, metric, _ := strings.Cut(column, "_")
		of := valuesOf(events, strings.ToUpper(metric))
		p, _ := strconv.Atoi(measure[1:])
		switch {
		case len(of) == 0:
			row[column] = nil
		case measure == "avg":
			row[column] = round4(average(of))
		default:
			row[column] = round4(quantile(of, float64(p)/100))
		}
	}
	return row
}

// valuesOf are those of one metric, sorted.
func valuesOf(events []Event, metric string) []float64 {
	var values []float64
	for i := range events {
		if events[i].Name == metric {
			values = append(values, events[i].Value)
		}
	}
	slices.Sort(values)
	return values
}

func average(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

// quantile of sorted values lies between the two that are nearest.
func quantile(values []float64, p float64) float64 {
	at := p * float64(len(values)-1)
	lo := int(at)
	v := values[lo]
	if lo+1 < len(values) {
		v += (at - float64(lo)) * (values[lo+1] - v)
	}
	return v
}

func vitalsByPage(events []Event, _ *Question) []Row {
	var rows []Row
	keys, groups := group(events, func(e *Event) string { return e.Path + "\x00" + e.Name })
	for _, k := range keys {
		page, metric, _ := strings.Cut(k, "\x00")
		if page != "" {
			row := vitals(groups[k], nil)[0]
			row["page"], row["metric_name"] = page, metric
			delete(row, "avg_value")
			rows = append(rows, row)
		}
	}
	return rows
}

// vitalsOverTime has a row per bucket and metric that was measured in it.
func vitalsOverTime(events []Event, q *Question) []Row {
	return seriesBy(events, q, "metric_name", nameOf, func(of []Event) Row {
		row := vitals(of, nil)[0]
		delete(row, "avg_value")
		return row
	})
}

func webVitalsOverTime(events []Event, q *Question) []Row {
	return series(events, q, func(events []Event) Row {
		row := metricsOf(events, "avg_fcp p50_fcp avg_lcp p50_lcp avg_cls p50_cls avg_inp p50_inp avg_ttfb p50_ttfb")
		row["measurements"] = float64(len(events))
		return row
	})
}

// seriesBy is a series whose buckets are cut by a value too: a row for each that
// occurs in it.
func seriesBy(events []Event, q *Question, column string, get func(*Event) string, measure func([]Event) Row) []Row {
	var cut [][]Row
	series(events, q, func(of []Event) Row {
		var rows []Row
		values, groups := group(of, get)
		for _, v := range values {
			row := measure(groups[v])
			row[column] = v
			rows = append(rows, row)
		}
		cut = append(cut, rows)
		return Row{}
	})
	var rows []Row
	for i, bucket := range series(events, q, func([]Event) Row { return Row{} }) {
		if q.SortBy == "date" && !q.Ascending { // all rows will be turned round
			slices.Reverse(cut[i])
		}
		for _, row := range cut[i] {
			row["date"] = bucket["date"]
			rows = append(rows, row)
		}
	}
	return rows
}
