package flageval

import "iter"

// Needs returns the flags that a flag has as prerequisites, but for those that are not in
// the set.
func (f *Flag) Needs() iter.Seq[*Flag] {
	return func(yield func(*Flag) bool) {
		for i := range f.needs {
			if need := f.needs[i].flag; need != nil && !yield(need) {
				return
			}
		}
	}
}

// Asks returns the places, among the segments that the set was compiled of, of those that
// the flag's rules ask for, in whatever environment. The same one may come again.
func (f *Flag) Asks() iter.Seq[int] {
	return func(yield func(int) bool) {
		for p := range f.plans() {
			for i := range p.rules {
				if r := &p.rules[i]; r.segmented && !r.conditions.asked(yield) {
					return
				}
			}
		}
	}
}

// asked tells the places of segments, and whether more of them are wanted.
func (c *conditions) asked(yield func(int) bool) bool {
	for i := range c.list {
		one := &c.list[i]
		if one.within != nil && !one.within.asked(yield) {
			return false
		}
		for _, s := range one.segments {
			if !yield(s.place) {
				return false
			}
		}
	}
	return true
}

// Static reports whether the flag serves everybody the same in an environment, and will
// until somebody changes it.
func (f *Flag) Static(environment string) bool {
	p := f.plan(environment)
	return len(p.users)+len(p.emails)+len(p.rules)+len(f.needs) == 0 && p.ends == forever
}

// plans returns what the flag does in each environment.
func (f *Flag) plans() iter.Seq[*plan] {
	return func(yield func(*plan) bool) {
		if !yield(f.base) {
			return
		}
		for _, p := range f.environments {
			if !yield(p) {
				return
			}
		}
	}
}
