package analytics

import (
	"fmt"
	"slices"
	"time"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/platform/timezone"
)

// Environment is what a request is read against.
type Environment struct {
	Subject Subject
	// TimeZone is the query string's; the body's own wins. Empty means UTC.
	TimeZone string
	Now      time.Time
	// Rollups lets answers come from tables that count ahead; Dirty are the days,
	// at midnight UTC, that those cannot answer for.
	Rollups bool
	Dirty   []time.Time
	// Reject says why the caller may not ask for a type, with ErrNoCredential or
	// ErrNotCovered; such a parameter fails alone. personal tells that the request asks
	// by who users are, which is never public. nil rejects nothing.
	Reject func(t *Type, personal bool) error
	// Public reports whether the caller may ask for a type only because it is public. nil
	// stands for a caller who may ask for all that is not rejected.
	Public func(t *Type) bool
}

func (e *Environment) reject(t *Type, r *Request) error {
	if e.Reject == nil {
		return nil
	}
	return e.Reject(t, r.personal())
}

// shown is a type as the caller sees it.
func (e *Environment) shown(t *Type) *Type {
	if t == nil || e.Public == nil || !e.Public(t) || !slices.ContainsFunc(t.Columns, isPersonalColumn) {
		return t
	}
	public := *t
	public.Columns = slices.Clone(t.Columns)
	for i := range public.Columns {
		if c := &public.Columns[i]; c.Personal {
			c.Expr = "''"
		}
	}
	return &public
}

func isPersonalColumn(c Column) bool { return c.Personal }

// Output is the response of one parameter of a request.
type Output struct {
	// Label is how the response names it: as the caller wrote it.
	Label string
	Type  *Type
	// Columns are those of the response.
	Columns []Column
	// Range and Granularity are what was asked of it; the latter is unset but for
	// series.
	Range       Range
	Granularity Granularity
	// Previous is the range that each row is compared with; nil without one.
	Previous *Range
	Applied  Applied
	// Statement is the place of what computes it in the plan's Statements; 0 for one
	// that is rejected.
	Statement int
	// Rejected is why nothing computes it: see Environment.Reject.
	Rejected error

	// part picks the output's own out of what its statement computes; nil where that
	// is all of it.
	part func(*Table) *Table
}

// pick returns the output's part of a statement's result.
func (o *Output) pick(t *Table) *Table {
	if o.part == nil || len(t.Columns) == 0 {
		return t
	}
	return o.part(t)
}

// Plan is a checked request.
type Plan struct {
	QueryID    string
	Statements []Statement
	// Outputs are the parameters' responses, in the order of the request.
	Outputs []Output
	// Names are the parameters as the caller named them.
	Names       []string
	Limit, Page int
	Filters     int // how many are applied
}

// Compile checks requests and turns them into plans. The error is a Validation
// error with every problem; in a batch the fields start with batch[i].
func Compile(requests []Request, batch bool, env Environment) ([]Plan, error) {
	plans := make([]Plan, 0, len(requests))
	var problems []apierr.Detail
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
	problems []apierr.Detail
}

func (c *compiler) add(field, rule, message, suggestion string) {
	c.problems = append(c.problems, problem(c.prefix+field, rule, message, suggestion))
}

func (c *compiler) plan() Plan {
	r := c.request
	p := Plan{QueryID: r.ID, Limit: r.Limit, Page: max(r.Page, 1), Filters: countFilters(r.Filters)}
	if p.Limit == 0 {
		p.Limit = DefaultLimit
	}
	types := c.types()
	given := make([]options, len(types))
	for i, t := range types {
		given[i] = c.checkOptions(i, t)
	}
	c.loadZone()
	c.checkFilters(types)
	c.checkGroupBy(types)
	if len(c.problems) == 0 {
		for i, t := range types {
			types[i] = c.env.shown(t).grouped(r.GroupBy)
		}
	}
	c.checkCompare(types)
	c.checkSort(types)
	c.request = r.ofEvents()
	var questions []asked
	for i, t := range types {
		param := &r.Parameters[i]
		p.Names = append(p.Names, param.Name)
		rng, buckets, ok := c.rangeOf(i, t)
		var earlier *query
		if t != nil && ok && len(c.problems) == 0 && r.Compare != nil {
			earlier = c.earlier(i, t, given[i], rng)
		}
		if t == nil || !ok || len(c.problems) > 0 {
			continue
		}
		o := Output{Label: param.Label(), Type: t, Columns: t.Columns, Range: rng, Applied: appliedTo(t,
			c.request), Rejected: c.env.reject(t, r)}
		switch {
		case t.ownRange() && t.Series:
			o.Granularity = Minutely
		case t.Series:
			o.Granularity = c.granularity(param, "", t)
		}
		if o.Rejected == nil {
			q := newQuery(t, c.request, given[i], c.env.Subject, rng, buckets)
			q.plan = q.choose(&c.env)
			if r.Compare != nil {
				previous := earlier.rng // as it was asked for: what is read may end later
				q.stepped, q.earlier, o.Columns, o.Previous = true, earlier, slices.Concat(t.Columns, compareColumns), &previous
			}
			questions = append(questions, asked{q, len(p.Outputs)})
		}
		p.Outputs = append(p.Outputs, o)
	}
	p.fuse(questions)
	c.env.Subject.narrow(p.Statements)
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
			c.add(fmt.Sprintf("parameters[%d]", i), "unsupported_subject",
				"Query type "+name+" is not about this subject", namedBy(t.Subjects))
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
	zone, err := timezone.Load(name)
	if err != nil {
		c.add(field, "unknown_timezone", "Invalid timezone: "+echo(name), "Use an IANA name such as 'Europe/Berlin'")
		zone = time.UTC
	}
	c.zone = zone
}

