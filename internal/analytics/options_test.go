package analytics

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/contract/apierr"
)

// optionType has an option of each kind.
var optionType = Type{
	Name: "optional", Filters: fieldsOf(tableEvents),
	Options: []Option{
		{Name: "property", Kind: OptionText, Required: true, Max: 20},
		{Name: "order", Kind: OptionText, Default: "first", OneOf: []string{"first", "last"}},
		{Name: "window", Kind: OptionInteger, Default: "7", Min: 1, Max: 90},
		{Name: "levels", Kind: OptionNumbers, Default: "50, 99.5", Min: 1, Max: 3, Most: 1000},
		{Name: "days", Kind: OptionInteger, Default: "7", Min: 7, Max: 30, OneOf: []string{"7", "30"}},
		{Name: "until", Kind: OptionMoment},
		{Name: "steps", Kind: OptionSteps, Min: 2, Max: 3},
	},
}

const twoSteps = `"steps":[{"event":"signup","filters":[{"or":[{"field":"country","op":"eq","value":"AT"},{"field":"city","op":"is_set"}]}]},{"name":"Paid","path":"/thanks"}]`

// withOptions checks the options of a parameter object, given as its members.
func withOptions(t *testing.T, members string) (options, []string) {
	t.Helper()
	requests, _, err := Decode([]byte(`{"parameters":[{"name":"optional",` + members + `}],"preset":"today"}`))
	if err != nil {
		t.Fatalf("%s: %v", members, err)
	}
	c := compiler{request: &requests[0], env: websiteEnv()}
	o := c.checkOptions(0, &optionType)
	var problems []string
	for _, p := range c.problems {
		problems = append(problems, strings.TrimSpace(p.Field+": "+p.Message+" "+p.Suggestion))
	}
	return o, problems
}

func TestOptionsBecomeParametersAndConditions(t *testing.T) {
	t.Parallel()
	o, problems := withOptions(t, `"property":"price","levels":[0.5,1e3],`+twoSteps)
	if problems != nil {
		t.Fatal(problems)
	}
	var got []string
	for _, p := range o.params {
		got = append(got, p.Name+" "+p.Type+" "+p.Text)
	}
	for _, s := range o.steps {
		got = append(got, strings.Join(s.where, " AND "))
	}
	want := []string{
		"option_property String price", "option_order String first", "option_window UInt64 7",
		"option_levels Array(Float64) [0.5,1000]", "option_days UInt64 7", "option_until String ",
		"option_steps Array(String) ['signup','Paid']",
		"option_steps_0_0 String AT", "option_steps_0_event String signup", "option_steps_1_path String /thanks",
		"e.name = {option_steps_0_event:String} AND (e.country = {option_steps_0_0:String} OR e.city != '')",
		"e.path = {option_steps_1_path:String}",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("parameters and steps (-want +got):\n%s", diff)
	}
}

