package event

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
)

func TestDecodeReadsEveryField(t *testing.T) {
	t.Parallel()
	var d Decoder
	events, err := d.Decode(
		[]byte(`{"name":"n","eventId":"e","path":"/p","anonymousId":"a","profileId":"u","sessionId":"s",
		"namespace":"ns","source":"src","websiteId":"w","timestamp":1795000000000,"anonymizeVisitorIds":false,
		"properties":{ "k" : [ 1.50 , "é\u00e9" ] },"unknown":{"name":"x"}}`))
	if err != nil {
		t.Fatal(err)
	}
	want := referenceEvent{
		Name: "n", EventID: "e", Path: "/p", AnonymousID: "a", ProfileID: "u", SessionID: "s", Namespace: "ns", Source: "src",
		WebsiteID: "w", TimeMillis: 1795000000000, HasTime: true, Anonymize: AnonymizeFalse,
		Properties: `{"k":[1.50,"é\u00e9"]}`,
	}
	if diff := cmp.Diff(want, plain(&events[0])); diff != "" || len(events) != 1 || d.Batch() {
		t.Errorf("%d events, batch %t (-want +got):\n%s", len(events), d.Batch(), diff)
	}
}

func TestDecodeReadsABatchInOrder(t *testing.T) {
	t.Parallel()
	var d Decoder
	for range 2 { // the second time in used memory
		events, err := d.Decode([]byte("[" + strings.Repeat(`{"name":"a\u0062","eventId":"x"},`, 500) + `{"name":"last"}]`))
		if err != nil {
			t.Fatal(err)
		}
		if len(events) != 501 || !d.Batch() || string(events[0].Name) != "ab" || string(events[500].Name) != "last" ||
			events[500].EventID != nil {
			t.Fatalf("%d events, batch %t: %+v", len(events), d.Batch(), events[500])
		}
	}
}

// TestEveryTextFieldHasItsLimit tries each limit at it and one beyond, in code
// points of one, two and four bytes, written out and escaped.
func TestEveryTextFieldHasItsLimit(t *testing.T) {
	t.Parallel()
	for _, f := range Track.fields[fieldName : fieldWebsiteID+1] {
		for _, char := range []string{"x", "é", "😀", `\u00e9`, `\ud83d\ude00`, `\ud83d`} {
			text := func(n int) string { return oneEvent(f.Name, `"`+strings.Repeat(char, n)+`"`) }
			decodes(t, text(int(f.Max)))
			rejects(t, text(int(f.Max)+1),
				Problem{0, f.Name, RuleTooLong, fmt.Sprintf("%s must have at most %d characters", f.Name, f.Max)})
		}
		empty := oneEvent(f.Name, `""`)
		if f.Min == 0 {
			if e := decodes(t, empty)[0]; len(*e.text(fieldOf([]byte(f.Name)))) != 0 {
				t.Errorf("empty %s is not absent", f.Name)
			}
		} else {
			rejects(t, empty, Problem{0, f.Name, RuleTooShort, f.Name + " must not be empty"})
		}
		for _, wrong := range []string{`1`, `true`, `[]`, `{}`} {
			rejects(t, oneEvent(f.Name, wrong), Problem{0, f.Name, RuleWrongType, f.Name + " must be a string"})
		}
	}
}

func TestNullCountsAsAbsent(t *testing.T) {
	t.Parallel()
	body := []byte(`{"name":"n"`)
	for _, f := range Track.fields[fieldName+1:] {
		body = append(body, `,"`+f.Name+`":null`...)
	}
	if diff := cmp.Diff(referenceEvent{Name: "n"}, plain(&decodes(t, string(body)+`}`)[0])); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	required := Problem{0, "name", RuleRequired, "name is required"}
	rejects(t, `{"name":null}`, required)
	rejects(t, `{}`, required)
}

