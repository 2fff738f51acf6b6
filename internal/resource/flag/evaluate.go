package flag

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/resource/flag/flageval"
	"github.com/millrace/millrace/internal/tenant/audit"
	"github.com/millrace/millrace/internal/tenant/managed"
)

// Limits of one question.
const (
	MaxContexts = 100
	MaxKeys     = 20
	MaxResults  = 200 // keys times contexts
	MaxSteps    = flageval.MaxSteps

	MaxServedKeys = 200 // of a request of the public routes
	MaxExposures  = 100 // that a client tells of in a request
	MaxAttributes = 200 // of a context
)

// Question asks what somebody gets of flags as they are kept, and of one that is not yet.
type Question struct {
	OrganizationID string
	WebsiteID      string // empty: of the flags of all websites only
	Reach          string // as of Target
	Keys           []string
	Contexts       []flageval.Context
	Environment    string    // empty: the base
	At             time.Time // zero: now
	Draft          *Draft    // of the one flag of Keys; nil for none
	Explain        bool
}

// Draft is what a flag would be.
type Draft struct {
	Fields

	Type  Type  // of a flag that does not exist
	State State // empty: that of the flag, or active
}

// KeyResult is what one context gets of one flag.
type KeyResult struct {
	Key     string
	Context int         // its place
	Live    *Evaluation // nil where there is no such flag
	Draft   *Evaluation // nil where none was asked for
}

// Evaluation is what a flag serves, and why.
type Evaluation struct {
	Flag   *Flag
	Result flageval.Result
	// Steps are what was looked at, if that was asked for, and Cut says that there were more.
	Steps []flageval.Step
	Cut   bool
}

// Variant is what is served.
func (e *Evaluation) Variant() *flageval.Variant {
	return &e.Flag.Definition.Variants[e.Result.Variant]
}

// RuleID names the rule that decided, in an environment; empty for none.
func (e *Evaluation) RuleID(environment string) string {
	rules := e.Flag.Definition.Rules
	if o := e.Flag.Definition.Environments[environment]; o.Rules != nil {
		rules = *o.Rules
	}
	if i := e.Result.Rule; i >= 0 && i < len(rules) {
		return rules[i].ID
	}
	return ""
}

// On is whether the flag counts as enabled for somebody.
func (e *Evaluation) On() bool { return e.Flag.About.Type.On(e.Variant(), e.Result.Reason) }

// On is whether a flag of the type counts as enabled for somebody who is served a variant:
// the value of a boolean one; of others, whether they serve what they are for.
func (t Type) On(v *flageval.Variant, why flageval.Reason) bool {
	if t == Boolean {
		return string(v.Value) == "true"
	}
	return why != flageval.Off && why != flageval.PrerequisiteFailed
}

// Evaluate answers a question; the answers come flag by flag, in the order of keys and
// contexts. Nothing of a context is kept. A draft against the rules is a Validation error
// with paths below "draft", or a Conflict; a flag that the
// caller does not reach is ErrNotCovered. Evaluations that cost too much together are
// flageval.ErrCost.
func (s *Service) Evaluate(ctx context.Context, q Question) ([]KeyResult, error) {
	if q.At.IsZero() {
		q.At = s.Now()
	}
	all, err := s.deps.Store.FlagOutlines(ctx, q.OrganizationID)
	if err != nil {
		return nil, err
	}
	live, err := s.around(ctx, &q, byName(all.Flags), all, nil)
	if err != nil {
		return nil, err
	}
	for _, key := range q.Keys {
		if _, found := live.find(q.WebsiteID, key); found != nil && q.Reach != "" && found.WebsiteID != q.Reach {
			return nil, ErrNotCovered
		}
	}
	tables := []*table{live}
	if q.Draft != nil {
		drafted, err := s.drafted(ctx, &q, all, live)
		if err != nil {
			return nil, err
		}
		tables = append(tables, drafted)
	}
	return q.results(ctx, tables)
}

// table is some flags ready to be evaluated.
type table struct {
	set   *flageval.Set
	flags map[*flageval.Definition]*Flag
}

// find returns what a key means in a website.
func (t *table) find(websiteID, key string) (*flageval.Flag, *Flag) {
	if f := t.set.Flag(websiteID, key); f != nil {
		return f, t.flags[f.Definition]
	}
	return nil, nil
}

// around reads flags, with all that they need. One that is not kept takes the place of
// the one that is; nil for none.
func (s *Service) around(ctx context.Context, q *Question, n names, all *Outlines, draft *Flag) (*table, error) {
	ids, segmentIDs := n.closure(q.WebsiteID, q.Keys, byName(all.Segments))
	flags, err := s.deps.Store.FlagsByID(ctx, q.OrganizationID, ids)
	if err != nil {
		return nil, err
	}
	segments, err := s.deps.Segments.SegmentsByID(ctx, q.OrganizationID, segmentIDs)
	if err != nil {
		return nil, err
	}
	if draft != nil {
		flags = slices.DeleteFunc(flags, func(f *Flag) bool { return f.ID == draft.ID })
		flags = append(flags, draft)
	}
	return compiled(flags, segments)
}

