package flageval

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"
)

var now = time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)

// boolean returns a flag of the variants on and off that is on for those whom its rules
// reach.
func boolean(key string, rules ...Rule) *Definition {
	return &Definition{
		Key: key, Active: true,
		Variants:       []Variant{{Key: "on", Value: json.RawMessage("true")}, {Key: "off", Value: json.RawMessage("false")}},
		DefaultVariant: "off", OffVariant: "off", Rules: rules,
	}
}

func compiled(tb testing.TB, flags ...*Definition) *Set {
	tb.Helper()
	all := make([]Member[Definition], len(flags))
	for i, d := range flags {
		if problems := d.Check(); len(problems) > 0 {
			tb.Fatalf("%s: %+v", d.Key, problems)
		}
		all[i] = Member[Definition]{Is: d}
	}
	set, err := Compile(all, nil)
	if err != nil {
		tb.Fatal(err)
	}
	return set
}

// served is Evaluate for flags that cost little; others have a reason that no flag has.
func served(e *Evaluator, f *Flag) Result {
	r, err := e.Evaluate(f)
	if err != nil {
		r.Reason = ByDefault + 1
	}
	return r
}

// told is a result in words: reason and variant.
func told(set *Set, key, environment string, ctx *Context, at time.Time) string {
	var e Evaluator
	e.Reset(set, ctx, environment, at)
	f := set.Flag("", key)
	r := served(&e, f)
	return r.Reason.String() + " " + f.Variant(r.Variant).Key
}

func TestSomebodyIsDrawnByTheHashThatOthersDrawByToo(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]uint32{"new-nav:user-1": 65156, "checkout:variant:user-1": 78646, "flag:ü": 23992} {
		if got := murmur3([]byte(text)) % buckets; got != want {
			t.Errorf("%s is in bucket %d, want %d", text, got, want)
		}
	}
	for text, want := range map[string]uint32{"": 0, "a": 0x3c2569b2, "abc": 0xb3dd93fa, "abcd": 0x43ed676a} {
		if got := murmur3([]byte(text)); got != want {
			t.Errorf("%q has hash %#x, want %#x", text, got, want)
		}
	}
}

