package link

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/millrace/millrace/internal/contract/apierr"
)

// Limits of rules.
const (
	MaxRules      = 20  // of a link
	MaxConditions = 10  // of a rule
	MaxValues     = 250 // of a condition: all countries fit
	MaxValueLen   = 100 // code points of each
	MaxTargetID   = 32  // bytes of the id of a rule or a variant
	MaxRulesBytes = 1 << 16
)

// Rule sends visitors who meet all its conditions to an address of its own. Of a link's
// rules the first that is met counts.
type Rule struct {
	// ID names the rule in what is counted of it, and is unlike that of every other rule
	// of the link.
	ID         string      `json:"id"`
	Conditions []Condition `json:"conditions"` // at least one
	URL        string      `json:"url"`
}

// Condition is what has to be so of a visitor.
type Condition struct {
	Field string `json:"field"`
	Op    string `json:"op"`
	// Name is that of the parameter, of the field Query.
	Name string `json:"name,omitempty"`
	// Values are those of the operators In and NotIn. They are compared without case, but
	// for those of the field Query.
	Values []string `json:"value,omitempty"`
	// At is the time of the operators After, which includes it, and Before, which does
	// not.
	At time.Time `json:"at,omitzero"`
}

// The fields of conditions.
const (
	Country      = "country" // ISO 3166-1 code of two letters
	Region       = "region"
	City         = "city"
	Device       = "device" // one of Devices
	OS           = "os"
	Browser      = "browser"
	Language     = "language" // a tag such as "de"; it stands for "de-AT" too
	ReferrerHost = "referrerHost"
	Query        = "query" // a parameter of the short address
	Time         = "time"
)

// The operators of conditions: Time takes After and Before, all else In and NotIn. What is
// not known of a visitor is in no list.
const (
	In     = "in"
	NotIn  = "not_in"
	After  = "after"
	Before = "before"
)

// ConditionFields and Operators are all there are.
var (
	ConditionFields = []string{Country, Region, City, Device, OS, Browser, Language, ReferrerHost, Query, Time}
	Operators       = []string{In, NotIn, After, Before}
)

// Devices are the values of the field Device.
var Devices = []string{"desktop", "mobile", "tablet", "tv", "console", "other"}

// setRules keeps rules, with an id for each that has none.
func (l *Link) setRules(bad *apierr.Rejection, all []Rule, rules *Rules) {
	if len(all) > MaxRules {
		bad.Add("rules", "too_many", "rules has %d entries; at most %d are allowed", len(all), MaxRules)
		return
	}
	l.Rules = slices.Clone(all)
	size := 0
	ids := map[string]bool{}
	for i := range l.Rules {
		r, at := &l.Rules[i], fmt.Sprintf("rules[%d]", i)
		takeID(bad, at+".id", &r.ID, ids)
		rules.checkURL(bad, at+".url", r.URL)
		r.check(bad, at)
		size += r.size()
	}
	if size > MaxRulesBytes {
		bad.Add("rules", "too_long", "rules has %d bytes of text; at most %d are allowed", size, MaxRulesBytes)
	}
}

func (r *Rule) size() int {
	n := len(r.URL)
	for i := range r.Conditions {
		for _, v := range r.Conditions[i].Values {
			n += len(v)
		}
	}
	return n
}

func (r *Rule) check(bad *apierr.Rejection, at string) {
	switch n := len(r.Conditions); {
	case n == 0:
		bad.Add(at+".conditions", "required", "%s.conditions must not be empty", at)
	case n > MaxConditions:
		bad.Add(at+".conditions", "too_many", "%s.conditions has %d entries; at most %d are allowed", at, n, MaxConditions)
		return
	}
	r.Conditions = slices.Clone(r.Conditions)
	for i := range r.Conditions {
		r.Conditions[i].check(bad, fmt.Sprintf("%s.conditions[%d]", at, i))
	}
}

