package event

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// valid are bodies of the forms with nothing but what is required.
var valid = map[*Form]map[string]string{
	Track:       {"name": `"n"`},
	Pages:       {"name": `"n"`, "eventId": `"e"`},
	Pixels:      {"name": `"n"`},
	Vitals:      {"timestamp": "1795000000000", "path": `"/p"`, "metricName": `"LCP"`, "metricValue": "1"},
	Errors:      {"timestamp": "1795000000000", "path": `"/p"`, "message": `"m"`},
	Engagements: {"timestamp": "1795000000000", "path": `"/p"`},
	Identities:  {"profileId": `"u"`},
}

// item is a valid item of a form with one field of a value; without it when the
// value is empty.
func item(form *Form, name, value string) string {
	fields := maps.Clone(valid[form])
	if fields[name] = value; value == "" {
		delete(fields, name)
	}
	var members []string
	for k, v := range fields {
		members = append(members, strconv.Quote(k)+":"+v)
	}
	slices.Sort(members)
	return "{" + strings.Join(members, ",") + "}"
}

// decodeOne decodes an item and returns the problems, as "field rule".
func decodeOne(t *testing.T, form *Form, body string) (e *Event, problems []string) {
	t.Helper()
	events, err := new(Decoder).DecodeForm(form, One, []byte(body))
	if bad, ok := errors.AsType[*Invalid](err); ok {
		for _, p := range bad.Problems {
			problems = append(problems, p.Field+" "+string(p.Rule))
		}
		return nil, problems
	}
	if err != nil || len(events) != 1 {
		t.Fatalf("DecodeForm(%.200s) = %d events, %v", body, len(events), err)
	}
	return &events[0], nil
}

func TestEveryFormIsCoveredByThisTest(t *testing.T) {
	t.Parallel()
	for _, form := range Forms {
		if valid[form] == nil {
			t.Fatalf("no valid item of %s", form.Name)
		}
		if _, problems := decodeOne(t, form, item(form, "unknown", `{"a":[1]}`)); problems != nil {
			t.Errorf("%s: the valid item has problems %v", form.Name, problems)
		}
	}
}

// TestEveryLimitOfEveryForm tries each row of each form at its limits and one beyond.
func TestEveryLimitOfEveryForm(t *testing.T) {
	t.Parallel()
	for _, form := range Forms {
		for _, f := range form.Fields {
			for value, want := range edges(&f) {
				if _, problems := decodeOne(t, form, item(form, f.Name, value)); !slices.Equal(problems, want) {
					t.Errorf("%s, %s = %.60s (%d bytes): problems %v, want %v", form.Name, f.Name, value, len(value), problems, want)
				}
			}
		}
	}
}

