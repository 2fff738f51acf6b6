package analytics

import (
	"fmt"

	"github.com/valyala/fastjson"
)

// filters reads a list of filters; level is how deep it stands, from 1.
func (d *decoder) filters(to *[]Filter, level int) func(string, *fastjson.Value) {
	return func(at string, v *fastjson.Value) {
		*to = []Filter{}
		d.array(func(at string, v *fastjson.Value) { *to = append(*to, d.filter(at, v, level)) })(at, v)
	}
}

// filter reads a comparison, or what combines some. Nothing below MaxFilterDepth
// is looked at.
func (d *decoder) filter(at string, v *fastjson.Value, level int) Filter {
	var f Filter
	if v.Type() != fastjson.TypeObject {
		d.add(at, "wrong_type", at+" must be an object")
		return f
	}
	if level > MaxFilterDepth {
		d.add(at, "too_deep", fmt.Sprintf("Filters are nested too deeply: at most %d levels are allowed", MaxFilterDepth))
		return f
	}
	before := len(d.problems)
	d.object(at+".", v, d.filterFields(&f, level))
	if len(d.problems) == before {
		d.oneForm(at, &f)
	}
	return f
}

func (d *decoder) filterFields(f *Filter, level int) fields {
	return fields{
		"field": d.text(&f.Field), "op": d.text(&f.Op), "value": d.values(f),
		"and": d.filters(&f.And, level+1), "or": d.filters(&f.Or, level+1),
		"not": func(at string, v *fastjson.Value) {
			inner := d.filter(at, v, level+1)
			f.Not = &inner
		},
	}
}

// oneForm rejects a filter that is several, and a comparison without its parts.
func (d *decoder) oneForm(at string, f *Filter) {
	forms := 0
	for _, has := range []bool{
		f.And != nil, f.Or != nil, f.Not != nil, f.Field != "" || f.Op != "" || f.list || len(f.Values) > 0,
	} {
		if has {
			forms++
		}
	}
	if forms > 1 {
		d.add(at, "ambiguous_filter", at+" must have exactly one of field, and, or, not")
		return
	}
	if key, _ := f.group(); key != "" {
		return
	}
	if f.Field == "" {
		d.add(at+".field", "required", at+".field is required")
	}
	if f.Op == "" {
		d.add(at+".op", "required", at+".op is required")
	}
}

// values reads what a comparison compares with: a scalar or an array of them.
func (d *decoder) values(f *Filter) func(string, *fastjson.Value) {
	scalar := func(at string, v *fastjson.Value) {
		if s, ok := scalarOf(v); ok {
			f.Values = append(f.Values, s)
			return
		}
		d.add(at, "wrong_type", at+" must be a string, a number or a boolean")
	}
	return func(at string, v *fastjson.Value) {
		switch v.Type() {
		case fastjson.TypeArray:
			f.list = true
			d.array(scalar)(at, v)
		case fastjson.TypeObject:
			d.add(at, "wrong_type", at+" must be a string, a number, a boolean or an array of them")
		default:
			scalar(at, v)
		}
	}
}

func scalarOf(v *fastjson.Value) (Scalar, bool) {
	switch v.Type() { //nolint:exhaustive // the others hold no scalar
	case fastjson.TypeString:
		return Scalar{Text: string(v.GetStringBytes())}, true
	case fastjson.TypeNumber:
		return Scalar{Kind: ScalarNumber, Text: string(v.MarshalTo(nil))}, true
	case fastjson.TypeTrue, fastjson.TypeFalse:
		return Scalar{Kind: ScalarBoolean, Text: v.String()}, true
	}
	return Scalar{}, false
}