func TestEveryMistakeInAnOptionIsNamed(t *testing.T) {
	t.Parallel()
	step := func(members string) string {
		return `"property":"x","steps":[{` + members + `},{"event":"b"}]`
	}
	for members, want := range map[string]string{
		`"order":"last"`: "parameters[0].property: optional requires " +
			"property",
		`"property":"x","window":0`: "parameters[0].window: window must be at " +
			"least 1",
		`"property":"x","window":91`: "parameters[0].window: window cannot exceed 90",
		`"property":"x","window":1.5`: "parameters[0].window: parameters[0].window " +
			"must be a whole number",
		`"property":"x","window":"7"`: "parameters[0].window: parameters[0].window " +
			"must be a number",
		`"property":7`: "parameters[0].property: " +
			"parameters[0].property must be a string",
		`"property":"` + strings.Repeat("é", 21) +
			`"`: "parameters[0].property: parameters[0].property must have at most 20 characters",
		`"property":"x","order":"middle"`: "parameters[0].order: Invalid order: middle " +
			"Use one of first, last",
		`"property":"x","levels":[5,1000.5]`: "parameters[0].levels[1]: " +
			"parameters[0].levels[1] must be from 0 to 1000",
		`"property":"x","levels":-0.5`: "parameters[0].levels: parameters[0].levels " +
			"must be from 0 to 1000",
		`"property":"x","days":8`: "parameters[0].days: Invalid days: 8 Use one " +
			"of 7, 30",
		`"property":"x","until":"soon"`: "parameters[0].until: Invalid date: soon. " +
			"Could not parse as a valid date",
		`"property":"x","levels":[]`: "parameters[0].levels: levels must have at least " +
			"1 number",
		`"property":"x","levels":[1,2,3,4]`: "parameters[0].levels: Too many numbers: 4 " +
			"given, at most 3 are allowed",
		`"property":"x","levels":["a"]`: "parameters[0].levels[0]: " +
			"parameters[0].levels[0] must be a number",
		`"property":"x","levels":"a"`: "parameters[0].levels: parameters[0].levels " +
			"must be a number",
		`"property":"x","steps":{}`: "parameters[0].steps: parameters[0].steps " +
			"must be an array",
		`"property":"x","steps":[{"event":"a"}]`: "parameters[0].steps: steps must have at least 2 " +
			"steps",
		step(`"event":"a"},{"event":"a"},{"event":"a"`): "parameters[0].steps: Too many steps: 4 " +
			"given, at most 3 are allowed",
		step(`"name":"a"`): "parameters[0].steps[0]: " +
			"parameters[0].steps[0] must have an event, a path or filters",
		step(`"evnt":"a"`): "parameters[0].steps[0].evnt: Unknown field: " +
			"evnt Did you mean 'event'?",
		step(`"filters":[{"field":"pth","op":"eq","value":"a"}]`): "parameters[0].steps[0].filters[0].field: " +
			"Unknown filter field: pth Did you mean 'path'?",
		step(`"filters":[{"field":"metric_name","op":"eq","value":"LCP"}]`): "parameters[0].steps[0].filters[0].field: " +
			"Filter metric_name is not supported by optional " + supportedFilters(&optionType),
		`"property":"x","stps":[]`: "parameters[0].stps: Unknown field: stps Did " +
			"you mean 'steps'?",
	} {
		_, problems := withOptions(t, members)
		if len(problems) == 0 || problems[0] != want {
			t.Errorf("%s: %q, want %q", members, problems, want)
		}
	}
}

func TestOptionsOfAnUnknownTypeAreUnknown(t *testing.T) {
	t.Parallel()
	_, err := compileBody(t, `{"parameters":[{"name":"nothing","steps":[]}],"preset":"today"}`, websiteEnv())
	if err == nil || !strings.Contains(err.Error(), "Unknown field: steps") {
		t.Errorf("error %v", err)
	}
}

func TestStepsHaveAsManyFiltersAsARequest(t *testing.T) {
	t.Parallel()
	steps := func(n int) string {
		half := strings.TrimSuffix(strings.Repeat(`{"field":"path","op":"is_set"},`, n/2), ",")
		return `"property":"x","steps":[{"filters":[` + half + `]},{"filters":[` + half +
			strings.Repeat(`,{"field":"path","op":"is_set"}`, n%2) + `]}]`
	}
	if _, problems := withOptions(t, steps(MaxFilters)); problems != nil {
		t.Errorf("%d filters: %v", MaxFilters, problems)
	}
	if _, problems := withOptions(t, steps(MaxFilters+1)); len(problems) != 1 ||
		!strings.Contains(problems[0], "51 given, at most 50") {
		t.Errorf("%d filters: %v", MaxFilters+1, problems)
	}
}

// Whatever an option says is a parameter.
func TestOptionsNeverReachTheText(t *testing.T) {
	t.Parallel()
	text := func(s string) string {
		q, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		o, problems := withOptions(t, fmt.Sprintf(
			`"property":%s,"steps":[{"name":%s,"event":%s},{"path":%s,"filters":[{"field":"path","op":"ne","value":%s}]}]`,
			quotedMost(t, s, 20), q, q, q, q))
		if problems != nil {
			t.Fatalf("%q: %v", s, problems)
		}
		var all []string
		for _, p := range o.params {
			all = append(all, p.Name+p.Type)
		}
		for _, s := range o.steps {
			all = append(all, s.where...)
		}
		return strings.Join(all, "\n")
	}
	for _, h := range hostile {
		if got := text(h); got != text("x") {
			t.Errorf("%q changes the text to %s", h, got)
		}
	}
}