func TestTheFirstThatHoldsDecides(t *testing.T) {
	t.Parallel()
	everybody := Serve{Variant: "on"}
	off := boolean("off", Rule{Serve: everybody})
	off.Active = false
	needy := func(key string, needs ...Prerequisite) *Definition {
		d := boolean(key, Rule{Serve: everybody})
		d.Prerequisites = needs
		return d
	}
	scheduled := boolean("scheduled", Rule{Serve: everybody})
	scheduled.Schedule = Schedule{StartsAt: now, EndsAt: now.Add(time.Second)}
	ruleTime := boolean("rule-time",
		Rule{Serve: everybody, Schedule: Schedule{StartsAt: now, EndsAt: now.Add(time.Second)}})
	targeted := boolean("targeted", Rule{Serve: everybody})
	targeted.Targets = []Target{
		{Variant: "off", UserIDs: []string{"ann"}},
		{Variant: "on", UserIDs: []string{"ann", "bob"}, Emails: []string{"Eve@Example.com"}},
	}
	roll := func(key string, percentage float64, onMiss string, more ...Rule) *Definition {
		return boolean(key,
			append([]Rule{{Serve: Serve{Rollout: &Rollout{Variant: "on", Percentage: percentage, OnMiss: onMiss}}}}, more...)...)
	}
	split := boolean("split", Rule{Serve: Serve{Split: &[]Share{{"on", 50}, {"off", 50}}}})
	disabled := boolean("disabled", Rule{Serve: everybody, Enabled: new(false)})
	staged := boolean("staged")
	staged.Environments = map[string]Override{
		"stage": {Rules: &[]Rule{{Serve: everybody}}}, "dark": {Active: new(false), OffVariant: new("on")},
		"gone": {DefaultVariant: new("on")},
	}
	set := compiled(
		t, off, scheduled, ruleTime, targeted, split, disabled, staged, boolean("plain"),
		boolean("served", Rule{Serve: everybody}), needy("needs-off", Prerequisite{"off", []string{"off", "on"}}),
		needy("needs-plain", Prerequisite{"plain", []string{"off"}}),
		needy("needs-other", Prerequisite{"plain", []string{"off"}}, Prerequisite{"served", []string{"off"}}),
		needy("needs-nothing-there", Prerequisite{"nowhere", []string{"on"}}),
		needy("needs-failed", Prerequisite{"needs-other", []string{"off"}}),
		roll("none", 0, ""), roll("all", 100, ""), roll("most", 65.157, ""),
		roll("fewer", 65.156, "", Rule{Serve: everybody}), roll("stop", 0, MissStop, Rule{Serve: everybody}),
	)
	ann := &Context{UserID: "ann"}
	inMost := float64(murmur3([]byte("most:ann"))%buckets) < 65157
	for _, tc := range []struct {
		key, environment string
		ctx              *Context
		at               time.Time
		want             string
	}{
		{"off", "", ann, now, "off off"},
		{"scheduled", "", ann, now.Add(-time.Millisecond), "off off"},
		{"scheduled", "", ann, now, "rule on"},
		{"scheduled", "", ann, now.Add(time.Second), "off off"},
		{"rule-time", "", ann, now.Add(-time.Millisecond), "default off"},
		{"rule-time", "", ann, now, "rule on"},
		{"rule-time", "", ann, now.Add(time.Second), "default off"},
		{"needs-off", "", ann, now, "prerequisite_failed off"},
		{"needs-plain", "", ann, now, "rule on"},
		{"needs-other", "", ann, now, "prerequisite_failed off"},
		{"needs-nothing-there", "", ann, now, "prerequisite_failed off"},
		{"needs-failed", "", ann, now, "rule on"},
		{"targeted", "", ann, now, "target off"},
		{"targeted", "", &Context{UserID: "bob"}, now, "target on"},
		{"targeted", "", &Context{UserID: "x", Email: "EVE@example.COM"}, now, "target on"},
		{"targeted", "", &Context{UserID: "x"}, now, "rule on"},
		{"none", "", ann, now, "default off"},
		{"all", "", &Context{}, now, "rollout on"},
		{"most", "", ann, now, map[bool]string{true: "rollout on", false: "default off"}[inMost]},
		{"most", "", &Context{}, now, "default off"},
		{"stop", "", ann, now, "rollout_miss off"},
		{"split", "", &Context{}, now, "default off"},
		{"disabled", "", ann, now, "default off"},
		{"staged", "", ann, now, "default off"},
		{"staged", "nowhere", ann, now, "default off"},
		{"staged", "stage", ann, now, "rule on"},
		{"staged", "dark", ann, now, "off on"},
		{"staged", "gone", ann, now, "default on"},
	} {
		if got := told(set, tc.key, tc.environment, tc.ctx, tc.at); got != tc.want {
			t.Errorf("%s in %q for %+v at %v: %s, want %s", tc.key, tc.environment, *tc.ctx, tc.at, got, tc.want)
		}
	}
}

func TestABucketIsWithinARolloutUpToItsThousandth(t *testing.T) {
	t.Parallel()
	for percentage, want := range map[float64]string{65.156: "default off", 65.157: "rollout on"} {
		set := compiled(t, boolean("new-nav", Rule{Serve: Serve{Rollout: &Rollout{Variant: "on", Percentage: percentage}}}))
		if got := told(set, "new-nav", "", &Context{UserID: "user-1"}, now); got != want { // bucket 65156
			t.Errorf("at %v %%: %s, want %s", percentage, got, want)
		}
	}
	for weight, want := range map[float64]string{78.646: "split b", 78.647: "split a"} {
		d := boolean("checkout", Rule{Serve: Serve{Split: &[]Share{{"a", weight}, {"b", 100 - weight}}}})
		d.Variants = append(d.Variants, Variant{Key: "a"}, Variant{Key: "b"})
		if got := told(compiled(t, d), "checkout", "", &Context{UserID: "user-1"}, now); got != want { // bucket 78646
			t.Errorf("with weight %v: %s, want %s", weight, got, want)
		}
	}
}

