package flageval

import (
	"encoding/json"
	"fmt"
	"regexp/syntax"
	"strconv"
	"strings"
	"testing"
	"time"
)

// wrong returns the places and rules of what is wrong, with spaces in between.
func wrong(problems []Problem) string {
	var all []string
	for _, p := range problems {
		all = append(all, p.Path+"="+p.Rule)
	}
	return strings.Join(all, " ")
}

func repeat[T any](n int, of func(i int) T) []T {
	all := make([]T, n)
	for i := range all {
		all[i] = of(i)
	}
	return all
}

func TestADefinitionIsCheckedByItsLimits(t *testing.T) {
	t.Parallel()
	serve := Serve{Variant: "on"}
	with := func(change func(d *Definition)) *Definition {
		d := boolean("f", Rule{Serve: serve})
		change(d)
		return d
	}
	withRule := func(r Rule) *Definition { return boolean("f", r) }
	rollout := func(r Rollout) *Definition {
		if r.Variant == "" {
			r.Variant = "on"
		}
		return withRule(Rule{Serve: Serve{Rollout: &r}})
	}
	asks := func(all ...Condition) *Definition {
		return withRule(Rule{Conditions: &Conditions{All: all}, Serve: serve})
	}
	texts := func(n int) []any { return repeat(n, func(i int) any { return strconv.Itoa(i) }) }
	exists := Condition{Attribute: "a", Op: OpExists}
	nest := func(depth int) Condition {
		c := exists
		for range depth - 1 {
			c = Condition{Conditions: Conditions{Any: []Condition{c}}}
		}
		return c
	}
	long := strings.Repeat("ü", 256)
	large := func(n int) []any { // expressions of a thousand instructions
		return repeat(n, func(i int) any { return fmt.Sprintf("%c{998}", 'a'+i) })
	}
	in20 := func(d *Definition, rules *[]Rule) *Definition {
		d.Environments = map[string]Override{"e0": {Rules: rules}}
		for i := range 19 {
			d.Environments[fmt.Sprint("e", i+1)] = Override{}
		}
		return d
	}
	read := func(text string) (values Operands) {
		if err := json.Unmarshal([]byte(text), &values); err != nil {
			t.Fatal(err)
		}
		return values
	}
	for name, tc := range map[string]struct {
		is   *Definition
		want string
	}{
		"nothing wrong":     {with(func(*Definition) {}), ""},
		"a longest key":     {with(func(d *Definition) { d.Key = strings.Repeat("k", 128) }), ""},
		"a key too long":    {with(func(d *Definition) { d.Key = strings.Repeat("k", 129) }), "key=invalid_key"},
		"a key with a dash": {with(func(d *Definition) { d.Key = "-k" }), "key=invalid_key"},
		"an empty key":      {with(func(d *Definition) { d.Key = "" }), "key=invalid_key"},
		"no such variant": {
			with(func(d *Definition) { d.DefaultVariant, d.OffVariant = "x", "" }),
			"defaultVariant=unknown_variant offVariant=required",
		},
		"a variant twice": {
			with(func(d *Definition) { d.Variants[1].Key = "on"; d.DefaultVariant, d.OffVariant = "on", "on" }),
			"variants[1].key=duplicate",
		},
		"most variants": {with(func(d *Definition) {
			d.Variants = append(d.Variants, repeat(48, func(i int) Variant { return Variant{Key: strconv.Itoa(i)} })...)
		}), ""},
		"a largest payload": {with(func(d *Definition) { d.Variants[0].Payload = make(json.RawMessage, 16<<10) }), ""},
		"a payload too long": {with(func(d *Definition) {
			d.Variants[0].Payload = make(json.RawMessage, 16<<10+1)
		}), "variants[0].payload=too_long"},
		"a variant too long": {
			with(func(d *Definition) { d.Variants[0].Value = make(json.RawMessage, 16<<10+1) }), "variants[0].value=too_long",
		},
		"an end at the beginning": {with(func(d *Definition) { d.Schedule = Schedule{now, now} }), "schedule.endsAt=order"},
		"most rules": {
			with(func(d *Definition) { d.Rules = repeat(100, func(int) Rule { return Rule{Serve: serve} }) }), "",
		},
		"too many rules": {
			with(func(d *Definition) { d.Rules = repeat(101, func(int) Rule { return Rule{Serve: serve} }) }), "rules=too_many",
		},
		"most targets": {with(func(d *Definition) {
			d.Targets = []Target{{Variant: "on", UserIDs: repeat(10_000, strconv.Itoa)}}
		}), ""},
		"too many targets": {with(func(d *Definition) {
			d.Targets = []Target{{Variant: "on", UserIDs: repeat(10_000, strconv.Itoa)}, {Variant: "off", Emails: []string{"e"}}}
		}), "targets=too_many"},
		"an empty target": {with(func(d *Definition) {
			d.Targets = []Target{{Variant: "x", UserIDs: []string{""}, Emails: []string{"a", long + "x"}}}
		}), "targets[0].variant=unknown_variant targets[0].userIds[0]=required targets[0].emails[1]=too_long"},
		"most prerequisites": {with(func(d *Definition) {
			d.Prerequisites = repeat(10, func(i int) Prerequisite { return Prerequisite{fmt.Sprint("g", i), []string{"on"}} })
		}), ""},
		"too many prerequisites": {with(func(d *Definition) {
			d.Prerequisites = repeat(11, func(i int) Prerequisite { return Prerequisite{fmt.Sprint("g", i), []string{"on"}} })
		}), "prerequisites=too_many"},
		"bad prerequisites": {with(func(d *Definition) {
			d.Prerequisites = []Prerequisite{{"f", []string{"on"}}, {"g", nil}, {"g", []string{"on"}}, {"", []string{"on"}}}
		}), "prerequisites[0].flagKey=cycle prerequisites[1].variants=required prerequisites[2].flagKey=duplicate " +
			"prerequisites[3].flagKey=invalid_key"},
		"most environments": {with(func(d *Definition) {
			d.Environments = map[string]Override{}
			for i := range 20 {
				d.Environments[strconv.Itoa(i)] = Override{}
			}
		}), ""},
		"too many environments": {with(func(d *Definition) {
			d.Environments = map[string]Override{}
			for i := range 21 {
				d.Environments[strconv.Itoa(i)] = Override{}
			}
		}), "environments=too_many"},
		"a bad environment": {with(func(d *Definition) {
			d.Environments = map[string]Override{"b": {OffVariant: new("x")}, "a b": {Rules: &[]Rule{{}}}}
		}), "environments.a b=invalid_key environments.a b.rules[0].serve=one_of environments.b.offVariant=unknown_variant"},
		"serving nothing":     {withRule(Rule{}), "rules[0].serve=one_of"},
		"serving two things":  {withRule(Rule{Serve: Serve{Variant: "on", Rollout: &Rollout{}}}), "rules[0].serve=one_of"},
		"serving what is not": {withRule(Rule{Serve: Serve{Variant: "x"}}), "rules[0].serve.variant=unknown_variant"},
		"a long name":         {withRule(Rule{Name: strings.Repeat("n", 256), Serve: serve}), "rules[0].name=too_long"},
		"a rule's schedule": {
			withRule(Rule{Schedule: Schedule{now, now.Add(-1)}, Serve: serve}), "rules[0].schedule.endsAt=order",
		},
		"a seed by itself":       {withRule(Rule{Serve: Serve{Variant: "on", Seed: "s"}}), "rules[0].serve=needs_split"},
		"a thousandth":           {rollout(Rollout{Percentage: 0.001}), ""},
		"less than a thousandth": {rollout(Rollout{Percentage: 0.0005}), "rules[0].serve.rollout.percentage=percentage"},
		"all":                    {rollout(Rollout{Percentage: 100}), ""},
		"more than all":          {rollout(Rollout{Percentage: 100.001}), "rules[0].serve.rollout.percentage=percentage"},
		"less than none":         {rollout(Rollout{Percentage: -0.001}), "rules[0].serve.rollout.percentage=percentage"},
		"an attribute":           {rollout(Rollout{BucketBy: "attr:plan"}), ""},
		"no attribute":           {rollout(Rollout{BucketBy: "attr:"}), "rules[0].serve.rollout.bucketBy=one_of"},
		"drawn by what is not": {
			rollout(Rollout{BucketBy: "plan", OnMiss: "go", Seed: long + "x"}),
			"rules[0].serve.rollout.bucketBy=one_of rules[0].serve.rollout.seed=too_long rules[0].serve.rollout.onMiss=one_of",
		},
		"weights of 99.999": {
			withRule(Rule{Serve: Serve{Split: &[]Share{{"on", 50}, {"off", 49.999}}}}), "rules[0].serve.split=sum",
		},
		"weights of 100": {withRule(Rule{Serve: Serve{Split: &[]Share{{"on", 33.333}, {"off", 66.667}}}}), ""},
		"no weights":     {withRule(Rule{Serve: Serve{Split: &[]Share{}}}), "rules[0].serve.split=sum"},
		"a ramp of nothing": {
			withRule(Rule{Serve: serve, Progressive: &Progressive{To: 101, EndsAt: now}}),
			"rules[0].progressive=needs_rollout rules[0].progressive.to=percentage rules[0].progressive.startsAt=required",
		},
		"a ramp backwards": {withRule(Rule{
			Serve: Serve{Rollout: &Rollout{Variant: "on"}}, Progressive: &Progressive{StartsAt: now, EndsAt: now},
		}), "rules[0].progressive.endsAt=order"},
		"most conditions": {asks(repeat(50, func(int) Condition { return exists })...), ""},
		"too many conditions": {asks(append(repeat(49, func(int) Condition { return exists }),
			Condition{Conditions: Conditions{All: []Condition{exists, exists}}})...), "rules[0].conditions=too_many"},
		"the deepest": {asks(nest(3)), ""},
		"too deep":    {asks(nest(4)), "rules[0].conditions.all[0].any[0].any[0]=too_deep"},
		"conditions and a question": {
			asks(Condition{
				Conditions: Conditions{Any: []Condition{exists}}, Attribute: "a", Op: OpEq, Values: []any{"x"},
			}), "rules[0].conditions.all[0]=one_of",
		},
		"conditions that are negated": {
			asks(exists, Condition{Conditions: Conditions{All: []Condition{exists}}, Negate: true}),
			"rules[0].conditions.all[1]=one_of",
		},
		"all and any": {
			withRule(Rule{Conditions: &Conditions{All: []Condition{exists}, Any: []Condition{exists}}, Serve: serve}),
			"rules[0].conditions=one_of",
		},
		"no operator": {
			asks(Condition{Attribute: "a", Op: "percentOf"}), "rules[0].conditions.all[0].op=unknown_operator",
		},
		"no attribute to ask": {
			asks(Condition{Op: OpEq, Values: []any{"x"}}), "rules[0].conditions.all[0].attribute=required",
		},
		"an address compared": {
			asks(Condition{Attribute: "$ip", Op: OpEq, Values: []any{"x"}}), "rules[0].conditions.all[0].op=needs_network",
		},
		"most values": {asks(Condition{Attribute: "a", Op: OpIn, Values: texts(1000)}), ""},
		"too many values": {
			asks(Condition{Attribute: "a", Op: OpIn, Values: texts(1001)}), "rules[0].conditions.all[0].values=too_many",
		},
		"two values of one": {
			asks(Condition{Attribute: "a", Op: OpEq, Values: texts(2)}), "rules[0].conditions.all[0].values=too_many",
		},
		"no values": {asks(Condition{Attribute: "a", Op: OpEq}), "rules[0].conditions.all[0].values=required"},
		"values of exists": {
			asks(Condition{Attribute: "a", Op: OpExists, Values: texts(1)}), "rules[0].conditions.all[0].values=too_many",
		},
		"a longest value": {asks(Condition{Attribute: "a", Op: OpEq, Values: []any{long}}), ""},
		"a value too long": {
			asks(Condition{Attribute: "a", Op: OpEq, Values: []any{long + "x"}}),
			"rules[0].conditions.all[0].values[0]=too_long",
		},
		"a list as a value": {
			asks(Condition{Attribute: "a", Op: OpEq, Values: []any{[]any{"x"}}}),
			"rules[0].conditions.all[0].values[0]=invalid_value",
		},
		"a text for a number": {
			asks(Condition{Attribute: "a", Op: OpNumGt, Values: []any{"5"}}),
			"rules[0].conditions.all[0].values[0]=invalid_value",
		},
		"a bad pattern": {
			asks(Condition{Attribute: "a", Op: OpMatches, Values: []any{"("}}),
			"rules[0].conditions.all[0].values[0]=invalid_value",
		},
		"a largest pattern": {asks(Condition{Attribute: "a", Op: OpMatches, Values: []any{"a{998}"}}), ""},
		"a pattern too large": {
			asks(Condition{Attribute: "a", Op: OpMatches, Values: []any{"a", "a{999}"}}),
			"rules[0].conditions.all[0].values[1]=too_large",
		},
		"one that stands for a quarter of a million": {
			asks(Condition{Attribute: "a", Op: OpMatches, Values: []any{"(?:" + strings.Repeat("a", 240) + "){1000}"}}),
			"rules[0].conditions.all[0].values[0]=too_large",
		},
		"most patterns, in each environment": {
			in20(asks(Condition{Attribute: "a", Op: OpMatches, Values: large(10)}), nil), "",
		},
		"too many of them": {
			asks(Condition{Attribute: "a", Op: OpMatches, Values: append(large(10), "b", "c", "(")}),
			"rules[0].conditions.all[0].values[10]=too_large rules[0].conditions.all[0].values[12]=invalid_value",
		},
		"too many in an environment": {
			in20(asks(Condition{Attribute: "a", Op: OpMatches, Values: large(10)}), &[]Rule{{
				Serve:      serve,
				Conditions: &Conditions{Any: []Condition{{Attribute: "a", Op: OpMatches, Values: []any{large(1)[0], "b"}}}},
			}}), "environments.e0.rules[0].conditions.any[0].values[1]=too_large",
		},
		"numbers that are held": {
			asks(Condition{Attribute: "a", Op: OpIn, Values: read("[9007199254740992,-0,0.1,1e21,1.50]")}), "",
		},
		"one that is not": {
			asks(Condition{Attribute: "a", Op: OpIn, Values: read("[1,9007199254740993]")}),
			"rules[0].conditions.all[0].values[1]=inexact",
		},
		"digits that are not": {
			asks(Condition{Attribute: "a", Op: OpNumGt, Values: read("[0.10000000000000000001]")}),
			"rules[0].conditions.all[0].values[0]=inexact",
		},
		"a bad network": {
			asks(Condition{Op: OpIPInRange, Values: []any{"1.2.3.4/33"}}), "rules[0].conditions.all[0].values[0]=invalid_value",
		},
		"a bad version": {
			asks(Condition{Attribute: "a", Op: OpSemverGt, Values: []any{"x"}}),
			"rules[0].conditions.all[0].values[0]=invalid_value",
		},
		"a bad date": {
			asks(Condition{Attribute: "a", Op: OpDateAfter, Values: []any{"-7y"}}),
			"rules[0].conditions.all[0].values[0]=invalid_value",
		},
	} {
		if got := wrong(tc.is.Check()); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

// What is counted before an expression is compiled is never less than what it is compiled to, and
// not much more.
func TestAnExpressionIsAsLargeAsWhatItIsCompiledTo(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "a", "abc", "a*", "a+?", "a?", "(a*)*", "(?:a?)*", "(a|b|)*", "a|bc|d", "ab|ac", "^a$", `\bfoo\b`, "[a-z]+",
		"(?i)straße", "a{3}", "a{3,}", "a{3,7}", "a{0}", "a{0,1}", "a{0,}", "(?:ab?){2,5}", "((a{10}){10}){10}",
		"(?:a{10}|b){10}", ".*", "(?s).", "(?:" + strings.Repeat("a", 240) + "){1000}", "x{0,1000}", "(?:){1000}",
		"(?:|a){3}", `[^\x00-\x{10FFFF}]`, "(?i)k{5}", "(?:^)*", "(?m)^a$", `\A\z`,
	} {
		is, err := syntax.Parse(text, syntax.Perl)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		prog, err := syntax.Compile(is.Simplify())
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if size, want := patternSize(is), len(prog.Inst); size < want || size > 2*want+4 {
			t.Errorf("%.40s: %d instructions, and is compiled to %d", text, size, want)
		}
	}
	classes, err := syntax.Parse(strings.Repeat(`\pL`, 85), syntax.Perl)
	if size := patternSize(classes); err != nil || size < 85*100 {
		t.Errorf("85 classes of a thousand bounds: %d, %v", size, err)
	}
}

func TestAConditionsExpressionsAreCompiledOnce(t *testing.T) {
	t.Parallel()
	d := boolean("f", Rule{
		Conditions: &Conditions{All: []Condition{{Attribute: "a", Op: OpMatches, Values: []any{"^b", "^b"}}}},
		Serve:      Serve{Variant: "on"},
	})
	d.Environments = map[string]Override{"staging": {Active: new(true)}}
	f := compiled(t, d).Flag("", "f")
	of := func(p *plan) []*pattern { return p.rules[0].conditions.list[0].patterns }
	base, staging := of(f.base), of(f.environments["staging"])
	if base[0] != base[1] || base[0] != staging[0] {
		t.Error("they are compiled several times")
	}
}

func TestASegmentIsCheckedByItsLimits(t *testing.T) {
	t.Parallel()
	ids := func(n int) []string { return repeat(n, strconv.Itoa) }
	for name, tc := range map[string]struct {
		is   Segment
		want string
	}{
		"people":          {Segment{Key: "s", UserIDs: ids(10_000)}, ""},
		"too many people": {Segment{Key: "s", UserIDs: ids(10_000), Emails: []string{"e"}}, "userIds=too_many"},
		"nobody":          {Segment{Key: "s"}, "conditions=required"},
		"a bad key":       {Segment{Key: "s s", Emails: []string{""}}, "key=invalid_key emails[0]=required"},
		"another segment": {
			Segment{Key: "s", Conditions: &Conditions{Any: []Condition{{Op: OpInSegment, Values: []any{"x"}}}}},
			"conditions=nested_segment",
		},
		"conditions": {Segment{Key: "s", Conditions: &Conditions{Any: []Condition{{Attribute: "a", Op: OpExists}}}}, ""},
		"a pattern too large": {
			Segment{Key: "s", Conditions: &Conditions{Any: []Condition{
				{Attribute: "a", Op: OpMatches, Values: []any{"a{998}", "a{999}"}},
			}}}, "conditions.any[0].values[1]=too_large",
		},
	} {
		if got := wrong(tc.is.Check()); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

// What Check has nothing against can be compiled and evaluated, whatever it is.
func FuzzDefinition(f *testing.F) {
	seed, err := json.Marshal(usual())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(seed, []byte(`{"plan":"pro","age":[1,"x"]}`), "user-1", int64(0))
	f.Add([]byte(`{"key":"f","active":true,"variants":[{"key":"a"}],"defaultVariant":"a","offVariant":"a","prerequisites":[{"flagKey":"g","variants":["x"]}],
		"rules":[{"conditions":{"any":[{"op":"inSegment","values":["s"]},{"attribute":"a","op":"matches","values":["(a|b)*"]}]},"serve":{"split":[{"variant":"a","weight":100}]}}]}`), []byte(`{"a":"abc"}`), "", int64(1))
	f.Fuzz(func(t *testing.T, definition, attributes []byte, user string, millis int64) {
		var d Definition
		if json.Unmarshal(definition, &d) != nil || len(d.Check()) > 0 {
			return
		}
		set, err := Compile([]Member[Definition]{{Is: &d}}, nil)
		if err != nil {
			t.Fatalf("%s: %v", definition, err)
		}
		ctx := &Context{UserID: user, Attributes: map[string]Value{}}
		var all map[string]any
		_ = json.Unmarshal(attributes, &all)
		for k, v := range all {
			ctx.Attributes[k] = ValueOf(v)
		}
		var e Evaluator
		e.Reset(set, ctx, "", time.UnixMilli(millis))
		flag := set.Flag("", d.Key)
		if r := served(&e, flag); flag.Variant(r.Variant) == nil || r.Reason.String() == "" {
			t.Errorf("%+v", r)
		}
	})
}
