package flageval

import (
	"fmt"
	"unicode/utf8"
)

// group looks at conditions and those within.
func (c *checker) group(path string, is *Conditions) {
	if n := is.count(); n > MaxConditions {
		c.add(path, "too_many", "has %d conditions; at most %d are allowed", n, MaxConditions)
		return
	}
	c.within(path, is, 1)
}

// count returns how many questions there are.
func (is *Conditions) count() (n int) {
	for _, list := range [][]Condition{is.All, is.Any} {
		for i := range list {
			if list[i].nested() {
				n += list[i].count()
			} else {
				n++
			}
		}
	}
	return n
}

func (c *checker) within(path string, is *Conditions, depth int) {
	switch {
	case depth > MaxDepth:
		c.add(path, "too_deep", "must be nested at most %d levels deep", MaxDepth)
		return
	case len(is.All) > 0 && len(is.Any) > 0:
		c.add(path, "one_of", "must have either all or any, not both")
	}
	c.conditions(path+".all", is.All, depth)
	c.conditions(path+".any", is.Any, depth)
}

func (c *checker) conditions(path string, list []Condition, depth int) {
	for i := range list {
		at := fmt.Sprintf("%s[%d]", path, i)
		if list[i].nested() {
			c.alone(at, &list[i])
			c.within(at, &list[i].Conditions, depth+1)
			continue
		}
		c.condition(at, &list[i])
	}
}

// alone notes what stands beside conditions within a condition: a question beside them would be
// asked of nobody, and a negation would be none.
func (c *checker) alone(path string, is *Condition) {
	if is.Attribute != "" || is.Op != "" || len(is.Values) > 0 || is.Negate || is.CaseInsensitive {
		c.add(path, "one_of", "has nested conditions and must not have attribute, op, values, negate or caseInsensitive; "+
			"to negate it, negate each nested condition and exchange \"all\" and \"any\"")
	}
}

func (c *checker) condition(path string, is *Condition) {
	op := operatorOf(is.Op)
	switch {
	case op == nil:
		c.add(path+".op", "unknown_operator", "must be an operator; %q is unknown", is.Op)
		return
	case is.Attribute == attrIP && op.operand != networks && op.operand != nothing:
		c.add(path+".op", "needs_network", "must be %s or %s for the attribute %s", OpIPInRange, OpExists, attrIP)
	case op.attr == "" && op.operand != segments:
		c.text(path+".attribute", is.Attribute, MaxIDLen)
	}
	if c.count(path+".values", op, len(is.Values)) {
		c.values(path+".values", is)
	}
}

// count looks at how many values an operator has.
func (c *checker) count(path string, op *operator, n int) bool {
	most := MaxValues
	switch {
	case op.operand == nothing:
		most = 0
	case op.most > 0:
		most = op.most
	}
	if n == 0 && most > 0 {
		c.add(path, "required", "must have at least one entry")
	}
	return c.atMost(path, n, most)
}

func (c *checker) values(path string, is *Condition) {
	one := compiler{set: &Set{}}
	for i, v := range is.Values {
		at, made := fmt.Sprintf("%s[%d]", path, i), condition{op: operatorOf(is.Op), fold: is.CaseInsensitive}
		text, isText := v.(string)
		switch {
		case isText && utf8.RuneCountInString(text) > MaxValueLen:
			c.add(at, "too_long", "has %d characters; at most %d are allowed", utf8.RuneCountInString(text), MaxValueLen)
		case isText && made.op.operand == patterns:
			c.pattern(at, made.pattern(text))
		case inexact(v):
			c.add(at, "inexact", "has more than 15 digits; send it as a string, or with fewer digits")
		default:
			if err := one.operand(&made, ValueOf(v)); err != nil {
				c.add(at, "invalid_value", "%s", err)
			}
		}
	}
}

// asks reports whether one of the conditions has values of a kind.
func (is *Conditions) asks(kind operand) bool {
	for _, list := range [][]Condition{is.All, is.Any} {
		for i := range list {
			if list[i].nested() && list[i].asks(kind) {
				return true
			}
			if op := operatorOf(list[i].Op); op != nil && op.operand == kind {
				return true
			}
		}
	}
	return false
}
