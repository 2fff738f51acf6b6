package flageval

import (
	"context"
	"slices"
	"time"
	"unicode"
	"unicode/utf8"
)

// Reason is why somebody gets a variant.
type Reason uint8

// The reasons, in the order in which they are looked for.
const (
	Off Reason = iota
	PrerequisiteFailed
	ByTarget
	ByRule
	ByRollout
	BySplit
	RolloutMiss
	ByDefault
)

var reasons = [...]string{"off", "prerequisite_failed", "target", "rule", "rollout", "split", "rollout_miss", "default"}

// String returns the reason as it is told.
func (r Reason) String() string { return reasons[r] }

// Result is what somebody gets.
type Result struct {
	Variant int // its place among the flag's variants
	Reason  Reason
	// Rule is the place of the rule that decided among the flag's rules in the
	// environment; -1 for none.
	Rule int
	// Segment says that the rule asks for a segment.
	Segment bool
	// Drawn says that the context was drawn by one of the flag's own percentages, whether
	// that reached it or not: with another percentage it might get something else.
	Drawn bool
	// Unidentified says that the context was to be drawn by user id or e-mail on the way,
	// also of a prerequisite, and has neither: with one it might get something else.
	Unidentified bool
}

const (
	// buckets is how many parts those who are there are divided into.
	buckets = 100_000
	// maxBucketID is how many code points of an id they are drawn by.
	maxBucketID = 200
)

// Step is what was looked at on the way to a Result.
type Step struct {
	Flag string // key
	Rule int    // its place; -1 where no rule was looked at
	// Looked is at what: Off for schedule and state, and so on.
	Looked Reason
	Met    bool // it decided, or let pass what comes next
	Bucket int  // -1 where nothing was drawn
	UpTo   int  // of a rollout: the first bucket beyond it
}

// Evaluator evaluates flags for one context. It may be used again after Reset, so that
// evaluations allocate nothing; it is not safe for concurrent use.
type Evaluator struct {
	// Steps takes what is looked at, MaxSteps and one more at most, where it is not nil.
	Steps *[]Step

	set         *Set
	ctx         *Context
	environment string
	now         int64
	life        uint32  // counts Resets: what is of another one is not known
	known       []known // by the flags' index
	slots       []slot
	email       []byte // in lower case
	text        []byte

	request context.Context //nolint:containedctx // begun by Begin, and nil before
	spent   int             // cost since Begin
	due     int             // cost at which check is called
	err     error           // of the request

	matches map[match]bool
	plain   string // the text that folded was made of
	folded  []byte
	// unidentified and drawn are those of the Result of the flag that is being evaluated.
	unidentified, drawn bool
}

// slot is an attribute of the context that somebody asked for.
type slot struct {
	life  uint32
	value Value
}

// known is the result of a flag that was evaluated already, also as the prerequisite of
// another one: what everybody needs would be evaluated a billion times otherwise.
type known struct {
	life   uint32
	done   bool
	result Result
}

// Reset begins with a context, in an environment, at a time. Nothing but ctx is kept until
// the next one.
func (e *Evaluator) Reset(set *Set, ctx *Context, environment string, now time.Time) {
	e.set, e.ctx, e.environment, e.now = set, ctx, environment, now.UnixMilli()
	if e.life++; e.life == 0 || len(e.known) < len(set.ordered) || len(e.slots) < len(set.slots) {
		e.life = 1
		e.known, e.slots = make([]known, len(set.ordered)), make([]slot, len(set.slots))
	}
	e.email, e.unidentified, e.drawn = e.email[:0], false, false
	e.plain, e.folded = "", e.folded[:0] // texts may be memory that is used again
	clear(e.matches)
	for _, r := range ctx.Email {
		e.email = utf8.AppendRune(e.email, unicode.ToLower(r))
	}
}

// attribute returns what a condition asks about.
func (e *Evaluator) attribute(c *condition) *Value {
	s := &e.slots[c.slot]
	if s.life != e.life {
		*s = slot{e.life, e.ctx.attribute(c.attr)}
	}
	return &s.value
}

// Evaluate returns what the context gets of a flag of the set. It returns ErrCost if the request
// costs more than MaxCost, and a DeadlineExceeded error once the context of Begin has ended: then
// for all flags until the next Begin.
func (e *Evaluator) Evaluate(f *Flag) (Result, error) {
	if result := e.result(f); e.err == nil {
		return result, nil
	}
	return Result{}, e.err
}

// result is Evaluate, but means nothing once the Evaluator has an error.
func (e *Evaluator) result(f *Flag) Result {
	k := &e.known[f.index]
	switch {
	case k.life != e.life:
		k.life, k.done = e.life, false
		k.result = e.evaluate(f)
		k.done = true
	case !k.done: // a circle, which nobody may make
		return Result{Variant: f.plan(e.environment).idle, Reason: PrerequisiteFailed, Rule: -1}
	}
	return k.result
}

func (e *Evaluator) evaluate(f *Flag) Result {
	unidentified, drawn := e.unidentified, e.drawn // of the flag that needs this one
	e.unidentified, e.drawn = false, false
	result := e.decide(f)
	result.Unidentified, result.Drawn = e.unidentified, e.drawn
	e.unidentified, e.drawn = unidentified, drawn
	return result
}

