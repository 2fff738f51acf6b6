package flag

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/contract/id"
	"github.com/millrace/millrace/internal/resource/flag/flageval"
)

// settle fills in what was not chosen, and brings times into the form in which they are
// kept. What the caller holds is not changed.
func (f *Flag) settle() {
	d := &f.Definition
	if f.About.Type == Boolean {
		f.defaults()
	}
	d.Schedule = inMillis(d.Schedule)
	d.Rules, d.Targets, d.Prerequisites = some(ruled(d.Rules)), some(d.Targets), some(d.Prerequisites)
	if len(d.Environments) == 0 {
		return
	}
	d.Environments = maps.Clone(d.Environments)
	for name, o := range d.Environments {
		if o.Schedule != nil {
			s := inMillis(*o.Schedule)
			o.Schedule = &s
		}
		if o.Rules != nil {
			rules := ruled(*o.Rules)
			o.Rules = &rules
		}
		if o.Targets != nil && *o.Targets == nil {
			o.Targets = &[]flageval.Target{} // nobody, which is not nothing
		}
		d.Environments[name] = o
	}
	f.derive()
}

// derive gives environments with rules or targets of their own the default that a boolean flag has
// with those, off, where the flag's follows and is on for everybody, and the environment names none.
func (f *Flag) derive() {
	d, was := &f.Definition, f.About.Derived
	f.About.Derived = nil
	for _, name := range slices.Sorted(maps.Keys(d.Environments)) {
		o := d.Environments[name]
		if slices.Contains(was, name) {
			o.DefaultVariant = nil
		}
		if f.About.Type == Boolean && !f.About.Chosen && d.DefaultVariant == "on" && o.DefaultVariant == nil && selects(o) {
			o.DefaultVariant, f.About.Derived = new("off"), append(f.About.Derived, name)
		}
		d.Environments[name] = o
	}
}

// selects reports whether an environment says by rules or targets of its own for whom a flag is on.
func selects(o flageval.Override) bool {
	return o.Rules != nil && len(*o.Rules) > 0 || o.Targets != nil && len(*o.Targets) > 0
}

// defaults are those of a boolean flag: it is on for everybody, or, where rules and targets
// say for whom it is on, off for all others.
func (f *Flag) defaults() {
	d := &f.Definition
	if len(d.Variants) == 0 {
		d.Variants = onOff()
	}
	if d.OffVariant == "" {
		d.OffVariant = "off"
	}
	if f.About.Chosen {
		return
	}
	if d.DefaultVariant = "off"; len(d.Rules)+len(d.Targets) == 0 {
		d.DefaultVariant = "on"
	}
}

func instant(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return t.UTC().Truncate(time.Millisecond)
}

func inMillis(s flageval.Schedule) flageval.Schedule {
	return flageval.Schedule{StartsAt: instant(s.StartsAt), EndsAt: instant(s.EndsAt)}
}

// some is a list, or nil for an empty one, as it is read back.
func some[T any](all []T) []T {
	if len(all) == 0 {
		return nil
	}
	return all
}

// ruled returns a copy of rules in which each has an id; it is never nil.
func ruled(all []flageval.Rule) []flageval.Rule {
	all = append([]flageval.Rule{}, all...)
	for i := range all {
		r := &all[i]
		if r.ID == "" {
			r.ID = id.New("rul")
		}
		r.Schedule = inMillis(r.Schedule)
		if r.Progressive != nil {
			p := *r.Progressive
			p.StartsAt, p.EndsAt = instant(p.StartsAt), instant(p.EndsAt)
			r.Progressive = &p
		}
	}
	return all
}

// ruleIDs notes ids of rules that are none, or another one's in the same environment.
func (f *Flag) ruleIDs(bad *apierr.Rejection) {
	lists := map[string][]flageval.Rule{"rules": f.Definition.Rules}
	for name, o := range f.Definition.Environments {
		if o.Rules != nil {
			lists["environments."+name+".rules"] = *o.Rules
		}
	}
	for _, path := range slices.Sorted(maps.Keys(lists)) {
		seen := make(map[string]bool)
		for i, r := range lists[path] {
			at := indexed(path, i) + ".id"
			switch {
			case !flageval.ValidKey(r.ID) || len(r.ID) > MaxRuleIDLen:
				bad.Add(at, "invalid_id", "%s must be 1 to %d letters, digits, dots, dashes or underscores",
					at, MaxRuleIDLen)
			case seen[r.ID]:
				bad.Add(at, "duplicate", "%s must be unique; another rule has the same id", at)
			}
			seen[r.ID] = true
		}
	}
}

// indexed is a path to one of a list.
func indexed(list string, i int) string { return fmt.Sprintf("%s[%d]", list, i) }
