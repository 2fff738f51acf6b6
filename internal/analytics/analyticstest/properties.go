package analyticstest

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"unicode/utf8"
)

var propertyResults = map[string]result{
	"custom_events_trends_by_event":         {order: "date", ascending: true, limit: 10_000, rows: customTrendsByEvent},
	"custom_event_properties":               {order: "count", limit: 100, rows: propertyValues},
	"custom_events_property_cardinality":    {order: "occurrences", limit: 100, rows: cardinalities},
	"custom_events_property_classification": {order: "total_count", limit: 100, rows: classifications},
	"custom_events_property_top_values":     {order: "count", limit: 100, rows: topValues},
	"custom_events_property_distribution":   {order: "count", limit: 100, rows: distributions},
	"custom_events_discovery":               {order: "total_events", limit: 100, rows: discoveries},
}

func customTrendsByEvent(events []Event, q *Question) []Row {
	return seriesBy(only(events, isCustom), q, "event_name", nameOf,
		func(of []Event) Row { return Row{"total_events": float64(len(of))} })
}

// property is a key of the custom events of a name, and how often it has each of
// its values.
type property struct {
	event, key string
	counts     map[string]int
}

// propertiesOf are sorted by event and key.
func propertiesOf(events []Event) []*property {
	all := map[[2]string]*property{}
	for _, e := range only(events, isCustom) {
		for key, raw := range members(e.Properties) {
			if string(raw) == "null" {
				continue
			}
			id := [2]string{e.Name, key}
			if all[id] == nil {
				all[id] = &property{event: e.Name, key: key, counts: map[string]int{}}
			}
			text := []rune(jsonValue(raw).text)
			all[id].counts[string(text[:min(len(text), 256)])]++
		}
	}
	return slices.SortedFunc(maps.Values(all),
		func(a, b *property) int { return cmp.Or(cmp.Compare(a.event, b.event), cmp.Compare(a.key, b.key)) })
}

func (p *property) total() int {
	n := 0
	for _, c := range p.counts {
		n += c
	}
	return n
}

// frequent are the values, the most frequent first.
func (p *property) frequent(most int) []string {
	values := slices.SortedFunc(maps.Keys(p.counts),
		func(a, b string) int { return cmp.Or(p.counts[b]-p.counts[a], cmp.Compare(a, b)) })
	return values[:min(most, len(values))]
}

// every is true when all values that are not empty match, and there are such.
func (p *property) every(pattern *regexp.Regexp) bool {
	values := slices.DeleteFunc(slices.Collect(maps.Keys(p.counts)), func(v string) bool { return v == "" })
	return len(values) > 0 && !slices.ContainsFunc(values, func(v string) bool { return !pattern.MatchString(v) })
}

func propertyValues(events []Event, _ *Question) []Row {
	var rows []Row
	for _, p := range propertiesOf(events) {
		for _, v := range slices.Sorted(maps.Keys(p.counts)) {
			rows = append(rows, Row{"name": p.event, "property_key": p.key, "property_value": v, "count": float64(p.counts[v])})
		}
	}
	return rows
}

func cardinalities(events []Event, _ *Question) []Row {
	var rows []Row
	for _, p := range propertiesOf(events) {
		rows = append(rows, Row{
			"event_name":    p.event,
			"property_key":  p.key,
			"unique_values": float64(len(p.counts)),
			"occurrences":   float64(p.total()),
		})
	}
	return rows
}

// topRow is a row about one value of a property.
func (p *property) topRow(value string) Row {
	return Row{
		"event_name": p.event, "property_key": p.key, "property_value": value, "count": float64(p.counts[value]),
		"total": float64(p.total()), "percentage": share(p.counts[value], p.total()),
	}
}

func topValues(events []Event, _ *Question) []Row {
	var rows []Row
	for _, p := range propertiesOf(events) {
		for i, v := range p.frequent(20) {
			row := p.topRow(v)
			row["rank"] = float64(i + 1)
			rows = append(rows, row)
		}
	}
	return rows
}

func distributions(events []Event, _ *Question) []Row {
	var rows []Row
	for _, p := range propertiesOf(events) {
		if len(p.counts) > 50 {
			continue
		}
		for _, v := range p.frequent(50) {
			row := p.topRow(v)
			row["cardinality"] = float64(len(p.counts))
			rows = append(rows, row)
		}
	}
	return rows
}

var (
	numberLike  = regexp.MustCompile(`^-?\d+(\.\d+)?([eE][-+]?\d+)?$`)
	booleanLike = regexp.MustCompile(`^(true|false)$`)
	dateLike    = regexp.MustCompile(`^\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[-+]\d\d:?\d\d)?)?$`)
	urlLike     = regexp.MustCompile(`^https?://[^ ]+$`)
	jsonLike    = regexp.MustCompile(`^[\[{]`)
)

func classifications(events []Event, _ *Question) []Row {
	_, named := group(only(events, isCustom), nameOf)
	var rows []Row
	for _, p := range propertiesOf(events) {
		letters, longest := 0, 0
		for v, n := range p.counts {
			letters += n * utf8.RuneCountInString(v)
			longest = max(longest, utf8.RuneCountInString(v))
		}
		kind := "string"
		switch {
		case p.every(booleanLike):
			kind = "boolean"
		case p.every(numberLike):
			kind = "number"
		case p.every(dateLike):
			kind = "date"
		case p.every(urlLike):
			kind = "url"
		case p.every(jsonLike):
			kind = "json"
		}
		shown := map[string]string{"number": "histogram", "date": "timeline"}[kind]
		switch {
		case len(p.counts) <= 50:
			shown = "distribution"
		case shown != "":
		case 2*len(p.counts) > p.total():
			shown = "samples"
		default:
			shown = "top_values"
		}
		samples := []any{}
		for _, v := range p.frequent(5) {
			samples = append(samples, v)
		}
		rows = append(rows, Row{
			"event_name": p.event, "property_key": p.key, "cardinality": float64(len(p.counts)),
			"total_count":    float64(p.total()),
			"coverage_ratio": round4(float64(p.total()) / float64(len(named[p.event]))),
			"avg_length":     round2(float64(letters) / float64(p.total())),
			"max_length":     float64(longest), "is_numeric": p.every(numberLike), "is_boolean": p.every(booleanLike),
			"is_date_like": p.every(dateLike),
			"is_url_like":  p.every(urlLike), "inferred_type": kind, "render_strategy": shown, "sample_values": samples,
		})
	}
	return rows
}

func discoveries(events []Event, _ *Question) []Row {
	var rows []Row
	names, groups := group(only(events, isCustom), nameOf)
	all := propertiesOf(events)
	for _, name := range names {
		of := slices.DeleteFunc(slices.Clone(all), func(p *property) bool { return p.event != name })
		if len(of) == 0 {
			of = []*property{{event: name}}
		}
		for _, p := range of {
			values := []any{}
			for _, v := range p.frequent(5) {
				values = append(values, map[string]any{"value": v, "count": float64(p.counts[v])})
			}
			rows = append(rows, Row{
				"event_name": name, "total_events": float64(len(groups[name])), "unique_users": distinct(groups[name], personOf),
				"unique_sessions": distinct(groups[name], sessionOf), "property_key": p.key,
				"unique_values": float64(len(p.counts)), "top_values": values,
			})
		}
	}
	return rows
}