// edges returns values of a field at its limits and beyond, and what is wrong with
// each.
func edges(f *Field) map[string][]string {
	all := map[string][]string{`{"a":1}`: nil}
	wrong := []string{f.Name + " wrong_type"}
	bad := func(rule Rule, values ...string) {
		for _, v := range values {
			all[v] = []string{f.Name + " " + string(rule)}
		}
	}
	good := func(values ...string) {
		for _, v := range values {
			all[v] = nil
		}
	}
	all["null"] = nil
	if f.Required {
		bad(RuleRequired, "null", "")
	}
	if f.Name == "name" {
		all["null"] = []string{"name required"} // on all forms, though settlePage says so for some
	}
	if len(f.Words) > 0 {
		all[`{"a":1}`] = wrong
		for _, w := range f.Words {
			good(`"` + w + `"`)
			bad(RuleInvalidValue, `"`+w+`x"`)
		}
		bad(RuleWrongType, "1")
		return all
	}
	text := func(n int64, around string) string {
		return `"` + around + strings.Repeat("é", int(n)-len(around)) + `"`
	}
	switch f.Type {
	case Text, Address, Referral:
		all[`{"a":1}`] = wrong
		bad(RuleWrongType, "1", "true", "[]")
		prefix := map[Type]string{Address: "http://a/", Referral: "x-y://a/"}[f.Type]
		good(text(f.Max, prefix))
		if f.Cut {
			good(text(f.Max+1, prefix))
		} else {
			bad(RuleTooLong, text(f.Max+1, prefix))
		}
		if f.Min > 0 {
			bad(RuleTooShort, `""`)
		} else {
			good(`""`)
		}
		if f.Type == Address {
			good(`"HTTPS://localhost:3000/a?b#c"`)
			bad(RuleInvalidValue, `"/p"`, `"ftp://a/"`, `"http:///a"`, `"http://a b/"`, `"http://"`, `"://a"`)
		}
		if f.Type == Referral {
			good(`"direct"`, `"android-app://com.example/"`)
			bad(RuleInvalidValue, `"elsewhere"`, `"http://"`, `"1x://a"`)
		}
	case Size:
		all[`{"a":1}`] = wrong
		side := func(a, b int64) string { return fmt.Sprintf(`"%dx%d"`, a, b) }
		good(side(f.Min, f.Max), side(f.Max, f.Min), `""`)
		bad(RuleInvalidValue, side(f.Min-1, f.Max), side(f.Min, f.Max+1), side(f.Max+1, f.Min), `"1x"`, `"x1"`, `"1"`,
			`"1X1"`, `"+1x1"`, `"0000000001x1"`)
	case Number, Integer:
		all[`{"a":1}`] = wrong
		bad(RuleWrongType, `"1"`, "true", "[]")
		good("1", "0", "-0", "1e1")
		if f.Min == math.MinInt64 {
			good("-1", "-1e300")
		} else {
			bad(RuleOutOfRange, strconv.FormatInt(f.Min-1, 10))
		}
		if f.Max > 0 {
			good(strconv.FormatInt(f.Max, 10))
			bad(RuleOutOfRange, strconv.FormatInt(f.Max+1, 10))
		}
		if f.Type == Integer {
			good("2.0")
			bad(RuleWrongType, "1.5")
		} else {
			good("0.25")
		}
	case Time, Millis:
		all[`{"a":1}`] = wrong
		good(strconv.FormatInt(f.Min, 10), strconv.FormatInt(f.Max, 10))
		bad(RuleTooEarly, strconv.FormatInt(f.Min-1, 10))
		bad(RuleInvalidTime, strconv.FormatInt(f.Max+1, 10))
		if all[`"2026-05-01T12:00:00Z"`] = nil; f.Type == Millis {
			bad(RuleWrongType, `"2026-05-01T12:00:00Z"`)
		}
	case Choice:
		all[`{"a":1}`] = wrong
		good("true", "false", `"auto"`)
		bad(RuleInvalidValue, `"yes"`)
		bad(RuleWrongType, "1")
	case Object, Traits:
		const frame = `{"k":""}`
		object := func(size int) string { return `{"k":"` + strings.Repeat("x", size-len(frame)) + `"}` }
		members := func(n int) string {
			var m []string
			for i := range n {
				m = append(m, fmt.Sprintf(`"k%d":%d`, i, i))
			}
			return "{" + strings.Join(m, ", ") + "}"
		}
		good(members(MaxPropertiesKeys), object(MaxPropertiesBytes), `{}`, `{"a":null,"b":true,"c":"}{]["}`)
		bad(RuleTooLarge, members(MaxPropertiesKeys+1), object(MaxPropertiesBytes+1))
		bad(RuleWrongType, "1", "[]", `"{}"`)
		if nested := `{"a":{"b":[1]}}`; f.Type == Traits {
			bad(RuleWrongType, nested, `{"a":[]}`)
		} else {
			good(nested)
		}
	case Word, absent:
	}
	return all
}