func TestPropertiesHaveTheirLimits(t *testing.T) {
	t.Parallel()
	tooMany := Problem{0, "properties", RuleTooLarge, "properties must have at most 50 keys"}
	tooBig := Problem{0, "properties", RuleTooLarge, "properties must have at most 32768 bytes of compact JSON"}
	sized := func(n int, char string) string { // an object of n bytes
		fill := n - len(`{"k":""}`)
		return oneEvent("properties", `{"k":"`+strings.Repeat("x", fill%len(char))+strings.Repeat(char, fill/len(char))+`"}`)
	}
	for _, char := range []string{"x", "é", `\n`, `\u00e9`} {
		decodes(t, sized(MaxPropertiesBytes, char))
		rejects(t, sized(MaxPropertiesBytes+1, char), tooBig)
	}
	spaced := strings.Replace(sized(MaxPropertiesBytes, "x"), `{"k":`, " { \n\"k\" :\t\r", 1)
	if got := len(decodes(t, spaced)[0].Properties); got != MaxPropertiesBytes {
		t.Errorf("%d bytes of properties, want %d", got, MaxPropertiesBytes)
	}
	longKey := oneEvent("properties", `{"`+strings.Repeat("k", MaxPropertiesBytes-len(`{"":1}`))+`":1}`)
	decodes(t, longKey) // a key has no limit of its own

	decodes(t, manyKeys(MaxPropertiesKeys))
	rejects(t, manyKeys(MaxPropertiesKeys+1), tooMany)
	decodes(t, oneEvent("properties", `{"nested":{`+manyKeys(99)[len(`{"name":"a","properties":{`):]))
	decodes(t, `{"name":"a","other":{`+manyKeys(99)[len(`{"name":"a","properties":{`):])
	for _, wrong := range []string{`1`, `true`, `[]`, `"{}"`} {
		rejects(t, oneEvent("properties", wrong), Problem{0, "properties", RuleWrongType, "properties must be an object"})
	}
}

func TestTooLargePropertiesOutweighOtherProblems(t *testing.T) {
	t.Parallel()
	bad := rejected(t, `[{"name":""},`+manyKeys(51)+`,{"name":1}]`)
	if !bad.TooLarge || len(bad.Problems) != 3 {
		t.Errorf("too large is %t, problems %+v", bad.TooLarge, bad.Problems)
	}
	if bad := rejected(t, `[`+manyKeys(51)+`,{"name":1}`); bad.TooLarge {
		t.Error("a body that is no JSON is called too large")
	}
}

func TestAnonymizeVisitorIDsHasThreeValues(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]Anonymize{
		`true`: AnonymizeTrue, `false`: AnonymizeFalse, `"auto"`: AnonymizeAuto, `null`: AnonymizeUnset,
	} {
		if got := decodes(t, oneEvent("anonymizeVisitorIds", value))[0].Anonymize; got != want {
			t.Errorf("%s is read as %d, want %d", value, got, want)
		}
	}
	for value, rule := range map[string]Rule{
		`"true"`: RuleInvalidValue, `"AUTO"`: RuleInvalidValue, `1`: RuleWrongType, `[]`: RuleWrongType,
	} {
		rejects(t, oneEvent("anonymizeVisitorIds", value),
			Problem{0, "anonymizeVisitorIds", rule, `anonymizeVisitorIds must be true, false or "auto"`})
	}
}

