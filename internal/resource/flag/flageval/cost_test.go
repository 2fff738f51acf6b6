package flageval

import (
	"context"
	"errors"
	"fmt"
	"regexp/syntax"
	"strconv"
	"strings"
	"testing"
	"unsafe"
)

// costly is a flag with as many conditions on attribute a as fit into a definition. None is met.
func costly(key string, c Condition) *Definition {
	var rules []Rule
	for range 84 {
		var all []Condition
		for range MaxConditions {
			all = append(all, c)
		}
		rules = append(rules, Rule{Conditions: &Conditions{Any: all}, Serve: Serve{Variant: "on"}})
	}
	return boolean(key, rules...)
}

// worst is a pattern of nearly MaxPatternSize instructions, all of which each byte is matched with.
const worst = `(?:a?){330}b`

func longest() *Context {
	return &Context{UserID: "u", Attributes: map[string]Value{"a": Text(strings.Repeat("a", MaxValueLen))}}
}

func TestEvaluator_MatchesPatternOncePerText(t *testing.T) {
	t.Parallel()
	c := Condition{Attribute: "a", Op: OpMatches, Values: []any{worst}}
	set := compiled(t, costly("one", c), costly("two", c))
	var e Evaluator
	e.Reset(set, longest(), "", now)
	served(&e, set.Flag("", "one"))
	is, err := syntax.Parse(worst, syntax.Perl)
	if err != nil {
		t.Fatal(err)
	}
	once, conditions := patternSize(is)*(MaxValueLen+1), 84*(1+MaxConditions*(2+MaxValueLen/parsedBytes))
	if want := once + conditions + 1; e.spent != want {
		t.Errorf("4,200 conditions with one pattern cost %d, want %d", e.spent, want)
	}
	if served(&e, set.Flag("", "two")); e.spent != once+2*(conditions+1) {
		t.Errorf("another flag with that pattern costs %d more", e.spent-once)
	}
	for text, want := range map[string]string{"ab": "rule on", "a": "default off", "b": "rule on"} { // nothing of another one
		if got := told(set, "one", "", &Context{Attributes: map[string]Value{"a": Text(text)}}, now); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

func TestEvaluator_KeepsBoundedMatches(t *testing.T) {
	t.Parallel()
	set := compiled(t, boolean("f", Rule{
		Conditions: &Conditions{All: []Condition{{Attribute: "a", Op: OpMatches, Values: []any{"^x"}}}},
		Serve:      Serve{Variant: "on"},
	}))
	for _, n := range []int{maxMatches, maxMatches + 1} {
		var all []Value
		for i := range n {
			all = append(all, Text(strconv.Itoa(i)))
		}
		all = append(all, all[n-1], Text("xyz"))
		var e Evaluator
		e.Reset(set, &Context{Attributes: map[string]Value{"a": List(all...)}}, "", now)
		if r := served(&e, set.Flag("", "f")); r.Reason != ByRule || len(e.matches) != maxMatches {
			t.Errorf("of %d texts, %d matches are kept: %s", n+1, len(e.matches), r.Reason)
		}
		if e.Reset(set, &Context{}, "", now); len(e.matches) > 0 {
			t.Error("matches outlive the context")
		}
	}
}

// The texts of a request are in memory that the next one uses.
func TestEvaluator_FoldsTextsAnew(t *testing.T) {
	t.Parallel()
	set := compiled(t, boolean("f", Rule{
		Conditions: &Conditions{All: []Condition{
			{Attribute: "a", Op: OpContains, Values: []any{"AB"}, CaseInsensitive: true},
		}},
		Serve: Serve{Variant: "on"},
	}))
	memory := []byte("xab")
	ctx := &Context{Attributes: map[string]Value{
		"a": Text(unsafe.String(unsafe.SliceData(memory), len(memory))),
	}}
	var e Evaluator
	for text, want := range map[string]Reason{"xab": ByRule, "xba": ByDefault} {
		copy(memory, text)
		e.Reset(set, ctx, "", now)
		if r := served(&e, set.Flag("", "f")); r.Reason != want {
			t.Errorf("%s: %s, want %s", text, r.Reason, want)
		}
	}
}

func TestEvaluator_EndsBeyondMaxCost(t *testing.T) {
	t.Parallel()
	set := compiled(t, usual(), boolean("next"))
	var e Evaluator
	e.Reset(set, usualContext(), "", now)
	want := served(&e, set.Flag("", "usual"))
	cost := e.spent
	for beyond, failure := range []error{nil, ErrCost} {
		e.Begin(t.Context())
		e.spent = MaxCost - cost + beyond
		e.Reset(set, usualContext(), "", now)
		got, err := e.Evaluate(set.Flag("", "usual"))
		if !errors.Is(err, failure) || err == nil && got != want || err != nil && got != (Result{}) {
			t.Errorf("%d beyond the limit: %+v, %v", beyond, got, err)
		}
		if failure == nil {
			continue
		}
		e.Reset(set, usualContext(), "", now) // of the same request
		if _, err := e.Evaluate(set.Flag("", "next")); !errors.Is(err, failure) {
			t.Errorf("the next flag of the request: %v", err)
		}
		e.Begin(t.Context())
		if _, err := e.Evaluate(set.Flag("", "next")); err != nil {
			t.Errorf("the next request: %v", err)
		}
	}
}

// Whatever operator asks, and through whatever it is asked, an evaluation ends.
func TestEvaluator_BoundsCostOfEachOperator(t *testing.T) {
	t.Parallel()
	many := func(v any) (all []any) {
		for range 20 {
			all = append(all, v)
		}
		return all
	}
	part := strings.Repeat("a", 90) + "b"
	for name, c := range map[string]Condition{
		"in":               {Op: OpIn, Values: many(part)},
		"in, folded":       {Op: OpIn, Values: many(part), CaseInsensitive: true},
		"contains":         {Op: OpContains, Values: many(part)},
		"contains, folded": {Op: OpContains, Values: many(part), CaseInsensitive: true},
		"endsWith":         {Op: OpEndsWith, Values: many(part)},
		"matches":          {Op: OpMatches, Values: []any{worst}},
		"semverGt":         {Op: OpSemverGt, Values: []any{"1.2.3"}},
		"dateAfter":        {Op: OpDateAfter, Values: []any{"2026-01-01"}},
		"ipInRange":        {Op: OpIPInRange, Values: many("192.0.2.0/24")},
	} {
		c.Attribute = "a"
		set := compiled(t, costly("f", c))
		texts := make([]Value, 200)
		for i := range texts {
			texts[i] = Text(strings.Repeat("a", MaxValueLen-3) + strconv.Itoa(100+i))
		}
		var e Evaluator
		e.Reset(set, &Context{Attributes: map[string]Value{"a": List(texts...)}}, "", now)
		if _, err := e.Evaluate(set.Flag("", "f")); !errors.Is(err, ErrCost) {
			t.Errorf("%s: %v after a cost of %d", name, err, e.spent)
		}
	}
}

func TestEvaluator_BoundsCostOfSegments(t *testing.T) {
	t.Parallel()
	var segments []Member[Segment]
	var keys []any
	for i := range 50 {
		s := &Segment{Key: fmt.Sprint("s", i), UserIDs: []string{"nobody"}}
		segments, keys = append(segments, Member[Segment]{Is: s}), append(keys, s.Key)
	}
	d := costly("f", Condition{Op: OpInSegment, Values: keys})
	set, err := Compile([]Member[Definition]{{Is: d}}, segments)
	if err != nil {
		t.Fatal(err)
	}
	var e Evaluator
	e.Reset(set, &Context{UserID: strings.Repeat("u", MaxIDLen)}, "", now)
	if _, err := e.Evaluate(set.Flag("", "f")); !errors.Is(err, ErrCost) {
		t.Errorf("210,000 questions: %v after a cost of %d", err, e.spent)
	}
}

func TestEvaluator_EndsWithContext(t *testing.T) {
	t.Parallel()
	var values []any
	for i := range 10 {
		values = append(values, fmt.Sprintf("(?:a?){330}%d", i))
	}
	set := compiled(t, boolean("f", Rule{
		Conditions: &Conditions{All: []Condition{{Attribute: "a", Op: OpMatches, Values: values}}},
		Serve:      Serve{Variant: "on"},
	}))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for _, want := range []struct {
		err     error
		matches int
	}{{nil, 10}, {context.Canceled, 0}} {
		var e Evaluator
		e.Begin(ctx)
		e.Reset(set, longest(), "", now)
		if _, err := e.Evaluate(set.Flag("", "f")); !errors.Is(err, want.err) || len(e.matches) != want.matches {
			t.Errorf("%v after %d patterns, want %v after %d", err, len(e.matches), want.err, want.matches)
		}
		cancel()
	}
}

// An organization may have 2,000 flags. All of them at once, with ten rules of three conditions
// and a pattern of its own each, are far from the limit.
func TestEvaluator_LeavesRoomForHonestFlags(t *testing.T) {
	t.Parallel()
	var flags []*Definition
	for i := range 2000 {
		d := usual()
		d.Key = fmt.Sprintf("flag-%04d", i)
		d.Rules[0].Conditions.All = append([]Condition{{
			Attribute: "email", Op: OpMatches, Values: []any{fmt.Sprintf(`^[a-z.]+@(shop|store|team)-%04d\.example\.com$`, i)},
			CaseInsensitive: true,
		}}, d.Rules[0].Conditions.All...)
		flags = append(flags, d)
	}
	set, ctx := compiled(t, flags...), usualContext()
	ctx.Email = "ann.of.the.first.department@shop.example.com"
	var e Evaluator
	e.Reset(set, ctx, "", now)
	for _, d := range flags {
		if _, err := e.Evaluate(set.Flag("", d.Key)); err != nil {
			t.Fatal(err)
		}
	}
	if e.spent > MaxCost/2 {
		t.Errorf("they cost %d of %d", e.spent, MaxCost)
	}
}

// BenchmarkAttack evaluates flags of 4,200 conditions with the costliest text that is allowed.
func BenchmarkAttack(b *testing.B) {
	for name, c := range map[string]Condition{
		"matches": {Attribute: "a", Op: OpMatches, Values: []any{worst}},
		"contains, folded": {
			Attribute: "a", Op: OpContains, Values: []any{strings.Repeat("a", 20) + "b"}, CaseInsensitive: true,
		},
	} {
		b.Run(name, func(b *testing.B) {
			set, ctx := compiled(b, costly("f", c)), longest()
			var e Evaluator
			for b.Loop() {
				e.Begin(b.Context())
				e.Reset(set, ctx, "", now)
				served(&e, set.Flag("", "f"))
			}
			b.ReportMetric(float64(e.spent), "cost/op")
		})
	}
}

// BenchmarkMaxCost spends all that a request may.
func BenchmarkMaxCost(b *testing.B) {
	for name, c := range map[string]Condition{
		"matches":  {Attribute: "a", Op: OpMatches, Values: []any{worst}},
		"contains": {Attribute: "a", Op: OpContains, Values: []any{strings.Repeat("a", 90) + "b", strings.Repeat("a", 91) + "b"}},
		"in":       {Attribute: "a", Op: OpIn, Values: []any{strings.Repeat("a", 200), strings.Repeat("a", 252) + "zzzz"}},
		"semver":   {Attribute: "a", Op: OpSemverGt, Values: []any{"1.2.3"}},
		"ip":       {Attribute: "a", Op: OpIPInRange, Values: []any{"192.0.2.0/24"}},
	} {
		b.Run(name, func(b *testing.B) {
			set := compiled(b, costly("f", c))
			texts := make([]Value, 1000)
			for i := range texts {
				texts[i] = Text(strings.Repeat("a", MaxValueLen-4) + strconv.Itoa(1000+i))
			}
			ctx := &Context{Attributes: map[string]Value{"a": List(texts...)}}
			var e Evaluator
			for b.Loop() {
				e.Begin(b.Context())
				e.Reset(set, ctx, "", now)
				if _, err := e.Evaluate(set.Flag("", "f")); err == nil {
					b.Fatal("it ends by itself")
				}
			}
		})
	}
}