func TestWhatAnItemIsDependsOnItsForm(t *testing.T) {
	t.Parallel()
	type told struct {
		Kind             Kind
		Name, Properties string
	}
	for _, tc := range []struct {
		form *Form
		body string
		want told
	}{
		{Pages, `{"eventId":"e","name":"screen_view"}`, told{PageView, "screen_view", ""}},
		{Pages, `{"eventId":"e","type":"track","name":"page_exit"}`, told{PageExit, "page_exit", ""}},
		{Pages, `{"eventId":"e","name":"link_out"}`, told{OutgoingLink, "outgoing_link", ""}},
		{Pages, `{"eventId":"e","name":"outgoing_link"}`, told{OutgoingLink, "outgoing_link", ""}},
		{Pages, `{"eventId":"e","href":"https://x.example","type":"outgoing_link"}`, told{OutgoingLink, "outgoing_link", ""}},
		{Pages, `{"eventId":"e","name":"signup","type":null,"properties":{ "a" : 1 }}`, told{Custom, "signup", `{"a":1}`}},
		{Vitals, item(Vitals, "metricName", `"INP"`), told{Vital, "INP", ""}},
		{Errors, item(Errors, "errorType", `"TypeError"`), told{Error, "TypeError", ""}},
		{Errors, item(Errors, "errorType", `null`), told{Error, "Error", ""}},
		{Engagements, item(Engagements, "clickCount", `3`), told{Engagement, "engagement", `{"clickCount":3}`}},
		{Engagements, item(Engagements, "x", `3`), told{Engagement, "engagement", ""}},
		{
			Engagements, `{"timestamp":1795000000000,"path":"/p","lastFormField":"a\"\u0001\\é","maxScrollDepth":12.5,"exitType":"spa","pageIndex":0}`,
			told{
				Engagement, "engagement", `{"pageIndex":0,"exitType":"spa","maxScrollDepth":12.5,"lastFormField":"a\"\u0001\\é"}`,
			},
		},
		{Identities, item(Identities, "traits", `{ "plan" : "pro" }`), told{Identify, "identify", `{"plan":"pro"}`}},
		{Track, `{"name":"screen_view"}`, told{Custom, "screen_view", ""}},
	} {
		e, problems := decodeOne(t, tc.form, tc.body)
		if problems != nil {
			t.Errorf("%s: %v", tc.body, problems)
			continue
		}
		if diff := cmp.Diff(tc.want, told{e.Kind, string(e.Name), string(e.Properties)}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.body, diff)
		}
	}
}

// A retry is known by its id, and what is told later by its time.
func TestAnIdentityMayHaveAnIDAndATime(t *testing.T) {
	t.Parallel()
	type told struct {
		ID      string
		Millis  int64
		HasTime bool
	}
	for body, want := range map[string]told{
		`{"profileId":"u"}`: {},
		`{"profileId":"u","eventId":"e","timestamp":1795000000000}`:   {"e", 1795000000000, true},
		`{"profileId":"u","timestamp":"2026-11-18T11:06:40Z"}`:        {"", 1795000000000, true},
		`{"profileId":"u","eventId":"","timestamp":null,"path":"/p"}`: {},
	} {
		e, problems := decodeOne(t, Identities, body)
		if problems != nil {
			t.Errorf("%s: %v", body, problems)
			continue
		}
		if diff := cmp.Diff(want, told{string(e.EventID), e.TimeMillis, e.HasTime}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", body, diff)
		}
	}
	if _, problems := decodeOne(t, Identities, `{"profileId":"u","timestamp":1}`); !slices.Equal(problems,
		[]string{"timestamp too_early"}) {
		t.Errorf("a time of 1970: %v", problems)
	}
}

func TestAPageEventNeedsAKnownTypeAndAName(t *testing.T) {
	t.Parallel()
	for body, want := range map[string][]string{
		`{"eventId":"e","type":"web_vitals","name":"x"}`: {"type invalid_value"},
		`{"eventId":"e"}`:                     {"name required"},
		`{"eventId":"e","name":""}`:           {"name too_short"},
		`{"eventId":"e","name":1}`:            {"name wrong_type"},
		`{"eventId":"e","name":"x","type":1}`: {"type wrong_type"},
		`{}`:                                  {"eventId required", "name required"},
		`{"eventId":"","name":"x"}`:           {"eventId too_short"},
	} {
		if _, problems := decodeOne(t, Pages, body); !slices.Equal(problems, want) {
			t.Errorf("%s: %v, want %v", body, problems, want)
		}
	}
}