func TestDecodeRejectsWhatLenientReadersTake(t *testing.T) {
	t.Parallel()
	deep := func(levels int) string { // of the whole body
		return oneEvent("properties", `{"k":`+strings.Repeat("[", levels-2)+strings.Repeat("]", levels-2)+`}`)
	}
	deepObjects := func(levels int) string {
		return oneEvent("properties", strings.Repeat(`{"k":`, levels-2)+`{}`+strings.Repeat(`}`, levels-2))
	}
	decodes(t, deepObjects(MaxDepth))
	decodes(t, deep(MaxDepth))
	decodes(t, `[`+deep(MaxDepth-1)+`]`)
	decodes(t, oneEvent("properties", `{"k":1.7976931348623157e308}`))
	decodes(t, oneEvent("properties", `{"k":1e-400}`))
	decodes(t, oneEvent("properties", `{"k":`+strings.Repeat("9", 308)+`}`))
	for _, tc := range []struct {
		name, body, field string
		rule              Rule
	}{
		{"a key twice", `{"name":"a","name":"b"}`, "name", RuleDuplicateKey},
		{"a key twice, once escaped", `{"name":"a","n\u0061me":"b"}`, "name", RuleDuplicateKey},
		{"an unknown key twice", `{"name":"a","x":1,"x":1}`, "", RuleDuplicateKey},
		{"a key of properties twice", oneEvent("properties", `{"a":1,"\u0061":1}`), "properties", RuleDuplicateKey},
		{
			"a key twice deep inside", oneEvent("properties", `{"a":[{"b":{"c":1,"d":2,"c":3}}]}`), "properties",
			RuleDuplicateKey,
		},
		{"one of many keys twice", strings.Replace(manyKeys(40), `"k39"`, `"k07"`, 1), "properties", RuleDuplicateKey},
		{"the empty key twice", oneEvent("properties", `{"":1,"":1}`), "properties", RuleDuplicateKey},
		{
			"keys that become one by replacement", oneEvent("properties", `{"\ud800":1,"\ud801":1}`), "properties",
			RuleDuplicateKey,
		},
		{"invalid UTF-8", "{\"name\":\"a\xc3\"}", "name", RuleInvalidUTF8},
		{"an encoded surrogate", "{\"name\":\"\xed\xa0\x80\"}", "name", RuleInvalidUTF8},
		{"an overlong encoding", "{\"name\":\"\xc0\xaf\"}", "name", RuleInvalidUTF8},
		{"invalid UTF-8 in a key", oneEvent("properties", "{\"\xff\":1}"), "properties", RuleInvalidUTF8},
		{"too deep", deep(MaxDepth + 1), "properties", RuleTooDeep},
		{"too many objects deep", deepObjects(MaxDepth + 1), "properties", RuleTooDeep},
		{"too deep in a batch", `[` + deep(MaxDepth) + `]`, "properties", RuleTooDeep},
		{
			"too deep in an unknown field",
			`{"name":"a","x":` + strings.Repeat(`[`, MaxDepth) + strings.Repeat(`]`, MaxDepth) + `}`, "", RuleTooDeep,
		},
		{"beyond float64", oneEvent("properties", `{"k":1.8e308}`), "properties", RuleNumberRange},
		{
			"beyond float64, written out", oneEvent("properties", `{"k":`+strings.Repeat("9", 310)+`}`),
			"properties", RuleNumberRange,
		},
		{"beyond float64 in an unknown field", `{"name":"a","x":-1e999}`, "", RuleNumberRange},
		{"beyond float64 as a time", oneEvent("timestamp", `1e999`), "timestamp", RuleNumberRange},
		{"a raw control character", "{\"name\":\"a\nb\"}", "name", RuleMalformed},
		{"an unknown escape", `{"name":"\x"}`, "name", RuleMalformed},
		{"half an escape", `{"name":"\u00e"}`, "name", RuleMalformed},
		{"a leading zero", oneEvent("properties", `{"k":01}`), "properties", RuleMalformed},
		{"a leading plus", oneEvent("properties", `{"k":+1}`), "properties", RuleMalformed},
		{"no digit before the point", oneEvent("properties", `{"k":.5}`), "properties", RuleMalformed},
		{"no digit behind the point", oneEvent("properties", `{"k":1.}`), "properties", RuleMalformed},
		{"an empty exponent", oneEvent("properties", `{"k":1e}`), "properties", RuleMalformed},
		{"NaN", oneEvent("properties", `{"k":NaN}`), "properties", RuleMalformed},
		{"a misspelt literal", oneEvent("properties", `{"k":nul}`), "properties", RuleMalformed},
		{"a comment", `{"name":"a"/**/}`, "", RuleMalformed},
		{"a comma too many", `{"name":"a",}`, "", RuleMalformed},
		{"single quotes", `{'name':'a'}`, "", RuleMalformed},
		{"a missing colon", `{"name" "a"}`, "", RuleMalformed},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			bad := rejected(t, tc.body)
			p := bad.Problems[len(bad.Problems)-1]
			if p.Rule != tc.rule || p.Field != tc.field || p.Index != 0 || bad.TooLarge {
				t.Errorf("got %+v, want field %q, rule %q", bad.Problems, tc.field, tc.rule)
			}
		})
	}
}

func TestDecodeRejectsBodiesThatAreNoEvents(t *testing.T) {
	t.Parallel()
	object := "an event must be a JSON object"
	for _, tc := range []struct {
		body string
		want Problem
	}{
		{``, Problem{0, "", RuleMalformed, "not valid JSON, at byte 0 of the body"}},
		{`   `, Problem{0, "", RuleMalformed, "not valid JSON, at byte 3 of the body"}},
		{"\ufeff{}", Problem{0, "", RuleMalformed, "not valid JSON, at byte 0 of the body"}},
		{`null`, Problem{0, "", RuleWrongType, object}},
		{`"name"`, Problem{0, "", RuleWrongType, object}},
		{`[]`, Problem{NoIndex, "", RuleEmpty, "a batch must hold at least one event"}},
		{`[{"name":"a"},1]`, Problem{1, "", RuleWrongType, object}},
		{`[{"name":"a"},[{"name":"b"}]]`, Problem{1, "", RuleWrongType, object}},
		{`{"name":"a"}{"name":"b"}`, Problem{NoIndex, "", RuleMalformed, "not valid JSON, at byte 12 of the body"}},
		{`[{"name":"a"}`, Problem{NoIndex, "", RuleMalformed, "not valid JSON, at byte 13 of the body"}},
		{`[{"name":"a"} {"name":"b"}]`, Problem{NoIndex, "", RuleMalformed, "not valid JSON, at byte 14 of the body"}},
		{`[{"name":"a"},]`, Problem{1, "", RuleMalformed, "not valid JSON, at byte 14 of the body"}},
	} {
		rejects(t, tc.body, tc.want)
	}
}

