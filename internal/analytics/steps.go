package analytics

import (
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/valyala/fastjson"
)

// step is one place in a funnel: the events of a name, on a page, that filters
// keep. One of the three is given.
type step struct {
	name, event, path string
	filters           []Filter
}

// label is how a response calls the step.
func (s *step) label(i int) string {
	for _, text := range []string{s.name, s.event, s.path} {
		if text != "" {
			return text
		}
	}
	return "Step " + strconv.Itoa(i+1)
}

// readSteps reads a list of steps. Their labels are the option's parameter; all of
// their filters together are as many as a request may have.
func readSteps(d *decoder, at string, o *Option, v *fastjson.Value, t *Type, subject SubjectKind) options {
	var steps []step
	if v != nil {
		d.array(func(at string, v *fastjson.Value) { steps = append(steps, d.step(at, v)) })(at, v)
		d.count(at, o, len(steps), "steps")
	}
	var all options
	labels, comparisons := make([]string, len(steps)), 0
	for i := range steps {
		labels[i] = steps[i].label(i)
		comparisons += countFilters(steps[i].filters)
	}
	if comparisons > MaxFilters {
		d.problems = append(d.problems, tooMany(at, "filters", comparisons, MaxFilters))
		return all
	}
	all.params = append(all.params, stringsParam(o.param(), labels))
	for i := range steps {
		d.problems = append(d.problems, checkFilters(fmt.Sprintf("%s[%d].filters", at, i), steps[i].filters, []*Type{t})...)
		if len(d.problems) == 0 {
			kept := steps[i].conditions(fmt.Sprintf("%s_%d_", o.param(), i), t, subject)
			all.steps, all.params = append(all.steps, kept), append(all.params, kept.params...)
		}
	}
	return all
}

func (d *decoder) step(at string, v *fastjson.Value) step {
	var s step
	if v.Type() != fastjson.TypeObject {
		d.add(at, "wrong_type", at+" must be an object")
		return s
	}
	before := len(d.problems)
	d.object(at+".", v, fields{
		"name": d.label(&s.name), "event": d.text(&s.event), "path": d.text(&s.path), "filters": d.filters(&s.filters, 1),
	})
	for part, text := range map[string]string{"event": s.event, "path": s.path} {
		if utf8.RuneCountInString(text) > MaxFilterValueLen {
			d.add(at+"."+part, "too_long", fmt.Sprintf("%s.%s must have at most %d characters", at, part, MaxFilterValueLen))
		}
	}
	if len(d.problems) == before && s.event == "" && s.path == "" && len(s.filters) == 0 {
		d.add(at, "required", at+" must have an event, a path or filters")
	}
	return s
}

// conditions are the predicates of a step on events.
func (s *step) conditions(prefix string, t *Type, subject SubjectKind) conditions {
	kept := compileFilters(prefix, s.filters, t, subject)
	for _, part := range []struct{ name, column, text string }{{"path", "e.path", s.path}, {"event", "e.name", s.event}} {
		if part.text != "" {
			p := stringParam(prefix+part.name, part.text)
			kept.params = append(kept.params, p)
			kept.where = append([]string{fmt.Sprintf("%s = {%s:%s}", part.column, p.Name, p.Type)}, kept.where...)
		}
	}
	return kept
}