func TestWhatAPageTellsIsKept(t *testing.T) {
	t.Parallel()
	e, problems := decodeOne(t, Pages,
		`{"eventId":"e","name":"n","title":"A \u0026 B","scroll_depth":0,"rtt":50.5,"utm_source":"s","gclid":"g","text":"`+
			strings.Repeat("é", MaxLinkTextLen+5)+`"}`)
	if problems != nil {
		t.Fatal(problems)
	}
	p := e.Page
	if string(p.Texts[Title]) != "A & B" || string(p.Texts[UTMSource]) != "s" || string(p.Texts[GCLID]) != "g" || e.Plain {
		t.Errorf("title %q, source %q, click %q, plain %v", p.Texts[Title], p.Texts[UTMSource], p.Texts[GCLID], e.Plain)
	}
	if got := string(p.Texts[LinkText]); got != strings.Repeat("é", MaxLinkTextLen) {
		t.Errorf("the link's text has %d bytes", len(got))
	}
	depth, ok := p.Number(ScrollDepth)
	rtt, ok2 := p.Number(RTT)
	_, ok3 := p.Number(Downlink)
	if depth != 0 || !ok || rtt != 50.5 || !ok2 || ok3 {
		t.Errorf("scroll depth %v %v, rtt %v %v, downlink %v", depth, ok, rtt, ok2, ok3)
	}
}

func TestBodiesHaveTheShapeOfTheirRoute(t *testing.T) {
	t.Parallel()
	one := item(Vitals, "", "")
	for _, tc := range []struct {
		shape Shape
		body  string
		want  string
	}{
		{One, one, ""},
		{Many, "[" + one + "]", ""},
		{OneOrMany, one, ""},
		{OneOrMany, "[" + one + "]", ""},
		{One, "[" + one + "]", " wrong_type"},
		{Many, one, " wrong_type"},
		{Many, "3", " wrong_type"},
		{Many, "[]", " empty"},
		{Many, one + "x", " malformed"},
		{Many, "", " malformed"},
	} {
		_, err := new(Decoder).DecodeForm(Vitals, tc.shape, []byte(tc.body))
		bad, rejected := errors.AsType[*Invalid](err)
		if rejected != (tc.want != "") {
			t.Errorf("shape %d, %s: %v", tc.shape, tc.body, err)
		} else if last := len(tc.want); last > 0 && " "+string(bad.Problems[len(bad.Problems)-1].Rule) != tc.want {
			t.Errorf("shape %d, %s: %v, want%s", tc.shape, tc.body, err, tc.want)
		}
	}
}

func TestEachItemOfABatchStandsForItself(t *testing.T) {
	t.Parallel()
	var d Decoder
	for range 2 { // the second time in used memory
		events, problems, err := d.DecodeEach(Pages,
			[]byte(`[{"eventId":"a","name":"x"},{"eventId":"b","type":"other"},7,{"eventId":"c","name":"y","title":"t"}]`))
		if err != nil || len(events) != 4 {
			t.Fatalf("%d events, %v", len(events), err)
		}
		var rejected []bool
		for _, e := range events {
			rejected = append(rejected, e.Rejected)
		}
		if !slices.Equal(rejected, []bool{false, true, true, false}) {
			t.Errorf("refused %v", rejected)
		}
		if string(events[1].EventID) != "b" || string(events[1].Type()) != "other" ||
			string(events[3].Page.Texts[Title]) != "t" {
			t.Errorf("what a refused event said is lost: %q %q", events[1].EventID, events[1].Type())
		}
		if len(problems) != 2 || problems[0].Index != 1 || problems[0].Message != UnknownType || problems[1].Index != 2 {
			t.Errorf("problems %+v", problems)
		}
	}
	for _, body := range []string{
		`[]`, `{}`, `[{"eventId":"a","name":"x"}`, ``, `[7,]`, `[{"eventId":"a","eventId":"b"},]`, `[{"a":1,"a":2}}]`,
		`[{"a":1,"a":2,"b":"` + "\xff" + `"}]`, `[{"a":1,"a":tru}]`, `[{"a":1,"a":2} 7]`, `[{"a":1e999`,
	} {
		if events, _, err := d.DecodeEach(Pages, []byte(body)); err == nil || events != nil {
			t.Errorf("DecodeEach(%s) = %d events, %v; want an *Invalid", body, len(events), err)
		}
	}
}

