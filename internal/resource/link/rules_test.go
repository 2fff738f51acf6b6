package link

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/contract/apierr"
)

const anywhere = "https://example.com"

// some returns n values that each fits a condition of a city.
func some(n int) []string {
	values := make([]string, n)
	for i := range values {
		values[i] = "city " + strconv.Itoa(i)
	}
	return values
}

func inCity(values ...string) Condition { return Condition{Field: City, Op: In, Values: values} }

func ruleOf(c ...Condition) *[]Rule { return &[]Rule{{URL: anywhere, Conditions: c}} }

func TestEachFieldOfATargetHasItsRule(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("n", MaxValueLen)
	rulesOf := func(n int) *[]Rule {
		all := make([]Rule, n)
		for i := range all {
			all[i] = (*ruleOf(inCity("x")))[0]
		}
		return &all
	}
	variants := func(n, weight int) *[]Variant {
		all := make([]Variant, n)
		for i := range all {
			all[i] = Variant{URL: anywhere, Weight: weight}
		}
		return &all
	}
	in := func(field string, values ...string) Fields {
		return Fields{Rules: ruleOf(Condition{Field: field, Op: In, Values: values})}
	}
	const value = "rules[0].conditions[0].value"
	for name, tc := range map[string]struct {
		fields Fields
		want   string // the field that is wrong; empty for none
	}{
		"as many rules as may be":   {Fields{Rules: rulesOf(MaxRules)}, ""},
		"one rule more":             {Fields{Rules: rulesOf(MaxRules + 1)}, "rules"},
		"a rule without conditions": {Fields{Rules: ruleOf()}, "rules[0].conditions"},
		"as many conditions as may be": {
			Fields{Rules: ruleOf(slices.Repeat([]Condition{inCity("x")}, MaxConditions)...)}, "",
		},
		"one condition more": {
			Fields{Rules: ruleOf(slices.Repeat([]Condition{inCity("x")}, MaxConditions+1)...)}, "rules[0].conditions",
		},
		"as many values as may be": {Fields{Rules: ruleOf(inCity(some(MaxValues)...))}, ""},
		"one value more":           {Fields{Rules: ruleOf(inCity(some(MaxValues + 1)...))}, value},
		"no value":                 {Fields{Rules: ruleOf(inCity())}, value},
		"an empty value":           {Fields{Rules: ruleOf(inCity("x", ""))}, value + "[1]"},
		"the longest value":        {Fields{Rules: ruleOf(inCity(long))}, ""},
		"a value too long":         {Fields{Rules: ruleOf(inCity(long + "n"))}, value + "[0]"},
		"too much text": {
			Fields{Rules: ruleOf(slices.Repeat([]Condition{inCity(slices.Repeat([]string{long}, 100)...)}, 7)...)}, "rules",
		},
		"a rule's address": {
			Fields{Rules: &[]Rule{{URL: "javascript:x", Conditions: []Condition{inCity("x")}}}}, "rules[0].url",
		},
		"another field": {in("moon", "x"), "rules[0].conditions[0].field"},
		"another operator": {
			Fields{Rules: ruleOf(Condition{Field: City, Op: "like", Values: []string{"x"}})}, "rules[0].conditions[0].op",
		},
		"a city after": {
			Fields{Rules: ruleOf(Condition{Field: City, Op: After, At: now})}, "rules[0].conditions[0].op",
		},
		"a time in": {in(Time, "x"), "rules[0].conditions[0].op"},
		"a time":    {Fields{Rules: ruleOf(Condition{Field: Time, Op: Before, At: now})}, ""},
		"a time without one": {
			Fields{Rules: ruleOf(Condition{Field: Time, Op: Before})}, "rules[0].conditions[0].at",
		},
		"a time with a value": {
			Fields{Rules: ruleOf(Condition{Field: Time, Op: Before, At: now, Values: []string{"x"}})}, value,
		},
		"a city with a time": {
			Fields{Rules: ruleOf(Condition{Field: City, Op: In, At: now, Values: []string{"x"}})}, "rules[0].conditions[0].at",
		},
		"a parameter": {
			Fields{Rules: ruleOf(Condition{Field: Query, Op: In, Name: "src", Values: []string{""}})}, "",
		},
		"a parameter without a name": {in(Query, "x"), "rules[0].conditions[0].name"},
		"a city with a name": {
			Fields{Rules: ruleOf(Condition{Field: City, Op: In, Name: "x", Values: []string{"x"}})},
			"rules[0].conditions[0].name",
		},
		"countries":                  {in(Country, "de", "AT"), ""},
		"a country's name":           {in(Country, "DE", "Germany"), value + "[1]"},
		"a country of digits":        {in(Country, "12"), value + "[0]"},
		"devices":                    {in(Device, "Mobile", "tv"), ""},
		"another device":             {in(Device, "phone"), value + "[0]"},
		"languages":                  {in(Language, "de", "pt-BR", "zh-hans-cn"), ""},
		"no language":                {in(Language, "d"), value + "[0]"},
		"a language of two":          {in(Language, "de,en"), value + "[0]"},
		"a host":                     {in(ReferrerHost, "News.Example.com"), ""},
		"an address as a host":       {in(ReferrerHost, "https://news.example.com"), value + "[0]"},
		"no variants":                {Fields{Variants: variants(0, 1)}, ""},
		"one variant":                {Fields{Variants: variants(1, 1)}, "variants"},
		"two variants":               {Fields{Variants: variants(MinVariants, 1)}, ""},
		"as many variants as may be": {Fields{Variants: variants(MaxVariants, MaxWeight)}, ""},
		"one variant more":           {Fields{Variants: variants(MaxVariants+1, 1)}, "variants"},
		"a variant's address": {
			Fields{Variants: &[]Variant{{URL: anywhere, Weight: 1}, {URL: "https://go.example.com", Weight: 1}}},
			"variants[1].url",
		},
		"two of one id": {
			Fields{Variants: &[]Variant{{ID: "a", URL: anywhere, Weight: 1}, {ID: "a", URL: anywhere, Weight: 1}}},
			"variants[1].id",
		},
		"the longest id": {
			Fields{Variants: &[]Variant{{ID: long[:MaxTargetID], URL: anywhere, Weight: 1}, {URL: anywhere, Weight: 1}}}, "",
		},
		"an id too long": {
			Fields{Variants: &[]Variant{{ID: long[:MaxTargetID+1], URL: anywhere, Weight: 1}, {URL: anywhere, Weight: 1}}},
			"variants[0].id",
		},
		"an id of other characters": {
			Fields{Rules: &[]Rule{{ID: "a b", URL: anywhere, Conditions: []Condition{inCity("x")}}}}, "rules[0].id",
		},
		"the longest preview": {
			Fields{Preview: &Preview{strings.Repeat("ü", 200), strings.Repeat("ü", 500), anywhere}}, "",
		},
		"a title too long": {Fields{Preview: &Preview{Title: strings.Repeat("ü", 201)}}, "preview.title"},
		"a description too long": {
			Fields{Preview: &Preview{Description: strings.Repeat("ü", 501)}}, "preview.description",
		},
		"an image that a browser would run": {Fields{Preview: &Preview{ImageURL: "data:text/html,x"}}, "preview.imageUrl"},
	} {
		err := tc.fields.apply(&Link{}, &rules)
		f, _ := errors.AsType[*apierr.Error](err)
		if tc.want == "" && err != nil ||
			tc.want != "" && (f == nil || len(f.Details) != 1 || f.Details[0].Field != tc.want) {
			t.Errorf("%s: %v, want a fault of %q", name, err, tc.want)
		}
	}
	for weight, ok := range map[int]bool{0: false, 1: true, MaxWeight: true, MaxWeight + 1: false} {
		fields := Fields{Variants: variants(2, weight)}
		if err := fields.apply(&Link{}, &rules); (err == nil) != ok {
			t.Errorf("weight %d: %v", weight, err)
		}
	}
}

func TestRulesAndVariantsHaveAnID(t *testing.T) {
	t.Parallel()
	var l Link
	sent := []Variant{{ID: "mine", URL: anywhere, Weight: 1}, {URL: anywhere, Weight: 1}}
	fields := Fields{Rules: ruleOf(Condition{Field: Country, Op: In, Values: []string{"de"}}), Variants: &sent}
	if err := fields.apply(&l, &rules); err != nil {
		t.Fatal(err)
	}
	if l.Rules[0].ID == "" || l.Variants[0].ID != "mine" || l.Variants[1].ID == "" ||
		l.Rules[0].Conditions[0].Values[0] != "DE" {
		t.Errorf("%+v", l)
	}
	if sent[1].ID != "" || (*fields.Rules)[0].Conditions[0].Values[0] != "de" {
		t.Error("what the caller sent has changed")
	}
}
