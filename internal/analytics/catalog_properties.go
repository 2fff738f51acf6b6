package analytics

import (
	"fmt"
	"strings"
)

// What types of properties are bounded by, beside what an event may have.
const (
	propertyLetters = 256 // of a value, in code points; those that begin alike are one value
	topValues       = 20  // of a key that are told
	fewValues       = 50  // of a key whose distribution is told
	sampleValues    = 5
)

// propertyPairs are an event's keys with the texts of their values, as filters by
// property see them. A key that is null is not there.
const propertyPairs = "if(notEmpty(JSONExtractKeysAndValues(e.properties, 'String')), " +
	"JSONExtractKeysAndValues(e.properties, 'String'), " +
	"JSONExtractKeysAndValues(" + readableProperties + ", 'String'))"

// propertyValues is a row per name of events, key and value.
var propertyValues = fmt.Sprintf(`SELECT
    e.name AS event,
    (arrayJoin(%s) AS pair).1 AS key,
    substringUTF8(pair.2, 1, %d) AS value,
    count() AS times
{events}
GROUP BY event, key, value`, propertyPairs, propertyLetters)

// valueRules tell what a text looks like.
var valueRules = []struct{ column, pattern string }{
	{"numbers", `^-?[0-9]+([.][0-9]+)?([eE][+-]?[0-9]+)?$`},
	{"booleans", `^(true|false)$`},
	{"dates", `^[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]+)?)?(Z|[+-][0-9]{2}:?[0-9]{2})?)?$`},
	{"urls", `^https?://[^ ]+$`},
	{"documents", `^[{[]`},
}

// perKey is a row per name of events and key: how often it was there, with how
// many different values, and the most frequent of them. It makes few rows of many
// without holding more than those of propertyValues at once.
func perKey(most int, more ...string) string {
	columns := append([]string{
		"event", "key", "sum(times) AS occurrences", "count() AS different",
		fmt.Sprintf("groupArraySorted(%d)((-toInt64(times), value)) AS top", most),
	}, more...)
	return "SELECT\n    " + strings.Join(columns, ",\n    ") + "\nFROM (\n" + indent(propertyValues) +
		"\n)\nGROUP BY event, key"
}

// topRows is a row for each of the most frequent values of a key.
func topRows(keys string) *Source {
	return &Source{SQL: "(\n" +
		indent("SELECT event, key, occurrences, different, position, item.2 AS value, toUInt64(-item.1) AS times\nFROM (\n"+
			indent(keys)+"\n)\nARRAY JOIN top AS item, arrayEnumerate(top) AS position") + "\n)"}
}

var (
	fromValues       = &Source{SQL: "(\n" + indent(propertyValues) + "\n)"}
	fromKeys         = &Source{SQL: "(\n" + indent(perKey(1)) + "\n)"}
	fromTop          = topRows(perKey(topValues))
	fromDistribution = topRows(perKey(fewValues) + fmt.Sprintf("\nHAVING different <= %d", fewValues))
	fromClasses      = &Source{SQL: "(\n" + indent(perKey(sampleValues, classes()...)) + "\n) AS k\nINNER JOIN (\n" +
		indent("SELECT e.name AS event, count() AS events\n{events}\nGROUP BY event") + "\n) AS n USING (event)"}
	fromDiscovery = &Source{SQL: "(\n" + indent("SELECT e.name AS event, count() AS events, "+persons+" AS users, "+
		sessions+" AS visits\n{events}\nGROUP BY event") +
		"\n) AS n\nLEFT JOIN (\n" + indent(perKey(sampleValues)) + "\n) AS k USING (event)"}
)

// classes are what classification knows of the values of a key: how many of the
// different ones that are not empty look like something, and how long they are.
func classes() []string {
	columns := []string{
		"countIf(value != '') AS written", "sum(times * lengthUTF8(value)) AS letters", "max(lengthUTF8(value)) AS longest",
	}
	for _, r := range valueRules {
		columns = append(columns, "countIf(match(value, '"+r.pattern+"')) AS "+r.column)
	}
	return columns
}