func TestSomebodyIsDrawnByWhatTheRolloutSays(t *testing.T) {
	t.Parallel()
	bucketOf := func(by, seed string, ctx *Context) int {
		set := compiled(t,
			boolean("f", Rule{Serve: Serve{Rollout: &Rollout{Variant: "on", Percentage: 50, BucketBy: by, Seed: seed}}}))
		var steps []Step
		e := Evaluator{Steps: &steps}
		e.Reset(set, ctx, "", now)
		served(&e, set.Flag("", "f"))
		return steps[len(steps)-1].Bucket
	}
	drawn := func(text string) int { return int(murmur3([]byte(text)) % buckets) }
	ctx := &Context{
		UserID: "u", Email: "e@x", AnonymousID: "a", OrganizationID: "o", TeamID: "t",
		Attributes: map[string]Value{"plan": Text("pro"), "n": Number(1), "userId": Text("other")},
	}
	for _, tc := range []struct {
		by, seed string
		ctx      *Context
		want     int
	}{
		{"", "", ctx, drawn("f:u")},
		{"userId", "s", ctx, drawn("s:u")},
		{"userId", "", &Context{Email: "e@x"}, drawn("f:e@x")},
		{"anonymousId", "", ctx, drawn("f:a")},
		{"anonymousId", "", &Context{UserID: "u"}, -1},
		{"organizationId", "", ctx, drawn("f:o")},
		{"teamId", "", ctx, drawn("f:t")},
		{"attr:plan", "", ctx, drawn("f:pro")},
		{"attr:userId", "", ctx, drawn("f:other")},
		{"attr:n", "", ctx, -1},
		{"attr:none", "", ctx, -1},
		{"", "", &Context{UserID: strings.Repeat("ü", 200)}, drawn("f:" + strings.Repeat("ü", 200))},
		{"", "", &Context{UserID: strings.Repeat("ü", 200) + "x"}, drawn("f:" + strings.Repeat("ü", 200))},
	} {
		if got := bucketOf(tc.by, tc.seed, tc.ctx); got != tc.want {
			t.Errorf("by %q with seed %q of %.40v: bucket %d, want %d", tc.by, tc.seed, *tc.ctx, got, tc.want)
		}
	}
}

func TestARampReachesNobodyLessThanBefore(t *testing.T) {
	t.Parallel()
	ramp := Rule{
		Serve:       Serve{Rollout: &Rollout{Variant: "on"}},
		Progressive: &Progressive{From: 10, To: 60, StartsAt: now, EndsAt: now.Add(100 * time.Minute)},
	}
	set := compiled(t, boolean("ramp", ramp))
	const people = 2000
	var was [people]bool
	for minute := -1; minute <= 101; minute++ {
		reached := 0
		for i := range people {
			on := told(set, "ramp", "", &Context{UserID: fmt.Sprint("user-", i)},
				now.Add(time.Duration(minute)*time.Minute)) == "rollout on"
			if was[i] && !on {
				t.Fatalf("user-%d is not reached any more in minute %d", i, minute)
			}
			if was[i] = on; on {
				reached++
			}
		}
		want := 10 + 0.5*float64(min(max(minute, 0), 100))
		if got := 100 * float64(reached) / people; got < want-5 || got > want+5 {
			t.Errorf("%v %% are reached in minute %d, want %v", got, minute, want)
		}
	}
}

func TestAWebsitesFlagHidesTheOneOfAll(t *testing.T) {
	t.Parallel()
	shared, own := boolean("f"), boolean("f", Rule{Serve: Serve{Variant: "on"}})
	needs := func(key string) *Definition {
		d := boolean(key, Rule{Serve: Serve{Variant: "on"}})
		d.Prerequisites = []Prerequisite{{"f", []string{"on"}}}
		return d
	}
	segment := func(user string) *Segment { return &Segment{Key: "s", UserIDs: []string{user}} }
	asks := boolean("asks",
		Rule{Conditions: &Conditions{All: []Condition{{Op: OpInSegment, Values: []any{"s"}}}}, Serve: Serve{Variant: "on"}})
	set, err := Compile(
		[]Member[Definition]{
			{"", shared}, {"web_1", own}, {"", needs("of-all")}, {"web_1", needs("of-web")}, {"", asks}, {"web_1", asks},
		},
		[]Member[Segment]{{"", segment("ann")}, {"web_1", segment("bob")}},
	)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ scope, key, user, want string }{
		{"", "f", "ann", "default"},
		{"web_1", "f", "ann", "rule"},
		{"web_2", "f", "ann", "default"},
		{"web_1", "of-all", "ann", "prerequisite_failed"},
		{"web_1", "of-web", "ann", "rule"},
		{"", "asks", "ann", "rule"},
		{"", "asks", "bob", "default"},
		{"web_1", "asks", "bob", "rule"},
		{"web_1", "asks", "ann", "default"},
	} {
		var e Evaluator
		e.Reset(set, &Context{UserID: tc.user}, "", now)
		r := served(&e, set.Flag(tc.scope, tc.key))
		if r.Reason.String() != tc.want || r.Segment != (tc.key == "asks" && tc.want == "rule") {
			t.Errorf("%s of %q for %s: %+v, want %s", tc.key, tc.scope, tc.user, r, tc.want)
		}
	}
	if set.Flag("web_2", "of-web") != nil || set.Flag("", "none") != nil {
		t.Error("a flag of another website is found")
	}
}

