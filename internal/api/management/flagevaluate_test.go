package management_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/contract/apierr"
)

type evaluated struct {
	At      string
	Results []struct {
		Key         string
		Context     int
		Live, Draft *evaluation
	}
}

type evaluation struct {
	Enabled                         bool
	Variant, Reason, RuleID, FlagID string
	Value, Payload                  any
	Rule                            *int
	StepsCut                        bool
	Steps                           []struct {
		Flag, Looked       string
		Met                bool
		Rule, Bucket, UpTo *int
	}
}

func (e *evaluation) String() string {
	if e == nil {
		return "none"
	}
	return fmt.Sprint(e.Variant, " by ", e.Reason)
}

// told lists what was evaluated.
func (e *evaluated) told() (all []string) {
	for _, r := range e.Results {
		text := fmt.Sprint(r.Key, " ", r.Context, ": ", r.Live)
		if r.Draft != nil {
			text += fmt.Sprint(" / ", r.Draft)
		}
		all = append(all, text)
	}
	return all
}

const splitRule = `"rules":[{"id":"half","serve":{"rollout":{"variant":"on","percentage":70,"seed":"new-nav"}}}]`

func TestFlagsAreEvaluatedWithoutBeingServed(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	site := do[site](d, "owner", "websites/create", shop).ID
	nav := d.flagged(`"key":"new-nav","type":"boolean","environments":{"dev":{"status":"active","rules":[]}},` + splitRule)
	do[flagData](d, "editor", "flags/enable", byID(nav, ""))
	d.flagged(fmt.Sprintf(
		`"key":"own","type":"boolean","websiteId":%q,"prerequisites":[{"flagKey":"new-nav","variants":["on"]}]`, site))
	ask := func(body string) *evaluated {
		t.Helper()
		got := do[evaluated](d, "viewer", "flags/evaluate", body)
		return &got
	}
	for body, want := range map[string][]string{
		// The bucket of new-nav:user-1 is 65156.
		`{"key":"new-nav","context":{"userId":"user-1"}}`: {
			"new-nav 0: on by rollout",
		},
		`{"key":"new-nav","contexts":[{"userId":"user-1"},{}]}`: {
			"new-nav 0: on by rollout", "new-nav 1: off by default",
		},
		`{"key":"new-nav","context":{},"environment":"dev"}`: {
			"new-nav 0: off by default",
		},
		`{"key":"own","context":{}}`: {
			"own 0: none",
		},
		fmt.Sprintf(`{"keys":["own","new-nav"],"websiteId":%q,"context":{"userId":"user-1"}}`,
			site): {"own 0: off by off", "new-nav 0: on by rollout"},
		fmt.Sprintf(`{"key":"own","websiteId":%q,"context":{"userId":"user-1"},"draft":{"status":"active"}}`,
			site): {"own 0: off by off / on by default"},
		fmt.Sprintf(`{"key":"own","websiteId":%q,"context":{},"draft":{"status":"active"}}`,
			site): {"own 0: off by off / off by prerequisite_failed"},
		`{"key":"new-nav","context":{"userId":"user-1"},"draft":{"rules":[]}}`: {
			"new-nav 0: on by rollout / on by default",
		},
		`{"key":"fresh","context":{"email":"A@x.org"},"draft":{"targets":[{"variant":"on","emails":["a@X.org"]}]}}`: {
			"fresh 0: none / on by target",
		},
		`{"key":"fresh","context":{"attributes":{"n":3,"tags":["a","b"]}},"draft":{"type":"number","variants":[{"key":"x","value":1}],"defaultVariant":"x","offVariant":"x","rules":[{"serve":{"variant":"x"},"conditions":{"all":[{"attribute":"tags","op":"in","values":["b"]},{"attribute":"n","op":"numGt","values":[2]}]}}]}}`: {"fresh 0: none / x by rule"},
		`{"key":"fresh","context":{},"at":"2026-02-01T00:00:00Z","draft":{"schedule":{"startsAt":"2026-02-01T00:00:00Z","endsAt":"2026-02-02T00:00:00Z"}}}`:                                                                                                                                                                         {"fresh 0: none / on by default"},
		`{"key":"fresh","context":{},"at":"2026-02-02T00:00:00Z","draft":{"schedule":{"startsAt":"2026-02-01T00:00:00Z","endsAt":"2026-02-02T00:00:00Z"}}}`:                                                                                                                                                                         {"fresh 0: none / off by off"},
		`{"key":"fresh","context":{"ip":"192.0.2.7","country":"DE"},"draft":{"rules":[{"serve":{"variant":"on"},"conditions":{"all":[{"op":"ipInRange","values":["192.0.2.0/24"]},{"op":"country","values":["de"]}]}}]}}`:                                                                                                           {"fresh 0: none / on by rule"},
	} {
		if diff := cmp.Diff(want, ask(body).told()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", body, diff)
		}
	}
	if list := do[[]flagData](d, "viewer", "flags/list", `{}`); len(list) != 2 {
		t.Errorf("drafts were kept: %+v", list)
	}
}

