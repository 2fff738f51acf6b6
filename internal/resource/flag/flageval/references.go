package flageval

import (
	"fmt"
	"maps"
	"slices"
)

// SegmentsAsked returns the segments that the rules ask for, in every environment, by their
// keys, each with the path of the first value that names it.
func (d *Definition) SegmentsAsked() map[string]string {
	asked := make(map[string]string)
	askedBy("", d.Rules, asked)
	for _, environment := range slices.Sorted(maps.Keys(d.Environments)) {
		if rules := d.Environments[environment].Rules; rules != nil {
			askedBy("environments."+environment+".", *rules, asked)
		}
	}
	return asked
}

func askedBy(path string, rules []Rule, asked map[string]string) {
	for i := range rules {
		if rules[i].Conditions != nil {
			rules[i].Conditions.segments(fmt.Sprintf("%srules[%d].conditions", path, i), asked)
		}
	}
}

func (is *Conditions) segments(path string, asked map[string]string) {
	for name, list := range map[string][]Condition{"all": is.All, "any": is.Any} {
		for i := range list {
			at := fmt.Sprintf("%s.%s[%d]", path, name, i)
			if list[i].nested() {
				list[i].segments(at, asked)
			} else if list[i].Op == OpInSegment {
				list[i].named(at, asked)
			}
		}
	}
}

func (c *Condition) named(path string, asked map[string]string) {
	for i, v := range c.Values {
		key, ok := v.(string)
		if _, known := asked[key]; ok && !known {
			asked[key] = fmt.Sprintf("%s.values[%d]", path, i)
		}
	}
}
