package management

import (
	"github.com/millrace/millrace/internal/api/rpc"
	"github.com/millrace/millrace/internal/resource/link"
)

type ruleFields struct {
	ID         string            `json:"id,omitempty" minLength:"1" maxLength:"32" pattern:"^[A-Za-z0-9_-]+$" doc:"What clicks are counted by; made up where it is absent. Send it again to keep counting."`
	Conditions []conditionFields `json:"conditions" minItems:"1" maxItems:"10" doc:"All of them have to be so."`
	URL        string            `json:"url" minLength:"1" maxLength:"2048" doc:"Where the visitor is sent then."`
}

type conditionFields struct {
	Field string    `json:"field" enum:"country,region,city,device,os,browser,language,referrerHost,query,time"`
	Op    string    `json:"op" enum:"in,not_in,after,before" doc:"after and before for the field time, in and not_in for all others. What is not known of a visitor is in no list."`
	Name  string    `json:"name,omitempty" minLength:"1" maxLength:"100" doc:"The parameter of the short address, for the field query."`
	Value []string  `json:"value,omitempty" minItems:"1" maxItems:"250" maxLength:"100" doc:"The list of in and not_in; compared without case, but for the field query."`
	At    *rpc.Time `json:"at,omitempty" doc:"The time of after, which includes it, and before."`
}

type variantFields struct {
	ID     string `json:"id,omitempty" minLength:"1" maxLength:"32" pattern:"^[A-Za-z0-9_-]+$" doc:"What clicks are counted by; made up where it is absent. Send it again to keep counting."`
	URL    string `json:"url" minLength:"1" maxLength:"2048"`
	Weight int    `json:"weight" minimum:"1" maximum:"10000" doc:"How many visitors are sent there, next to the weights of the others."`
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