func TestFlagsEvaluate_RejectsLongAttributes(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	d.flagged(`"key":"nav","type":"boolean"`)
	most := strings.Repeat("ü", 256)
	do[evaluated](d, "viewer", "flags/evaluate", `{"key":"nav","context":{"attributes":{"a":["`+most+`"]}}}`)
	for body, field := range map[string]string{
		`{"key":"nav","context":{"attributes":{"a":"` + most + `x"}}}`:           "context.attributes.a",
		`{"key":"nav","contexts":[{},{"attributes":{"a":[1,"` + most + `x"]}}]}`: "contexts[1].attributes.a[1]",
		`{"key":"nav","context":{"userId":"` + most + `x"}}`:                     "context.userId",
	} {
		got := d.rejected("viewer", "flags/evaluate", body, http.StatusBadRequest, apierr.Validation)
		if len(got.Details) != 1 || got.Details[0].Field != field {
			t.Errorf("%s: %+v", field, got)
		}
	}
}

func TestFlagsEvaluate_RejectsCostlyCalls(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	var values []string
	for i := range 10 {
		values = append(values, fmt.Sprintf(`"(?:a?){330}%d"`, i))
	}
	id := d.flagged(`"key":"nav","type":"boolean","rules":[{"serve":{"variant":"on"},"conditions":{"all":[{"attribute":"a","op":"matches","values":[` +
		strings.Join(values, ",") + `]}]}}]`)
	do[flagData](d, "editor", "flags/enable", byID(id, ""))
	contexts := func(n int) string {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf(`{"attributes":{"a":"%s%d"}}`, strings.Repeat("a", 200), i))
		}
		return `{"key":"nav","contexts":[` + strings.Join(all, ",") + `]}`
	}
	do[evaluated](d, "viewer", "flags/evaluate", contexts(2)) // each costs some 2 of 10 million
	got := d.rejected("viewer", "flags/evaluate", contexts(10), http.StatusBadRequest, apierr.Validation)
	if len(got.Details) != 1 || !strings.Contains(got.Details[0].Message, "exceeds the cost limit") {
		t.Errorf("%+v", got)
	}
}

func TestAnEvaluationIsExplained(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	d.flagged(`"key":"base","type":"boolean"`)
	id := d.flagged(`"key":"nav","type":"boolean","prerequisites":[{"flagKey":"base","variants":["on"]}],` + splitRule)
	for _, one := range []string{id, do[flagData](d, "viewer", "flags/get", `{"key":"base"}`).ID} {
		do[flagData](d, "editor", "flags/enable", byID(one, ""))
	}
	got := do[evaluated](d, "viewer", "flags/evaluate",
		`{"key":"nav","context":{"userId":"user-1"},"explain":true}`).Results[0].Live
	var steps []string
	for _, s := range got.Steps {
		text, err := json.Marshal([]any{s.Flag, s.Looked, s.Met, s.Rule, s.Bucket, s.UpTo})
		if err != nil {
			t.Fatal(err)
		}
		steps = append(steps, string(text))
	}
	want := []string{
		`["nav","off",true,null,null,null]`, `["base","off",true,null,null,null]`,
		`["nav","prerequisite_failed",true,null,null,null]`,
		`["nav","rollout",true,0,65156,70000]`,
	}
	if diff := cmp.Diff(want, steps); diff != "" || !got.Enabled || got.RuleID != "half" || got.Rule == nil ||
		*got.Rule != 0 || got.Value != true || got.FlagID != id {
		t.Errorf("%+v (-want +got):\n%s", got, diff)
	}
	if without := do[evaluated](d, "viewer", "flags/evaluate",
		`{"key":"nav","context":{"userId":"user-1"}}`); len(without.Results[0].Live.Steps) != 0 {
		t.Errorf("explained without being asked: %+v", without)
	}
}

// What one flag looked at is told again of the next one that looks at it, and of each context.
func TestEachOfSeveralFlagsIsExplainedInWhole(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	ids := []string{d.flagged(`"key":"base","type":"boolean"`)}
	for _, key := range []string{"a", "b"} {
		ids = append(ids, d.flagged(fmt.Sprintf(
			`"key":%q,"type":"boolean","prerequisites":[{"flagKey":"base","variants":["on"]}]`, key)))
	}
	for _, id := range ids {
		do[flagData](d, "editor", "flags/enable", byID(id, ""))
	}
	got := do[evaluated](d, "viewer", "flags/evaluate",
		`{"keys":["a","base","b"],"contexts":[{},{"userId":"u"}],"explain":true}`)
	for _, r := range got.Results {
		var looked []string
		for _, s := range r.Live.Steps {
			looked = append(looked, s.Flag+" "+s.Looked)
		}
		want := []string{r.Key + " off", "base off", r.Key + " prerequisite_failed"}
		if r.Key == "base" {
			want = []string{"base off"}
		}
		if diff := cmp.Diff(want, looked); diff != "" {
			t.Errorf("%s of context %d (-want +got):\n%s", r.Key, r.Context, diff)
		}
	}
}

