package analytics

import (
	"fmt"
	"slices"
	"time"

	"github.com/millrace/millrace/internal/fault"
)

// Environment is what a request is read against.
type Environment struct {
	Subject Subject
	// TimeZone is the query string's; the body's own wins. Empty means UTC.
	TimeZone string
	Now      time.Time
}

// Statement is one parameter of a request, ready for a Runner.
type Statement struct {
	// Label is how the answer names it.
	Label  string
	Type   *Type
	SQL    string
	Params []Param
}

// Plan is a checked request.
type Plan struct {
	QueryID    string
	Statements []Statement
	// Names are the parameters as the caller named them.
	Names       []string
	Limit, Page int
	Filters     int // how many are applied
}

// Compile checks requests and turns them into plans. The error is a Validation
// fault with every problem; in a batch the fields start with batch[i].
func Compile(requests []Request, batch bool, env Environment) ([]Plan, error) {
	plans := make([]Plan, 0, len(requests))
	var problems []fault.Detail
	for i := range requests {
		c := compiler{request: &requests[i], env: env}
		if batch {
			c.prefix = fmt.Sprintf("batch[%d].", i)
		}
		plans = append(plans, c.plan())
		problems = append(problems, c.problems...)
	}
	if err := invalid(problems); err != nil {
		return nil, err
	}
	return plans, nil
}

// compiler works on one request and collects its problems.
type compiler struct {
	request  *Request
	env      Environment
	prefix   string
	zone     *time.Location
	problems []fault.Detail
}

func (c *compiler) add(field, rule, message, suggestion string) {
	c.problems = append(c.problems, problem(c.prefix+field, rule, message, suggestion))
}

func (c *compiler) plan() Plan {
	r := c.request
	p := Plan{QueryID: r.ID, Limit: r.Limit, Page: max(r.Page, 1), Filters: len(r.Filters)}
	if p.Limit == 0 {
		p.Limit = DefaultLimit
	}
	types := c.types()
	c.loadZone()
	c.checkFilters(types)
	c.checkGroupBy(types)
	c.checkSort(types)
	for i, t := range types {
		param := &r.Parameters[i]
		p.Names = append(p.Names, param.Name)
		rng, buckets, ok := c.rangeOf(i, t)
		if t != nil && ok && len(c.problems) == 0 {
			p.Statements = append(p.Statements, compileStatement(param.Label(), t, r, c.env.Subject, rng, buckets))
		}
	}
	return p
}

// types looks the parameters up; nil stands for an unknown one.
func (c *compiler) types() []*Type {
	params := c.request.Parameters
	switch {
	case len(params) == 0:
		c.add("parameters", "too_few", "At least one parameter is required", "")
	case len(params) > MaxParameters:
		c.problems = append(c.problems, tooMany(c.prefix+"parameters", "parameters", len(params), MaxParameters))
		return nil
	}
	types := make([]*Type, len(params))
	for i := range params {
		name := params[i].Name
		t := Lookup(name)
		switch {
		case t == nil:
			c.add(fmt.Sprintf("parameters[%d]", i), "unknown_type", "Unknown query type: "+echo(name), suggestType(name))
		case t.Subjects&c.env.Subject.Kind == 0:
			c.add(fmt.Sprintf("parameters[%d]", i), "unsupported_subject", "Query type "+name+" is not about this subject", "")
		default:
			types[i] = t
		}
	}
	return types
}

func (c *compiler) loadZone() {
	field, name := "timeZone", c.request.TimeZone
	if name == "" {
		field, name = "timezone", c.env.TimeZone
	}
	zone, err := LoadZone(name)
	if err != nil {
		c.add(field, "unknown_timezone", "Invalid timezone: "+echo(name), "Use an IANA name such as 'Europe/Berlin'")
		zone = time.UTC
	}
	c.zone = zone
}

func (c *compiler) checkFilters(types []*Type) {
	filters := c.request.Filters
	if len(filters) > MaxFilters {
		c.problems = append(c.problems, tooMany(c.prefix+"filters", "filters", len(filters), MaxFilters))
		return
	}
	for i := range filters {
		f := &filters[i]
		at := fmt.Sprintf("%sfilters[%d]", c.prefix, i)
		c.problems = append(c.problems, f.check(at)...)
		field := findField(f.Field)
		if field == nil {
			continue
		}
		for _, t := range distinct(types) {
			if !slices.Contains(t.Filters, field.Name) {
				c.problems = append(c.problems, problem(at+".field", "unsupported_filter",
					fmt.Sprintf("Filter %s is not supported by %s", f.Field, t.Name), supportedFilters(t)))
			}
		}
	}
}

// checkGroupBy refuses every grouping: no type of the catalogue allows one.
func (c *compiler) checkGroupBy(types []*Type) {
	for _, g := range c.request.GroupBy {
		for _, t := range distinct(types) {
			c.add("groupBy", "unsupported_group", fmt.Sprintf("Grouping by %s is not supported by %s", echo(g), t.Name), t.Name+" supports no groupBy")
		}
	}
}

