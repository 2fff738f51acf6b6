package analytics

import (
	"fmt"
	"slices"
	"time"

	"github.com/millrace/millrace/internal/contract/apierr"
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
	// ErrNotCovered; such a parameter fails alone. personal tells that the request filters or
	// groups by a Personal field, which is never public. nil rejects nothing.
	Reject func(t *Type, personal bool) error
	// Public reports whether the caller may ask for a type only because it is public. nil
	// stands for a caller who may ask for all that is not rejected.
	Public func(t *Type) bool
}

func (e *Environment) reject(t *Type, r *Request) error {
	if e.Reject == nil {
		return nil
	}
	field := r.personal()
	err := e.Reject(t, field != "")
	if err != nil && field != "" && e.Reject(t, false) == nil {
		return &PersonalFieldError{Name: field, Err: err}
	}
	return err
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

// once adds a problem of the request that several parameters may run into.
func (c *compiler) once(field, rule, message, suggestion string) {
	for _, p := range c.problems {
		if p.Field == c.prefix+field && p.Message == message {
			return
		}
	}
	c.add(field, rule, message, suggestion)
}
