package analytics

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/valyala/fastjson"

	"github.com/millrace/millrace/internal/contract/apierr"
)

// Decode reads the body of POST /v1/query: one request object, or an array of
// them, which batch reports. The error is an API error: Parse when the body is no
// JSON, Validation with every problem when a field is unknown, given twice or of
// the wrong type. What the values mean is checked by Compile.
func Decode(body []byte) (requests []Request, batch bool, err error) {
	v, err := Parse(body)
	if err != nil {
		return nil, false, err
	}
	d := &decoder{}
	switch v.Type() {
	case fastjson.TypeObject:
		requests = []Request{d.request("", v)}
	case fastjson.TypeArray:
		batch = true
		items := v.GetArray()
		switch {
		case len(items) == 0:
			d.add("", "too_few", "At least one query is required")
		case len(items) > MaxRequests:
			d.problems = append(d.problems, tooMany("", "queries", len(items), MaxRequests))
			items = nil
		}
		for i, item := range items {
			at := fmt.Sprintf("batch[%d]", i)
			if item.Type() != fastjson.TypeObject {
				d.add(at, "wrong_type", at+" must be an object")
				continue
			}
			requests = append(requests, d.request(at+".", item))
		}
	default:
		d.add("", "wrong_type", "Request body must be an object or an array of objects")
	}
	if err := invalid(d.problems); err != nil {
		return nil, batch, err
	}
	return requests, batch, nil
}

// Parse reads a body as JSON in UTF-8, nested 300 deep at most. The error is a Parse error.
func Parse(body []byte) (*fastjson.Value, error) {
	if !utf8.Valid(body) {
		return nil, &apierr.Error{Code: apierr.Parse, Message: "Request body is not valid UTF-8"}
	}
	v, err := fastjson.ParseBytes(body)
	if err != nil {
		return nil, apierr.Wrap(apierr.Parse, err)
	}
	// The parser is lenient about a few things that the validator rejects. The validator
	// comes second, because it goes as deep as a body does, and writes an error of each
	// level into that of the one above: a body of 100 KB took it more than a minute.
	if err := fastjson.ValidateBytes(body); err != nil {
		return nil, apierr.Wrap(apierr.Parse, err)
	}
	return v, nil
}

// decoder collects the problems of a body.
type decoder struct{ problems []apierr.Detail }

// full reports whether as many problems were found as are told: what comes after them is
// not read, so that a body costs no more for being wrong everywhere.
func (d *decoder) full() bool { return len(d.problems) >= MaxProblems }

func (d *decoder) add(field, rule, message string) {
	d.problems = append(d.problems, problem(field, rule, message, ""))
}

// fields says how each key of an object is read. at is the field's place.
type fields map[string]func(at string, v *fastjson.Value)

// object reads an object by its table of keys. null means absent.
func (d *decoder) object(prefix string, v *fastjson.Value, table fields) {
	d.open(prefix, v, table, nil)
}

// open reads an object whose other keys are for somebody else to read; nil rejects
// them.
func (d *decoder) open(prefix string, v *fastjson.Value, table fields, other func(name string, v *fastjson.Value)) {
	seen := map[string]bool{}
	o, err := v.Object()
	if err != nil {
		return
	}
	o.Visit(func(key []byte, v *fastjson.Value) {
		if d.full() {
			return
		}
		name := string(key)
		at := prefix + echo(name)
		read, ok := table[name]
		switch {
		case !ok && !seen[name] && other != nil:
			if v.Type() != fastjson.TypeNull {
				other(name, v)
			}
		case !ok && other == nil:
			names := make([]string, 0, len(table))
			for n := range table {
				names = append(names, n)
			}
			d.problems = append(d.problems,
				problem(at, "unknown_field", "Unknown field: "+echo(name), didYouMean(name, sorted(names), keySynonyms)))
		case seen[name]:
			d.add(at, "duplicate", echo(name)+" must be given only once")
		case v.Type() != fastjson.TypeNull:
			read(at, v)
		}
		seen[name] = true
	})
}

// BodyKeys are the keys of the objects of a body, in order: those of a request, of a
// parameter besides the options of its type, and of a filter.
func BodyKeys() (request, parameter, filter []string) {
	d := &decoder{}
	return d.requestFields(&Request{}).keys(), d.parameterFields(&Parameter{}).keys(), d.filterFields(&Filter{}, 1).keys()
}

func (f fields) keys() []string { return slices.Sorted(maps.Keys(f)) }

func (d *decoder) request(prefix string, v *fastjson.Value) Request {
	var r Request
	d.object(prefix, v, d.requestFields(&r))
	return r
}