func TestFlagsThatNeedEachOtherEndAndDeepNeedsAreAskedOnce(t *testing.T) {
	t.Parallel()
	need := func(key string, keys ...string) *Definition {
		d := boolean(key, Rule{Serve: Serve{Variant: "on"}})
		for _, k := range keys {
			d.Prerequisites = append(d.Prerequisites, Prerequisite{k, []string{"on"}})
		}
		return d
	}
	if got := told(compiled(t, need("a", "b"), need("b", "a")), "a",
		"", &Context{}, now); got != "prerequisite_failed off" {
		t.Errorf("a circle serves %s", got)
	}
	// Each of ten flags of a level needs all ten of the level below: ten to the tenth ways.
	var all []*Definition
	var below []string
	for level := range 11 {
		var keys []string
		for i := range 10 {
			keys = append(keys, fmt.Sprintf("f-%d-%d", level, i))
			all = append(all, need(keys[i], below...))
		}
		below = keys
	}
	if got := told(compiled(t, all...), "f-10-0", "", &Context{}, now); got != "rule on" {
		t.Errorf("deep needs serve %s", got)
	}
}

// usual is ten rules of three conditions, of which the last is met.
func usual() *Definition {
	var rules []Rule
	for i := range 10 {
		rules = append(rules, Rule{
			Conditions: &Conditions{All: []Condition{
				{Attribute: "plan", Op: OpIn, Values: []any{"pro", "team"}},
				{Attribute: "version", Op: OpSemverGte, Values: []any{"1.2.3"}},
				{Attribute: "age", Op: OpNumGte, Values: []any{float64(i * 10)}, Negate: i < 9},
			}},
			Serve: Serve{Rollout: &Rollout{Variant: "on", Percentage: 50}},
		})
	}
	return boolean("usual", rules...)
}

func usualContext() *Context {
	return &Context{
		UserID: "user-1", Email: "Ann@Example.com", IP: netip.MustParseAddr("192.0.2.1"), Country: "DE",
		Attributes: map[string]Value{"plan": Text("team"), "version": Text("2.0.0"), "age": Number(95)},
	}
}

func TestAnEvaluationAllocatesNothing(t *testing.T) { //nolint:paralleltest // others would allocate meanwhile
	texts := boolean("texts", Rule{
		Conditions: &Conditions{All: []Condition{
			{Attribute: "plan", Op: OpContains, Values: []any{"EA", "Pr"}, CaseInsensitive: true},
			{Attribute: "plan", Op: OpMatches, Values: []any{"^t.*m$"}},
		}},
		Serve: Serve{Variant: "on"},
	})
	set, ctx := compiled(t, usual(), texts), usualContext()
	var e Evaluator
	e.Reset(set, ctx, "", now)
	if n := testing.AllocsPerRun(100, func() {
		e.Begin(t.Context())
		e.Reset(set, ctx, "", now)
		served(&e, set.Flag("", "usual"))
		served(&e, set.Flag("", "texts"))
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkEvaluate(b *testing.B) {
	set, ctx := compiled(b, usual()), usualContext()
	f := set.Flag("", "usual")
	var e Evaluator
	b.ReportAllocs()
	for b.Loop() {
		e.Begin(b.Context())
		e.Reset(set, ctx, "", now)
		served(&e, f)
	}
}