func (c *compiler) checkSort(types []*Type) {
	r := c.request
	if r.SortOrder != "" && r.SortOrder != "asc" && r.SortOrder != "desc" {
		c.add("sortOrder", "unknown_order", "Invalid sortOrder: "+echo(r.SortOrder), "Use 'asc' or 'desc'")
	}
	if r.SortBy == "" && r.SortOrder == "" {
		return
	}
	field, asked := "sortBy", r.SortBy
	if r.SortBy == "" {
		field, asked = "sortOrder", r.SortOrder
	}
	sortable, single := 0, ""
	for _, t := range distinct(types) {
		if t.SingleRow() { // one row is in order, whatever the order
			single = t.Name
			continue
		}
		sortable++
		if r.SortBy != "" && !slices.Contains(t.Sorts, r.SortBy) {
			c.add("sortBy", "unsupported_sort", fmt.Sprintf("Sorting by %s is not supported by %s", echo(r.SortBy), t.Name), supportedSorts(t))
		}
	}
	if sortable == 0 && single != "" {
		c.add(field, "unsupported_sort", fmt.Sprintf("Sorting by %s is not supported by %s", echo(asked), single), single+" has one row")
	}
}

// rangeOf resolves the range of one parameter, and its buckets when the type is
// a series. ok is false when a problem was found.
func (c *compiler) rangeOf(i int, t *Type) (Range, []Bucket, bool) {
	before := len(c.problems)
	rng := Range{Zone: c.zone}
	r := c.request
	p, at := &r.Parameters[i], fmt.Sprintf("parameters[%d]", i)
	preset, isPreset := Range{}, false
	if r.Preset != "" {
		if preset, isPreset = PresetRange(r.Preset, c.env.Now, c.zone); !isPreset {
			c.once("preset", "unknown_preset", "Invalid date preset: "+echo(r.Preset), presetSuggestion())
			return rng, nil, false
		}
	}
	rng.Start = c.bound(at+".start_date", p.StartDate, "startDate", r.StartDate, preset.Start, isPreset, parseStart)
	rng.End = c.bound(at+".end_date", p.EndDate, "endDate", r.EndDate, preset.End, isPreset, parseEnd)
	if len(c.problems) > before || rng.Start.IsZero() || rng.End.IsZero() {
		return rng, nil, false
	}
	if !rng.Start.Before(rng.End) {
		c.once("endDate", "empty_range", "endDate must not be before startDate", "")
		return rng, nil, false
	}
	g := c.granularity(p, at, t)
	if t == nil || !t.Series || len(c.problems) > before {
		return rng, nil, len(c.problems) == before
	}
	if most := maxDays[g]; !rng.atMost(most) {
		c.once("granularity", "range_too_long", fmt.Sprintf("%s granularity is limited to %d days", granularityTitle[g], most), "Use a shorter range")
		return rng, nil, false
	}
	return rng, rng.Buckets(g), true
}

// bound reads one end of a range: the parameter's own, else the preset's, else
// the request's.
func (c *compiler) bound(
	ownField, own, field, given string, preset time.Time, isPreset bool,
	parse func(string, *time.Location) (time.Time, bool),
) time.Time {
	switch {
	case own != "":
		field, given = ownField, own
	case isPreset:
		return preset
	case given == "":
		c.once(field, "required", "Either "+field+" or preset is required", "")
		return time.Time{}
	}
	t, ok := parse(given, c.zone)
	if !ok {
		c.once(field, "invalid_date", "Invalid date: "+echo(given)+". Could not parse as a valid date", "")
		return time.Time{}
	}
	return t
}

// once adds a problem of the request that several parameters may run into.
func (c *compiler) once(field, rule, message, suggestion string) {
	for _, p := range c.problems {
		if p.Field == c.prefix+field && p.Message == message {
			return
		}
	}
	c.add(field, rule, message, suggestion)
}

func (c *compiler) granularity(p *Parameter, at string, t *Type) Granularity {
	field, name := "granularity", c.request.Granularity
	if p.Granularity != "" {
		field, name = at+".granularity", p.Granularity
	}
	if name == "" {
		return Daily
	}
	g, ok := parseGranularity(name)
	if !ok {
		c.once(field, "unknown_granularity", "Invalid granularity: "+echo(name), "Use 'hourly' or 'daily'")
		return Daily
	}
	if p.Granularity != "" && t != nil && !t.Series {
		c.once(field, "unsupported_granularity", "Granularity is not supported by "+t.Name, "")
	}
	return g
}

// distinct returns the types that are known, each once.
func distinct(types []*Type) []*Type {
	var all []*Type
	for _, t := range types {
		if t != nil && !slices.Contains(all, t) {
			all = append(all, t)
		}
	}
	return all
}

func sorted(names []string) []string {
	slices.Sort(names)
	return names
}