func (c *Condition) check(bad *apierr.Rejection, at string) {
	if !slices.Contains(ConditionFields, c.Field) {
		bad.Add(at+".field", "enum", "%s.field must be one of %s", at, strings.Join(ConditionFields, ", "))
		return
	}
	ofTime := c.Op == After || c.Op == Before
	if !slices.Contains(Operators, c.Op) || ofTime != (c.Field == Time) {
		ops := "in or not_in"
		if c.Field == Time {
			ops = "after or before"
		}
		bad.Add(at+".op", "enum", "%s.op must be %s for the field %s", at, ops, c.Field)
		return
	}
	c.checkName(bad, at)
	if ofTime {
		c.checkTime(bad, at)
		return
	}
	if !c.At.IsZero() {
		bad.Add(at+".at", "not_taken", "%s.at must be absent unless field is %s", at, Time)
	}
	c.checkValues(bad, at)
}

func (c *Condition) checkName(bad *apierr.Rejection, at string) {
	switch {
	case c.Field != Query && c.Name != "":
		bad.Add(at+".name", "not_taken", "%s.name must be absent unless field is %s", at, Query)
	case c.Field == Query && c.Name == "":
		bad.Add(at+".name", "required", "%s.name must be the name of a query parameter", at)
	default:
		checkText(bad, at+".name", c.Name, MaxValueLen)
	}
}

func (c *Condition) checkTime(bad *apierr.Rejection, at string) {
	if c.At.IsZero() {
		bad.Add(at+".at", "required", "%s.at must be a time", at)
	}
	if len(c.Values) > 0 {
		bad.Add(at+".value", "not_taken", "%s.value must be absent if field is %s", at, Time)
	}
	c.At = c.At.UTC().Truncate(time.Millisecond)
}

func (c *Condition) checkValues(bad *apierr.Rejection, at string) {
	switch n := len(c.Values); {
	case n == 0:
		bad.Add(at+".value", "required", "%s.value must not be empty", at)
	case n > MaxValues:
		bad.Add(at+".value", "too_many", "%s.value has %d entries; at most %d are allowed", at, n, MaxValues)
		return
	}
	c.Values = slices.Clone(c.Values)
	for i := range c.Values {
		c.checkValue(bad, fmt.Sprintf("%s.value[%d]", at, i), &c.Values[i])
	}
}

func (c *Condition) checkValue(bad *apierr.Rejection, at string, value *string) {
	if *value == "" && c.Field != Query {
		bad.Add(at, "required", "%s must not be empty", at)
		return
	}
	checkText(bad, at, *value, MaxValueLen)
	switch c.Field {
	case Country:
		if *value = strings.ToUpper(*value); len(*value) != 2 || strings.Trim(*value, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
			bad.Add(at, "country", "%s must be a two-letter country code", at)
		}
	case Device:
		if *value = strings.ToLower(*value); !slices.Contains(Devices, *value) {
			bad.Add(at, "enum", "%s must be one of %s", at, strings.Join(Devices, ", "))
		}
	case Language:
		if *value = strings.ToLower(*value); !isLanguage(*value) {
			bad.Add(at, "language", "%s must be a language tag such as de or pt-br", at)
		}
	case ReferrerHost:
		if *value = strings.ToLower(*value); strings.ContainsAny(*value, "/:@ ?#") {
			bad.Add(at, "host", "%s must be a host name such as news.example.com", at)
		}
	}
}

// isLanguage takes tags of letters and digits with hyphens between them.
func isLanguage(tag string) bool {
	first := true
	for part := range strings.SplitSeq(tag, "-") {
		if len(part) == 0 || len(part) > 8 || first && len(part) == 1 || strings.ContainsFunc(part, notInTag) {
			return false
		}
		first = false
	}
	return true
}

func notInTag(r rune) bool { return r >= utf8.RuneSelf || notInSlug(r) || r == '-' || r == '_' }

// takeID checks the id of a rule or a variant, and makes one up where there is none.
func takeID(bad *apierr.Rejection, at string, id *string, taken map[string]bool) {
	switch {
	case *id == "":
		*id = newSlug()
	case len(*id) > MaxTargetID || strings.ContainsFunc(*id, notInSlug):
		bad.Add(at, "invalid_id", "%s must be 1 to %d letters, digits, hyphens and underscores", at, MaxTargetID)
	case taken[*id]:
		bad.Add(at, "unique", "%s must be unique; another entry has the same id", at)
	}
	taken[*id] = true
}