func (c *compiler) checkFilters(types []*Type) {
	c.problems = append(c.problems, checkFilters(c.prefix+"filters", c.request.Filters, types)...)
	for _, t := range distinctTypes(types) {
		for _, name := range t.Requires {
			if !pins(c.request.Filters, name) {
				c.add("filters", "required", fmt.Sprintf("%s needs a filter by %s", t.Name, name),
					`Add {"field":"`+name+`","op":"eq","value":"…"}`)
			}
		}
	}
}

// checkGroupBy checks what the responses are to be cut by.
func (c *compiler) checkGroupBy(types []*Type) {
	groups := c.request.GroupBy
	if len(groups) > MaxGroups {
		c.problems = append(c.problems, tooMany(c.prefix+"groupBy", "groups", len(groups), MaxGroups))
		return
	}
	for i, g := range groups {
		field := findField(g)
		if slices.ContainsFunc(groups[:i],
			func(other string) bool { return other == g || field != nil && findField(other) == field }) {
			c.add("groupBy", "duplicate", echo(g)+" is given twice", "")
		}
		for _, t := range distinctTypes(types) {
			if field == nil || !slices.Contains(t.Groups, field.Name) {
				c.add("groupBy", "unsupported_group",
					fmt.Sprintf("Grouping by %s is not supported by %s", echo(g), t.Name), supportedGroups(t))
			}
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
	for _, t := range distinctTypes(types) {
		if t.SingleRow() { // one row is in order, whatever the order
			single = t.Name
			continue
		}
		sortable++
		if r.SortBy != "" && !slices.Contains(t.Sorts, r.SortBy) {
			c.add("sortBy", "unsupported_sort",
				fmt.Sprintf("Sorting by %s is not supported by %s", echo(r.SortBy), t.Name), supportedSorts(t))
		}
	}
	if sortable == 0 && single != "" {
		c.add(field, "unsupported_sort",
			fmt.Sprintf("Sorting by %s is not supported by %s", echo(asked), single), single+" has one row")
	}
}

// rangeOf resolves the range of one parameter, and its buckets when the type is
// a series. ok is false when a problem was found.
func (c *compiler) rangeOf(i int, t *Type) (Range, []Bucket, bool) {
	before := len(c.problems)
	own := t != nil && t.ownRange()
	rng, ok := c.named(i, own)
	if !ok {
		return rng, nil, false
	}
	g := c.granularity(&c.request.Parameters[i], fmt.Sprintf("parameters[%d]", i), t)
	if own {
		rng = t.rangeAt(c.env.Now, c.zone)
		return rng, rng.Buckets(Minutely), len(c.problems) == before
	}
	if t == nil || !t.Series || len(c.problems) > before {
		return rng, nil, len(c.problems) == before
	}
	if most := g.MaxDays(); !rng.atMost(most) {
		c.once("granularity", "range_too_long", tooLong(g), "Use a shorter range")
		return rng, nil, false
	}
	return rng, rng.Buckets(g), true
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
		c.once(field, "unknown_granularity", "Invalid granularity: "+echo(name), granularitySuggestion())
		return Daily
	}
	if p.Granularity != "" && t != nil && len(t.Granularities()) == 0 {
		c.once(field, "unsupported_granularity", "Granularity is not supported by "+t.Name, "")
	}
	return g
}

// distinctTypes returns the types that are known, each once.
func distinctTypes(types []*Type) []*Type {
	return slices.DeleteFunc(distinct(types), func(t *Type) bool { return t == nil })
}

// distinct returns each of some values once, in the order of their first.
func distinct[T comparable](values []T) []T {
	var all []T
	for _, v := range values {
		if !slices.Contains(all, v) {
			all = append(all, v)
		}
	}
	return all
}

func sorted(names []string) []string {
	slices.Sort(names)
	return names
}