func (d *decoder) requestFields(r *Request) fields {
	zone := d.single(d.text(&r.TimeZone))
	return fields{
		"id": d.label(&r.ID),
		"parameters": d.array(func(at string, v *fastjson.Value) {
			r.Parameters = append(r.Parameters,
				d.parameter(at, v))
		}),
		"startDate":   d.text(&r.StartDate),
		"endDate":     d.text(&r.EndDate),
		"preset":      d.text(&r.Preset),
		"timeZone":    zone,
		"timezone":    zone,
		"granularity": d.text(&r.Granularity),
		"filters":     d.filters(&r.Filters, 1),
		"groupBy":     d.texts(&r.GroupBy),
		"compare":     d.compare(&r.Compare),
		"sortBy":      d.text(&r.SortBy),
		"sortOrder":   d.text(&r.SortOrder),
		"limit": d.integer(&r.Limit, 1, "Limit must be at least 1", MaxLimit,
			fmt.Sprintf("Limit cannot exceed %d", MaxLimit)),
		"page": d.integer(&r.Page, 1, "Page must be at least 1", MaxPage,
			fmt.Sprintf("Page cannot exceed %d", MaxPage)),
	}
}

func (d *decoder) parameter(at string, v *fastjson.Value) Parameter {
	var p Parameter
	switch v.Type() {
	case fastjson.TypeString:
		d.text(&p.Name)(at, v)
	case fastjson.TypeObject:
		before := len(d.problems)
		d.open(at+".", v, d.parameterFields(&p),
			func(name string, v *fastjson.Value) { p.options = append(p.options, rawOption{name, v}) })
		if p.Name == "" && len(d.problems) == before {
			d.add(at+".name", "required", at+".name is required")
		}
	default:
		d.add(at, "wrong_type", at+" must be a string or an object")
		return p
	}
	return p
}

func (d *decoder) parameterFields(p *Parameter) fields {
	return fields{
		"name": d.text(&p.Name), "id": d.label(&p.ID), "start_date": d.text(&p.StartDate), "end_date": d.text(&p.EndDate),
		"granularity": d.text(&p.Granularity),
	}
}

// compare reads previous_period, or a range.
func (d *decoder) compare(to **Compare) func(string, *fastjson.Value) {
	return func(at string, v *fastjson.Value) {
		c := new(Compare)
		switch {
		case v.Type() == fastjson.TypeObject:
			before := len(d.problems)
			d.object(at+".", v, fields{"startDate": d.text(&c.StartDate), "endDate": d.text(&c.EndDate)})
			switch {
			case len(d.problems) > before:
			case c.StartDate == "":
				d.add(at+".startDate", "required", at+".startDate is required")
			case c.EndDate == "":
				d.add(at+".endDate", "required", at+".endDate is required")
			}
		case v.Type() != fastjson.TypeString || string(v.GetStringBytes()) != PreviousPeriod:
			d.problems = append(d.problems,
				problem(at, "wrong_type", at+" must be '"+PreviousPeriod+"' or an object with startDate and endDate", ""))
		}
		*to = c
	}
}

// single reads a field that has several names, under one of them.
func (d *decoder) single(read func(string, *fastjson.Value)) func(string, *fastjson.Value) {
	given := false
	return func(at string, v *fastjson.Value) {
		if given {
			d.add(at, "duplicate", at[strings.LastIndexByte(at, '.')+1:]+" must be given only once")
			return
		}
		given = true
		read(at, v)
	}
}

// text reads a string.
func (d *decoder) text(to *string) func(string, *fastjson.Value) {
	return func(at string, v *fastjson.Value) {
		b, err := v.StringBytes()
		if err != nil {
			d.add(at, "wrong_type", at+" must be a string")
			return
		}
		*to = string(b)
	}
}

// label reads a string that is echoed.
func (d *decoder) label(to *string) func(string, *fastjson.Value) {
	return func(at string, v *fastjson.Value) {
		d.text(to)(at, v)
		if len(*to) > MaxLabelLen {
			d.add(at, "too_long", fmt.Sprintf("%s must have at most %d bytes", at, MaxLabelLen))
		}
	}
}

// texts reads a string or an array of strings.
func (d *decoder) texts(to *[]string) func(string, *fastjson.Value) {
	return func(at string, v *fastjson.Value) {
		if v.Type() == fastjson.TypeString {
			var s string
			d.text(&s)(at, v)
			*to = []string{s}
			return
		}
		d.array(func(at string, v *fastjson.Value) {
			var s string
			d.text(&s)(at, v)
			*to = append(*to, s)
		})(at, v)
	}
}

func (d *decoder) array(item func(at string, v *fastjson.Value)) func(string, *fastjson.Value) {
	return func(at string, v *fastjson.Value) {
		items, err := v.Array()
		if err != nil {
			d.add(at, "wrong_type", at+" must be an array")
			return
		}
		for i, v := range items {
			if d.full() {
				return
			}
			item(at+"["+strconv.Itoa(i)+"]", v)
		}
	}
}

// integer reads a whole number within bounds.
func (d *decoder) integer(to *int, least int, below string, most int, above string) func(string, *fastjson.Value) {
	return func(at string, v *fastjson.Value) {
		f, err := v.Float64()
		switch {
		case err != nil:
			d.add(at, "wrong_type", at+" must be a number")
		case f != math.Trunc(f):
			d.add(at, "wrong_type", at+" must be a whole number")
		case f < float64(least):
			d.add(at, "too_small", below)
		case f > float64(most):
			d.add(at, "too_large", above)
		default:
			*to = int(f)
		}
	}
}