// looksLike is true when all values that are not empty look like something, and
// there are such.
func looksLike(column string) string {
	return "written > 0 AND " + column + " = written"
}

// inferredType and renderStrategy take the first that holds.
var (
	inferredType = "multiIf(" + looksLike("booleans") + ", 'boolean', " + looksLike("numbers") + ", 'number', " +
		looksLike("dates") + ", 'date', " +
		looksLike("urls") + ", 'url', " + looksLike("documents") + ", 'json', 'string')"
	renderStrategy = fmt.Sprintf("multiIf(different <= %d, 'distribution', %s, 'histogram', %s, 'timeline', different "+
		"* 2 > occurrences, 'samples', 'top_values')",
		fewValues, looksLike("numbers"), looksLike("dates"))
)

// propertyFilters are what the events may be filtered by. Rows are filtered by key,
// which says more than which events they are made of.
var propertyFilters = fieldsOf(tableEvents, "href", "link_text", "time_on_page", "property_key")

// The columns that types of properties share.
var (
	ofEvent = Column{
		Name: "event_name", Type: String, Label: "Event", Description: "Name of the events.", Example: "signup",
		Expr: "event",
	}
	propertyKey = Column{
		Name: "property_key", Type: String, Label: "Key", Description: "Key of the property.", Example: "plan", Expr: "key",
	}
	propertyValue = Column{
		Name: "property_value", Type: String, Label: "Value", Example: "pro", Expr: "value",
		Description: fmt.Sprintf("Its value: a text itself, of anything else its JSON; the first %d characters.",
			propertyLetters),
	}
	valueCount = Column{
		Name: "count", Type: Number, Label: "Events", Description: "Events with this value.", Example: "80", Expr: "times",
	}
	keyTotal = Column{
		Name: "total", Type: Number, Label: "Total", Description: "Events with the key.", Example: "128",
		Expr: "occurrences",
	}
	shareOfKey = Column{
		Name: "percentage", Type: Number, Label: "Share", Unit: percent,
		Description: "Share of the events with the key.", Example: "62.5", Expr: "round(100 * times / occurrences, 2)",
	}
	differentOnes = Column{
		Name: "unique_values", Type: Number, Label: "Values", Description: "Number of distinct values.", Example: "3",
		Expr: "different",
	}
)

// classified is a column that is true when all values look like something.
func classified(name, label, description, column string) Column {
	return Column{
		Name: name, Type: Boolean, Label: label, Description: description, Example: "false",
		Expr: "CAST(" + looksLike(column) + ", 'Bool')",
	}
}

// properties is a type of the properties of custom events.
func properties(name, title, description string, from *Source, columns ...Column) Type {
	t := Type{
		Name: name, Subjects: Website | Organization,
		Title: title, Category: "Custom events", Tags: []string{"events", "properties"}, Visualization: "table",
		Description: description,
		Columns:     columns, Filters: propertyFilters, Measures: []string{"property_key"}, DefaultLimit: DefaultLimit,
		Public: true,
		Where:  customEvent, From: from, Desc: true, Tie: "event, key",
	}
	for _, c := range columns {
		switch c.Name {
		case "property_value":
			t.Measures = append(t.Measures, c.Name)
		case "count", "occurrences", "total_count", "total_events", "unique_values", "cardinality":
			t.Sorts = append(t.Sorts, c.Name)
		}
	}
	t.OrderBy = t.Sorts[0]
	return t
}