func TestDecodeTellsAllProblemsUpToABound(t *testing.T) {
	t.Parallel()
	bad := rejected(t, `[{"name":"","eventId":1},{"name":"ok"},{"profileId":"","timestamp":"x"}]`)
	var got []string
	for _, p := range bad.Problems {
		got = append(got, fmt.Sprintf("%d %s %s", p.Index, p.Field, p.Rule))
	}
	want := []string{
		"0 name too_short", "0 eventId wrong_type", "2 profileId too_short", "2 timestamp invalid_time", "2 name required",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := len(rejected(t, `[`+strings.Repeat(`{},`, MaxProblems)+`{}]`).Problems); got != MaxProblems {
		t.Errorf("%d problems of %d, want %d", got, MaxProblems+1, MaxProblems)
	}
	bad = rejected(t, `[`+strings.Repeat(`{},`, MaxProblems)+`{]`)
	if len(bad.Problems) != MaxProblems || bad.Problems[MaxProblems-1].Rule != RuleMalformed {
		t.Errorf("the reason why decoding ended is not among %d problems", len(bad.Problems))
	}
}

func TestUnpairedSurrogatesAreReplaced(t *testing.T) {
	t.Parallel()
	e := decodes(t,
		`{"name":"a\ud83d","path":"\ude00\ud83d\ude00\ud83dx","properties":{"k\udfff":"\uD800\\ud800 \ud83d\ude00"}}`)[0]
	want := referenceEvent{Name: "a\ufffd", Path: "\ufffd😀\ufffdx", Properties: `{"k\ufffd":"\ufffd\\ud800 \ud83d\ude00"}`}
	if diff := cmp.Diff(want, plain(&e)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestPeekWebsiteIDReadsTheFirstEventOnly(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", MaxWebsiteIDLen)
	for body, want := range map[string]string{
		`{"websiteId":"w"}`: "w",
		` [ {"name":1,"websiteId":"w"},{"websiteId":"x"}]`: "w",
		`{"name":"","properties":[],"websiteId":"w"`:       "w",
		`{"website\u0049d":"\u0077"} trailing`:             "w",
		`{"websiteId":"` + long + `"}`:                     long,
		`{"websiteId":"` + long + `é"}`:                    "",
		`[{"name":"a"},{"websiteId":"x"}]`:                 "",
		`{"properties":{"websiteId":"x"}}`:                 "",
		`{"websiteId":1}`:                                  "",
		`{"websiteId":null}`:                               "",
		`{"websiteId":""}`:                                 "",
		`{"websiteId":"w`:                                  "",
		`{"name":"\x","websiteId":"w"}`:                    "",
		`{"a":1,"a":2,"websiteId":"w"}`:                    "w", // validation rejects it later
		`{"a":{"b":1,"b":2},"websiteId":"w"}`:              "w",
		`[]`:                                               "",
		`"websiteId"`:                                      "",
		``:                                                 "",
		`{"name"`:                                          "",
		`{`:                                                "",
	} {
		if got := string(new(Decoder).PeekWebsiteID([]byte(body))); got != want {
			t.Errorf("PeekWebsiteID(%s) = %q, want %q", body, got, want)
		}
	}
}

func TestPlainMeansThatNoTextWasEscaped(t *testing.T) {
	t.Parallel()
	events := decodes(t, `[{"name":"a","path":"/é","properties":{ "k":"\"\ud800" },"unknown":"\n"},{"name":"a","path":"\u0041"},{"\u006eame":"a"},`+
		`{"name":"\\"},{"name":"a"}]`)
	for i, want := range []bool{true, false, true, false, true} {
		if events[i].Plain != want {
			t.Errorf("event %d: Plain is %t", i, events[i].Plain)
		}
	}
}

//nolint:paralleltest // AllocsPerRun counts for the whole process
func TestDecodeAllocatesNothingForAValidBody(t *testing.T) {
	body := []byte(`[{"name":"caf\u00e9","timestamp":"2026-05-01T12:34:56.789+02:00","properties":{ "k\u00e9y" : [ 1e2 , "\ud800" ] }},` +
		manyKeys(50) + `,` + string(benchEvent(1)) + `]`)
	var d Decoder
	run := func() {
		d.PeekWebsiteID(body)
		if _, err := d.Decode(body); err != nil {
			t.Fatal(err)
		}
	}
	run()
	if allocs := testing.AllocsPerRun(100, run); allocs != 0 {
		t.Errorf("%v allocations", allocs)
	}
}

// The claim on memory that the edge makes before it decodes is for 5/4 of the events
// that there may be. It has to hold while their memory grows, too.
//
//nolint:paralleltest // the figure is of the whole process
func TestVeryManyEventsAreHeldOnceWhileTheyAreRead(t *testing.T) {
	const events = 100_000
	long := `{"name":"` + strings.Repeat("a", 100) + `"},`
	for name, body := range map[string]string{
		"all alike":       strings.Repeat(`{"name":"a"},`, events),
		"long ones first": strings.Repeat(long, 10_000) + strings.Repeat(`{"name":"a"},`, events-10_000),
		"long ones last":  strings.Repeat(`{"name":"a"},`, events-10_000) + strings.Repeat(long, 10_000),
		"a long last one": strings.Repeat(`{"name":"a"},`, events-1) + `{"name":"a","x":"` +
			strings.Repeat("a", 1<<20) + `"},`,
		"many braces last": strings.Repeat(`{"name":"a"},`, events-1) + `{"name":"a","x":"` +
			strings.Repeat("{", 1<<20) + `"},`,
	} {
		body := []byte("[" + strings.TrimSuffix(body, ",") + "]")
		var d Decoder
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		all, err := d.Decode(body)
		runtime.ReadMemStats(&after)
		if err != nil || len(all) != events {
			t.Fatalf("%s: %d events, %v", name, len(all), err)
		}
		if most := AtMost(body); most != events || cap(all) > most*5/4 {
			t.Errorf("%s: there is room for %d events, want at most a quarter more than %d", name, cap(all), most)
		}
		each := float64(after.TotalAlloc-before.TotalAlloc) / float64(events) / float64(unsafe.Sizeof(Event{}))
		t.Logf("%s: %.1f times the events' size were allocated", name, each)
		if each > 4 {
			t.Errorf("%s: %.1f times the events' size were allocated on the way", name, each)
		}
	}
}

func TestFieldsAndTheirNamesAgree(t *testing.T) {
	t.Parallel()
	limited := map[string]bool{}
	for _, l := range Track.Limits() {
		limited[l.Name] = true
	}
	for f := fieldName; f <= fieldProperties; f++ {
		name := Track.fields[f].Name
		if got := fieldOf([]byte(name)); got != f {
			t.Errorf("fieldOf(%q) = %d, want %d", name, got, f)
		}
		if !limited[name] && f != fieldAnonymize {
			t.Errorf("%s is not in Limits", name)
		}
	}
}

// oneEvent is an event whose field name has the given JSON value.
func oneEvent(name, value string) string {
	if name == "name" {
		return `{"name":` + value + `}`
	}
	return `{"name":"n","` + name + `":` + value + `}`
}

func decodes(t *testing.T, body string) []Event {
	t.Helper()
	events, err := new(Decoder).Decode([]byte(body))
	if err != nil {
		t.Fatalf("Decode(%.200s…, %d bytes): %v", body, len(body), err)
	}
	return events
}

func rejected(t *testing.T, body string) *Invalid {
	t.Helper()
	events, err := new(Decoder).Decode([]byte(body))
	bad, ok := errors.AsType[*Invalid](err)
	if !ok || events != nil {
		t.Fatalf("Decode(%.200s…, %d bytes) = %d events, %v; want an *Invalid", body, len(body), len(events), err)
	}
	return bad
}

// rejects wants exactly one problem.
func rejects(t *testing.T, body string, want Problem) {
	t.Helper()
	bad := rejected(t, body)
	if diff := cmp.Diff([]Problem{want}, bad.Problems); diff != "" || bad.TooLarge != (want.Rule == RuleTooLarge) {
		t.Errorf("Decode(%.200s…, %d bytes): too large is %t (-want +got):\n%s", body, len(body), bad.TooLarge, diff)
	}
}