// A boolean flag is on for those alone whom an environment's rules or targets name, unless somebody
// says otherwise.
func TestTheDefaultOfAnEnvironmentFollowsItsRulesAndTargets(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	const tenth = `"rules":[{"serve":{"rollout":{"variant":"on","percentage":10}}}]`
	id := d.flagged(`"key":"f","type":"boolean","environments":{
		"production":{` + tenth + `},"staging":{},"chosen":{"defaultVariant":"on",` + tenth +
		`},"none":{"rules":[],"targets":[]}}`)
	do[flagData](d, "editor", "flags/enable", byID(id, ""))
	expect := func(when string, want map[string]string) {
		t.Helper()
		for environment, want := range want {
			more := fmt.Sprintf(`,"environment":%q`, environment)
			if environment == "" {
				more = ""
			}
			// The bucket of f:outside is beyond the first tenth.
			got := do[evaluated](d, "viewer", "flags/evaluate", `{"key":"f","context":{"userId":"outside"}`+more+`}`)
			if text := got.Results[0].Live.String(); text != want+" by default" {
				t.Errorf("%s, in %q: %s, want %s", when, environment, text, want)
			}
		}
	}
	expect("at first", map[string]string{"": "on", "production": "off", "staging": "on", "chosen": "on", "none": "on"})
	targets := byID(id, `,"variant":"on","userIds":["u"],"environment":"staging"`)
	do[flagData](d, "editor", "flags/addTargets", targets)
	expect("with a target", map[string]string{"": "on", "production": "off", "staging": "off", "chosen": "on"})
	do[flagData](d, "editor", "flags/removeTargets", byID(id, `,"userIds":["u"],"environment":"staging"`))
	expect("without it", map[string]string{"": "on", "production": "off", "staging": "on", "chosen": "on"})
	do[flagData](d, "editor", "flags/update", byID(id, `,"defaultVariant":"on"`))
	expect("where it is chosen", map[string]string{"": "on", "production": "on", "staging": "on", "chosen": "on"})
	do[flagData](d, "editor", "flags/update", byID(id, `,"defaultVariant":null`))
	expect("where it is chosen no more", map[string]string{"": "on", "production": "off", "staging": "on"})
	f := d.call("viewer", "flags/get", byID(id, ""))
	var told struct {
		Environments json.RawMessage `json:"environments"`
	}
	if err := json.Unmarshal(f.Data, &told); err != nil {
		t.Fatal(err)
	}
	again := byID(id, fmt.Sprintf(`,"environments":%s`, told.Environments))
	if before, after := do[flagData](d, "viewer", "flags/get", byID(id, "")).Version,
		do[flagData](d, "editor", "flags/update", again).Version; before != after {
		t.Errorf("sent back, version %d is version %d", before, after)
	}
	do[flagData](d, "editor", "flags/update", byID(id, `,"environments":{"production":{"defaultVariant":"off"}}`))
	expect("chosen and without rules", map[string]string{"": "on", "production": "off"})
	do[flagData](d, "editor", "flags/update", byID(id, `,"environments":{"production":{"status":"active"}}`))
	expect("without either", map[string]string{"": "on", "production": "on"})
}

func TestAQuestionAgainstTheRulesIsRejected(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	d.flagged(`"key":"a","type":"boolean"`)
	contexts := func(n int) string {
		return `{"key":"a","contexts":[` + strings.TrimSuffix(strings.Repeat("{},", n), ",") + `]}`
	}
	for body, field := range map[string]string{
		`{"context":{}}`:                                            "key",
		`{"key":"a","keys":["a"],"context":{}}`:                     "key",
		`{"key":"a"}`:                                               "context",
		`{"keys":["a","b"],"context":{},"draft":{}}`:                "draft",
		`{"key":"a","context":{"ip":"localhost"}}`:                  "context.ip",
		`{"key":"a","contexts":[{},{"ip":"x"}]}`:                    "contexts[1].ip",
		`{"key":"a","context":{},"draft":{"rules":[{"serve":{}}]}}`: "draft.rules[0].serve",
		`{"key":"a","context":{},"draft":{"prerequisites":[{"flagKey":"none","variants":["on"]}]}}`: "draft.prerequisites[0].flagKey",
		// 201 answers
		strings.Replace(contexts(67), `"key":"a"`, `"keys":["a","b","c"]`, 1): "contexts",
		contexts(101): "contexts",
	} {
		r := d.rejected("viewer", "flags/evaluate", body, 400, apierr.Validation)
		if len(r.Details) == 0 || r.Details[0].Field != field {
			t.Errorf("%.100s: %s, want a detail of %s", body, r.Text, field)
		}
	}
	two := strings.Replace(contexts(100), `"key":"a"`, `"keys":["a","b"]`, 1)
	if got := do[evaluated](d, "viewer", "flags/evaluate", two); len(got.Results) != 200 {
		t.Errorf("%d results of 100 contexts", len(got.Results))
	}
	if r := d.rejected("viewer", "flags/evaluate",
		`{"key":"a","context":{},"draft":{"prerequisites":[{"flagKey":"a","variants":["on"]}]}}`, 409,
		apierr.Conflict); !strings.Contains(r.Error, "itself") {
		t.Errorf("a circle: %s", r.Text)
	}
}