var propertyTypes = func() []Type {
	count := func(name, label, description, example, expr string) Column {
		return Column{Name: name, Type: Number, Label: label, Description: description, Example: example, Expr: expr}
	}
	values := properties("custom_event_properties", "Values of properties",
		"Values of the properties of custom events, most frequent first.", fromValues,
		ofEvent.named("name"), propertyKey, propertyValue, valueCount)
	values.Tie, values.Public = "event, key, value", false // its name is none of custom_events

	keys := properties("custom_events_property_cardinality", "Keys of properties",
		"Number of events and distinct values for each property of custom events.", fromKeys,
		ofEvent, propertyKey, differentOnes,
		count("occurrences", "Occurrences", "Events with the key.", "128", "occurrences"))
	keys.OrderBy = "occurrences"

	classification := properties("custom_events_property_classification", "Kinds of properties",
		"Types of the values of each property of custom events, with a suggested rendering.", fromClasses,
		ofEvent, propertyKey, differentOnes.named("cardinality"),
		count("total_count", "Occurrences", "Events with the key.", "128", "occurrences"),
		count("coverage_ratio", "Coverage", "Share of the events of that name with the key, from 0 to 1.", "0.94",
			"round(occurrences / events, 4)"),
		count("avg_length", "Average length", "Mean length of the values as text, in characters.", "4.2",
			"round(letters / occurrences, 2)"),
		count("max_length", "Longest", fmt.Sprintf("Length of the longest value, at most %d.", propertyLetters),
			"10", "longest"),
		classified("is_numeric", "Numbers", "Whether all non-empty values are decimal numbers.", "numbers"),
		classified("is_boolean", "Booleans", "Whether all non-empty values are true or false.", "booleans"),
		classified("is_date_like", "Dates", "Whether all non-empty values are ISO 8601 dates or times.", "dates"),
		classified("is_url_like", "Addresses", "Whether all non-empty values start with http:// or https://.", "urls"),
		Column{
			Name:        "inferred_type",
			Type:        String,
			Label:       "Type",
			Description: "First of boolean, number, date, url, json (objects and arrays) and string that fits all values.",
			Example:     "string",
			Expr:        inferredType,
		},
		Column{
			Name: "render_strategy", Type: String, Label: "Shown as", Example: "distribution", Expr: renderStrategy,
			Description: fmt.Sprintf("distribution for up to %d values, else histogram for numbers, timeline for dates, "+
				"samples where most values occur once, top_values.", fewValues),
		},
		Column{
			Name: "sample_values", Type: JSON, Label: "Samples", Description: "Most frequent values.",
			Example: `["pro","free"]`,
			Expr:    "toJSONString(arrayMap(item -> item.2, top))",
		})
	classification.OrderBy, classification.Sorts = "total_count", []string{"total_count", "cardinality"}

	top := properties("custom_events_property_top_values", "Frequent values of properties",
		fmt.Sprintf("The %d most frequent values of each property of custom events.", topValues), fromTop,
		ofEvent, propertyKey, propertyValue, valueCount, keyTotal, shareOfKey,
		count("rank", "Rank", "Rank among the values of the key; 1 is the most frequent.", "1", "toUInt64(position)"))
	top.Tie = "event, key, position"

	distribution := properties("custom_events_property_distribution", "Distribution of properties",
		fmt.Sprintf("All values of each property of custom events with at most %d distinct values.", fewValues),
		fromDistribution, ofEvent, propertyKey, propertyValue, valueCount, keyTotal, shareOfKey,
		differentOnes.named("cardinality"))
	distribution.Tie = "event, key, position"

	discovery := properties("custom_events_discovery", "Custom events and their properties",
		"Custom events with their properties, one row for each property. An event without properties has one "+
			"row with an empty key.", fromDiscovery,
		ofEvent, totalEvents.over("events"), uniqueUsers.over("users"), uniqueSessions.over("visits"),
		propertyKey, differentOnes,
		Column{
			Name: "top_values", Type: JSON, Label: "Values", Description: "Most " +
				"frequent values, with the number of events for each.", Example: `[{"value":"pro","count":80}]`,
			Expr: "toJSONString(arrayMap(item -> CAST((item.2, toUInt64(-item.1)), 'Tuple(value String, count UInt64)'), top))",
		})
	return []Type{values, keys, classification, top, distribution, discovery}
}()

// over returns the column with another expression.
func (c Column) over(expr string) Column {
	c.Expr = expr
	return c
}
