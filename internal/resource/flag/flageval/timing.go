package flageval

import (
	"math"
	"time"
)

// always and forever are the ends of a time without bounds, in Unix milliseconds.
const (
	always  = math.MinInt64
	forever = math.MaxInt64
)

// Timing is when flags serve something else by themselves.
type Timing struct {
	// Instants are those at which a schedule or a ramp begins or ends, in no order; one
	// may come again.
	Instants []time.Time
	// Ramps are the times in which a percentage changes all the while.
	Ramps []Span
}

// Span is a time, from an instant up to another.
type Span struct{ From, To time.Time }

// Add adds the times of a flag, in whatever environment; those of its prerequisites are
// their own. Conditions that count from now, such as dateBefore -7d, have no times.
func (t *Timing) Add(f *Flag) {
	for p := range f.plans() {
		if !p.active {
			continue
		}
		t.within(p.starts, p.ends, p.starts, p.ends)
		for i := range p.rules {
			t.rule(p, &p.rules[i])
		}
	}
}

// rule adds what a rule changes while its flag is on.
func (t *Timing) rule(p *plan, r *rule) {
	from, to := max(p.starts, r.starts), min(p.ends, r.ends)
	if from >= to {
		return
	}
	t.within(from, to, r.starts, r.ends)
	ramp := &r.rollout
	if r.kind != ByRollout || ramp.from == ramp.to {
		return
	}
	t.within(from, to, ramp.starts, ramp.ends)
	if from, to = max(from, ramp.starts), min(to, ramp.ends); from < to {
		t.Ramps = append(t.Ramps, Span{time.UnixMilli(from), time.UnixMilli(to)})
	}
}

// within adds the instants that lie in a time, its end included.
func (t *Timing) within(from, to int64, instants ...int64) {
	for _, at := range instants {
		if at >= from && at <= to && at != always && at != forever {
			t.Instants = append(t.Instants, time.UnixMilli(at))
		}
	}
}