// What lenient readers of JSON let pass is one event's fault, and not that of the others.
func TestAnEventThatOnlyLenientReadersTakeIsRejectedAlone(t *testing.T) {
	t.Parallel()
	nested := func(levels int) string { return strings.Repeat("[", levels) + strings.Repeat("]", levels) }
	var d Decoder
	for _, tc := range []struct {
		event, want, eventID string
	}{
		{`{"eventId":"b","eventId":"c","name":"x"}`, "eventId duplicate_key", "b"},
		{`{"eventId":"b","name":"x","other":1,"other":[{"a":",]}\"]"}]}`, " duplicate_key", "b"},
		{`{"eventId":"b","name":"x","properties":{"a":{"k":1,"k":2}},"name":"y"}`, "properties duplicate_key", "b"},
		{`{"eventId":"b","name":"x","value":1e999}`, "value number_range", "b"},
		{`{"name":"x","unknown":[-1e999] , "eventId":"b"}`, " number_range", ""},
		{`{"eventId":"b","properties":{"a":` + nested(MaxDepth-2) + `}}`, "properties too_deep", "b"},
		{`{"eventId":"b","properties":{"a":` + nested(9_000) + `}}`, "properties too_deep", "b"},
		{`1e999`, " number_range", ""},
		{nested(MaxDepth), " too_deep", ""},
	} {
		body := `[{"eventId":"a","name":"x"}, ` + tc.event + ` ,{"eventId":"z","name":"screen_view","title":"t"}]`
		events, problems, err := d.DecodeEach(Pages, []byte(body))
		if err != nil || len(events) != 3 || len(problems) != 1 {
			t.Errorf("%.80s: %d events, %d problems, %v", tc.event, len(events), len(problems), err)
			continue
		}
		if events[0].Rejected || !events[1].Rejected || events[2].Rejected || string(events[1].EventID) != tc.eventID ||
			string(events[2].EventID) != "z" || string(events[2].Page.Texts[Title]) != "t" {
			t.Errorf("%.80s: events are %+v", tc.event, events)
		}
		if p := problems[0]; p.Index != 1 || p.Field+" "+string(p.Rule) != tc.want {
			t.Errorf("%.80s: %+v, want %s", tc.event, p, tc.want)
		}
	}
}

// At the depth that is allowed nothing is left out.
func TestAnEventOfABatchMayBeAsDeepAsOthers(t *testing.T) {
	t.Parallel()
	deepest := strings.Repeat("[", MaxDepth-3) + strings.Repeat("]", MaxDepth-3)
	events, problems, err := new(Decoder).DecodeEach(Pages,
		[]byte(`[{"eventId":"a","name":"x","properties":{"a":`+deepest+`}}]`))
	if err != nil || len(problems) != 0 || events[0].Rejected {
		t.Errorf("%v, %v", problems, err)
	}
}

func TestABatchOfNothingButRejectionsHasAnEnd(t *testing.T) {
	t.Parallel()
	batch := func(n int) []byte { return []byte("[" + strings.Repeat("7,", n-1) + `7]`) }
	var d Decoder
	events, problems, err := d.DecodeEach(Pages, batch(MaxRejected))
	if err != nil || len(events) != MaxRejected || len(problems) != MaxEachProblems {
		t.Errorf("at the limit: %d events, %d problems, %v", len(events), len(problems), err)
	}
	_, _, err = d.DecodeEach(Pages, batch(MaxRejected+1))
	bad, ok := errors.AsType[*Invalid](err)
	if !ok || len(bad.Problems) != MaxProblems {
		t.Fatalf("beyond it: %v", err)
	}
	why := bad.Problems[MaxProblems-1]
	if why.Index != NoIndex || !strings.Contains(why.Message, "at most 10000 invalid events") {
		t.Errorf("the caller does not learn why: %+v", why)
	}
}

func TestDecodingPagesAllocatesNothing(t *testing.T) { //nolint:paralleltest // counts allocations
	body := []byte(`[{"eventId":"a","name":"screen_view","path":"https://x.example/a","title":"t","screen_resolution":"1920x1080","rtt":50,"referrer":"https://y.example/"}]`)
	var d Decoder
	run := func() {
		if _, err := d.DecodeForm(Pages, Many, body); err != nil {
			t.Fatal(err)
		}
	}
	run()
	if allocs := testing.AllocsPerRun(100, run); allocs != 0 {
		t.Errorf("%v allocations", allocs)
	}
}