func compiled(flags []*Flag, segments []*Segment) (*table, error) {
	set, err := Compile(flags, segments)
	if err != nil {
		return nil, fmt.Errorf("compiling %d flags: %w", len(flags), err)
	}
	t := &table{set: set, flags: make(map[*flageval.Definition]*Flag, len(flags))}
	for _, f := range flags {
		t.flags[&f.Definition] = f
	}
	return t, nil
}

// Compile makes flags, of which archived ones are left out, and segments ready to be evaluated.
func Compile(flags []*Flag, segments []*Segment) (*flageval.Set, error) {
	return Recompile(nil, flags, segments)
}

// Recompile is Compile, but takes over what an earlier set, which may be nil, made of the same
// flags and segments.
func Recompile(was *flageval.Set, flags []*Flag, segments []*Segment) (*flageval.Set, error) {
	members := make([]flageval.Member[flageval.Definition], 0, len(flags))
	for _, f := range flags {
		if f.Live() {
			members = append(members, flageval.Member[flageval.Definition]{Scope: f.WebsiteID, Is: &f.Definition})
		}
	}
	asked := make([]flageval.Member[flageval.Segment], len(segments))
	for i, g := range segments {
		asked[i] = flageval.Member[flageval.Segment]{Scope: g.WebsiteID, Is: &g.Definition}
	}
	return flageval.Recompile(was, members, asked)
}

// closure returns the ids of flags, of those that they need and of the segments of all.
func (n names) closure(websiteID string, keys []string, segments names) (flags, asked []string) {
	seen := make(map[*Outline]bool)
	var add func(website, key string)
	add = func(website, key string) {
		o := n.find(website, key)
		if o == nil || seen[o] {
			return
		}
		seen[o] = true
		flags = append(flags, o.ID)
		for _, p := range o.Refs.Prerequisites {
			add(o.WebsiteID, p.FlagKey)
		}
		for key := range o.Refs.Segments {
			if g := segments.find(o.WebsiteID, key); g != nil && !seen[g] {
				seen[g] = true
				asked = append(asked, g.ID)
			}
		}
	}
	for _, key := range keys {
		add(websiteID, key)
	}
	return flags, asked
}

// drafted is the table in which the draft has the place of the flag.
func (s *Service) drafted(ctx context.Context, q *Question, all *Outlines, live *table) (*table, error) {
	_, was := live.find(q.WebsiteID, q.Keys[0])
	is := s.draft(audit.By{},
		Spec{OrganizationID: q.OrganizationID, WebsiteID: q.WebsiteID, Key: q.Keys[0], Type: q.Draft.Type})
	is.enter(Active)
	if was != nil {
		is = managed.Next(was, s.Now())
	}
	if q.Draft.State != "" {
		is.enter(q.Draft.State)
	}
	err := q.Draft.apply(is)
	if err == nil {
		err = fitting(was, is)(all)
	}
	if err != nil {
		return nil, below("draft", err)
	}
	n := byName(all.Flags)
	n[scoped{is.WebsiteID, is.Key()}] = is.outline()
	return s.around(ctx, q, n, all, is)
}

// below tells where in a field the problems of an API error are.
func below(field string, err error) error {
	f, ok := errors.AsType[*apierr.Error](err)
	if !ok {
		return err
	}
	told := *f
	told.Details = slices.Clone(f.Details)
	for i := range told.Details {
		if d := &told.Details[i]; d.Field == "" {
			d.Field = field
		} else {
			d.Field = field + "." + d.Field
		}
	}
	return &told
}

// results evaluates each flag for each context, in each table.
func (q *Question) results(ctx context.Context, tables []*table) ([]KeyResult, error) {
	all := make([]KeyResult, 0, len(q.Keys)*len(q.Contexts))
	for _, key := range q.Keys {
		for i := range q.Contexts {
			all = append(all, KeyResult{Key: key, Context: i})
		}
	}
	var e flageval.Evaluator
	turn := NewTurn(ctx, q.OrganizationID)
	defer turn.Release()
	e.Begin(&turn)
	for t, in := range tables {
		for i := range q.Contexts {
			e.Reset(in.set, &q.Contexts[i], q.Environment, q.At)
			for k, key := range q.Keys {
				if k > 0 && q.Explain { // what is known already would not be looked at again
					e.Reset(in.set, &q.Contexts[i], q.Environment, q.At)
				}
				got, err := q.ask(&e, in, key)
				if err != nil {
					return nil, err
				}
				if a := &all[k*len(q.Contexts)+i]; t == 0 {
					a.Live = got
				} else {
					a.Draft = got
				}
			}
		}
	}
	return all, nil
}

// ask evaluates one flag; nil where there is none.
func (q *Question) ask(e *flageval.Evaluator, in *table, key string) (got *Evaluation, err error) {
	is, flag := in.find(q.WebsiteID, key)
	if is == nil {
		return nil, nil
	}
	got = &Evaluation{Flag: flag}
	if q.Explain {
		e.Steps = &got.Steps
	}
	got.Result, err = e.Evaluate(is)
	e.Steps = nil
	if got.Cut = len(got.Steps) > MaxSteps; got.Cut {
		got.Steps = got.Steps[:MaxSteps]
	}
	return got, err
}
