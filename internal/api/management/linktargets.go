package management

import (
	"github.com/millrace/millrace/internal/api/rpc"
	"github.com/millrace/millrace/internal/resource/link"
)

type ruleFields struct {
	ID         string            `json:"id,omitempty" minLength:"1" maxLength:"32" pattern:"^[A-Za-z0-9_-]+$" doc:"Id by which clicks are counted; generated if absent. Send it again to continue the count."`
	Conditions []conditionFields `json:"conditions" minItems:"1" maxItems:"10" doc:"All of these conditions must be met."`
	URL        string            `json:"url" minLength:"1" maxLength:"2048" doc:"URL to which matching visitors are sent."`
}

type conditionFields struct {
	Field string    `json:"field" enum:"country,region,city,device,os,browser,language,referrerHost,query,time"`
	Op    string    `json:"op" enum:"in,not_in,after,before" doc:"after and before for the field time; in and not_in for all other fields. An unknown value of a visitor is in no list."`
	Name  string    `json:"name,omitempty" minLength:"1" maxLength:"100" doc:"Query parameter of the short URL, for the field query."`
	Value []string  `json:"value,omitempty" minItems:"1" maxItems:"250" maxLength:"100" doc:"List for in and not_in. Compared without regard to case, except for the field query."`
	At    *rpc.Time `json:"at,omitempty" doc:"Time for after, included, and for before, excluded."`
}

type variantFields struct {
	ID     string `json:"id,omitempty" minLength:"1" maxLength:"32" pattern:"^[A-Za-z0-9_-]+$" doc:"Id by which clicks are counted; generated if absent. Send it again to continue the count."`
	URL    string `json:"url" minLength:"1" maxLength:"2048"`
	Weight int    `json:"weight" minimum:"1" maximum:"10000" doc:"Share of the visitors, relative to the weights of the other variants."`
}

type previewFields struct {
	Title       string `json:"title,omitempty" maxLength:"200"`
	Description string `json:"description,omitempty" maxLength:"500"`
	ImageURL    string `json:"imageUrl,omitempty" minLength:"1" maxLength:"2048"`
}

// sentEach is sent of a list of which each entry becomes something else.
func sentEach[In, Out any](p rpc.Patch[[]In], to func(In) Out) *[]Out {
	if !p.Set {
		return nil
	}
	all := each(p.Or(nil), to)
	return &all
}

// each returns what becomes of each entry; an empty list for none.
func each[In, Out any](all []In, to func(In) Out) []Out {
	out := make([]Out, len(all))
	for i := range all {
		out[i] = to(all[i])
	}
	return out
}

func (f ruleFields) rule() link.Rule {
	return link.Rule{ID: f.ID, URL: f.URL, Conditions: each(f.Conditions, conditionFields.condition)}
}

func newRuleFields(r link.Rule) ruleFields {
	return ruleFields{ID: r.ID, URL: r.URL, Conditions: each(r.Conditions, newConditionFields)}
}

func (f conditionFields) condition() link.Condition {
	c := link.Condition{Field: f.Field, Op: f.Op, Name: f.Name, Values: f.Value}
	if f.At != nil {
		c.At = f.At.UTC()
	}
	return c
}

func newConditionFields(c link.Condition) conditionFields {
	return conditionFields{Field: c.Field, Op: c.Op, Name: c.Name, Value: c.Values, At: rpc.At(c.At)}
}

func (f variantFields) variant() link.Variant { return link.Variant(f) }

func newVariantFields(v link.Variant) variantFields { return variantFields(v) }