func quotedMost(t *testing.T, s string, most int) string {
	t.Helper()
	r := []rune(s)
	return encode(t, string(r[:min(len(r), most)]))
}

// A filter gives an option as the parameter object does.
func TestOptionsThatFiltersGive(t *testing.T) {
	t.Parallel()
	const (
		options = `{"parameters":[{"name":"identified_profile_retention","activation_event":"signup",` +
			`"return_event":"buy","horizon_days":30,"observation_end":"2026-04-02"}],"preset":"today",` +
			`"filters":[{"field":"country","op":"eq","value":"AT"}]}`
		filters = `{"parameters":["identified_profile_retention"],"preset":"today","filters":[` +
			`{"field":"activation_event","op":"eq","value":"signup"},{"field":"return_event","op":"eq","value":"buy"},` +
			`{"field":"country","op":"eq","value":"AT"},{"field":"horizon_days","op":"eq","value":%s},` +
			`{"field":"observation_end","op":"eq","value":"2026-04-02"}]}`
	)
	want := mustStatement(t, options, websiteEnv())
	for _, days := range []string{"30", `"30"`} {
		got := mustStatement(t, fmt.Sprintf(filters, days), websiteEnv())
		if diff := cmp.Diff([]any{want.SQL, want.Params}, []any{got.SQL, got.Params}); diff != "" {
			t.Errorf("%s: (-options +filters):\n%s", days, diff)
		}
	}
	for _, tc := range []struct{ parameters, filters, field, message string }{
		{
			`"identified_profile_retention"`, `{"field":"activation_event","op":"eq","value":"a"}`,
			"parameters[0].return_event", "identified_profile_retention requires return_event",
		},
		{
			`"identified_profile_retention"`, `{"field":"horizon_days","op":"eq","value":8}`,
			"filters[0].value", "Invalid horizon_days: 8",
		},
		{
			`"identified_profile_retention"`, `{"field":"activation_event","op":"in","value":["a"]}`,
			"filters[0].op", "Operator in is not supported by activation_event",
		},
		{
			`"identified_profile_retention"`, `{"field":"activation_event","op":"eq","value":["a","b"]}`,
			"filters[0].value", "Operator eq requires a single value",
		},
		{
			`"identified_profile_retention"`, `{"field":"activation_event","op":"eq"}`,
			"filters[0].value", "filters[0].value is required",
		},
		{
			`{"name":"identified_profile_retention","return_event":"a"}`, `{"field":"return_event","op":"eq","value":"a"}`,
			"filters[0].field", "return_event must be given only once",
		},
		{
			`"identified_profile_retention"`, `{"not":{"field":"return_event","op":"eq","value":"a"}}`,
			"filters[0].not.field", "return_event must not be nested in another filter",
		},
		{
			`"identified_profile_retention","summary"`, `{"field":"return_event","op":"eq","value":"a"}`,
			"filters[0].field", "Filter return_event is not supported by summary_metrics",
		},
		{
			`"retention"`, `{"field":"return_event","op":"eq","value":"a"}`,
			"filters[0].field", "Filter return_event is not supported by retention",
		},
	} {
		_, err := compileBody(t, `{"parameters":[`+tc.parameters+`],"preset":"today","filters":[`+tc.filters+`]}`, websiteEnv())
		var rejected *apierr.Error
		if !errors.As(err, &rejected) || !slices.ContainsFunc(rejected.Details, func(d apierr.Detail) bool {
			return d.Field == tc.field && d.Message == tc.message
		}) {
			t.Errorf("%s %s: %+v", tc.parameters, tc.filters, rejected)
		}
	}
}
