package analytics

import (
	"slices"
	"strconv"
	"strings"
)

// Parameters of one request that read the same events are computed in one scan of
// them: breakdowns of page views by grouping sets, and measures of one row, or of
// the same buckets, side by side.

// asked is a question and the output that it answers.
type asked struct {
	q      *query
	output int // its place in the plan's Outputs
}

// fuse adds the statements of a plan's questions, as few as can be.
func (p *Plan) fuse(questions []asked) {
	questions = p.addEmpty(questions)
	var views []asked
	for _, a := range questions {
		if a.q.fusable() && a.q.isBreakdown() {
			views = append(views, a)
		}
	}
	if len(views) < 2 || len(views)*views[0].q.limit() > MaxLimit {
		views = nil
	}
	counted, visited := dimensional(questions), ofVisits(questions)
	alike := map[string][]asked{} // by what they read
	var order []string
	for _, a := range questions {
		key, named := "", false // named tells that columns are told apart by their names
		switch {
		case slices.Contains(views, a):
			key = "views " + a.q.rangeKey() + " " + appliedTo(a.q.typ, a.q.request).Sort
		case slices.Contains(counted, a):
			key = "counted " + a.q.rangeKey()
		case slices.Contains(visited, a):
			key, named = "visits "+a.q.visitsKey(), true
		case a.q.fusable() && a.q.hasMeasures():
			key, named = a.q.measuresKey(), true
		}
		if key == "" || named && !mergeable(alike[key], a) {
			key = "alone " + strconv.Itoa(a.output)
		}
		if alike[key] == nil {
			order = append(order, key)
		}
		alike[key] = append(alike[key], a)
	}
	for _, key := range order {
		group := alike[key]
		switch {
		case len(group) == 1:
			p.add(group[0].q.statement(), group[0].output)
		case strings.HasPrefix(key, "views "):
			p.addViews(group)
		case strings.HasPrefix(key, "counted "):
			p.addCounted(group)
		case strings.HasPrefix(key, "visits "):
			p.addVisits(group)
		default:
			p.addMeasures(group)
		}
	}
}

// addEmpty adds the statements that have no rows, each for itself, and returns the other
// questions.
func (p *Plan) addEmpty(questions []asked) []asked {
	var others []asked
	for _, a := range questions {
		if a.q.beyond() {
			p.add(a.q.statement(), a.output)
		} else {
			others = append(others, a)
		}
	}
	return others
}

func (p *Plan) add(s Statement, outputs ...int) {
	for _, i := range outputs {
		p.Outputs[i].Statement = len(p.Statements)
	}
	p.Statements = append(p.Statements, s)
}

// fusable reports whether nothing about a question is its own but what it measures.
func (q *query) fusable() bool {
	return !q.plan.rollup && q.earlier == nil && len(q.options.params) == 0 && len(q.kept.having) == 0 &&
		len(q.typ.groups) == 0 && len(q.typ.Measures) == 0
}

func (q *query) rangeKey() string {
	return strconv.FormatInt(q.rng.Start.UnixMilli(), 10) + " " + strconv.FormatInt(q.rng.End.UnixMilli(), 10) + " " +
		strconv.Itoa(len(q.buckets))
}