func (e *Evaluator) decide(f *Flag) Result {
	if !e.spend(1 + len(f.needs)) {
		return Result{}
	}
	p := f.plan(e.environment)
	on := p.on(e.now)
	e.note(f, -1, Off, on)
	if !on {
		return Result{Variant: p.idle, Reason: Off, Rule: -1}
	}
	for i := range f.needs {
		met := e.serves(&f.needs[i])
		e.note(f, -1, PrerequisiteFailed, met)
		if !met {
			return Result{Variant: p.idle, Reason: PrerequisiteFailed, Rule: -1}
		}
	}
	if t, ok := p.target(e); ok {
		e.note(f, -1, ByTarget, true)
		return Result{Variant: t.variant, Reason: ByTarget, Rule: -1}
	}
	for i := range p.rules {
		if result, decided := e.ask(f, p, &p.rules[i]); decided {
			return result
		}
	}
	return Result{Variant: p.standard, Reason: ByDefault, Rule: -1}
}

// serves reports whether a prerequisite is met. One that is off is not, whatever it serves.
func (e *Evaluator) serves(n *need) bool {
	if n.flag == nil {
		return false
	}
	result := e.result(n.flag)
	e.unidentified = e.unidentified || result.Unidentified
	return result.Reason != Off && slices.Contains(n.variants, result.Variant)
}

// target returns the first target that names the context.
func (p *plan) target(e *Evaluator) (t target, ok bool) {
	t, ok = p.users[e.ctx.UserID]
	if byEmail, too := p.emails[string(e.email)]; too && (!ok || byEmail.place < t.place) {
		return byEmail, true
	}
	return t, ok
}

// ask returns what a rule serves; decided is false where the next one is to be asked.
func (e *Evaluator) ask(f *Flag, p *plan, r *rule) (result Result, decided bool) {
	e.spend(1)
	if e.now < r.starts || e.now >= r.ends || !r.conditions.met(e) {
		e.note(f, r.place, ByRule, false)
		return result, false
	}
	result = Result{Variant: r.variant, Reason: r.kind, Rule: r.place, Segment: r.segmented}
	switch r.kind {
	case ByRollout:
		if e.hits(f, r) {
			return result, true
		}
		result.Variant, result.Reason = p.standard, RolloutMiss
		return result, r.stop
	case BySplit:
		bucket, ok := e.bucket(f, r)
		if !ok {
			e.note(f, r.place, BySplit, false)
			return result, false
		}
		result.Variant = r.at(bucket)
	default:
		e.note(f, r.place, ByRule, true)
	}
	return result, true
}

// hits reports whether a rollout reaches the context. None and all of them are reached
// without drawing.
func (e *Evaluator) hits(f *Flag, r *rule) bool {
	upTo := r.rollout.at(e.now)
	if upTo <= 0 || upTo >= buckets {
		e.note(f, r.place, ByRollout, upTo > 0)
		return upTo > 0
	}
	bucket, ok := e.bucket(f, r)
	hit := ok && float64(bucket) < upTo
	if e.Steps != nil {
		steps := *e.Steps
		if ok {
			steps[len(steps)-1].Met, steps[len(steps)-1].UpTo = hit, int(upTo)
		} else {
			e.note(f, r.place, ByRollout, false)
		}
	}
	return hit
}

// at returns the variant of a bucket; the last one where the weights fall short.
func (r *rule) at(bucket int) int {
	for i := range r.shares {
		if float64(bucket) < r.shares[i].upTo {
			return r.shares[i].variant
		}
	}
	return r.shares[len(r.shares)-1].variant
}

// bucket draws the context; ok is false where it has nothing to be drawn by.
func (e *Evaluator) bucket(f *Flag, r *rule) (bucket int, ok bool) {
	id := e.ctx.bucketID(r.bucketBy)
	if id == "" {
		e.unidentified = e.unidentified || r.bucketBy == "" || r.bucketBy == attrUserID
		return 0, false
	}
	e.text = append(append(e.text[:0], r.seed...), cut(id)...)
	e.spend(1 + len(e.text)/parsedBytes)
	bucket, e.drawn = int(murmur3(e.text)%buckets), true
	if e.Steps != nil {
		*e.Steps = append(*e.Steps, Step{Flag: f.Definition.Key, Rule: r.place, Looked: r.kind, Met: true, Bucket: bucket})
	}
	return bucket, true
}

// cut returns the part of an id that somebody is drawn by.
func cut(id string) string {
	if len(id) <= maxBucketID {
		return id
	}
	n := 0
	for i := range id {
		if n == maxBucketID {
			return id[:i]
		}
		n++
	}
	return id
}

// MaxSteps is the largest number of steps that are told of an evaluation. One more says that there are
// others.
const MaxSteps = 200

func (e *Evaluator) note(f *Flag, place int, looked Reason, met bool) {
	if e.Steps != nil && len(*e.Steps) <= MaxSteps {
		*e.Steps = append(*e.Steps, Step{Flag: f.Definition.Key, Rule: place, Looked: looked, Met: met, Bucket: -1})
	}
}
