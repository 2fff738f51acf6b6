package apitest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"
)

const conversation = `What is sent comes back.

-- request: a long name --
POST ${HOST}/echo?x=1
x-api-key: ${KEY}
x-asterisk: *

{"name":"{{repeat "é" 3}}","properties":{{keys 2}}}
-- response --
200
Content-Type: application/json
X-Absent: -
X-Request-Id: *
X-Asterisk: \*
@capture: ID id

{"id":"<string>","body":{"name":"ééé","properties":{"k0":0,"k1":1}},"key":"secret","requestId":"<requestId>","other":"<absent>"}
-- request: what was captured --
GET ${HOST}/echo?id=${ID}
@until: 10s
-- response --
201

{"query":"id=7"}
`

// echo answers what it was sent, and 200 twice before it answers 201 to a GET.
func echo(t *testing.T) *httptest.Server {
	t.Helper()
	gets := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("X-Request-Id", "req_1")
		w.Header().Set("X-Asterisk", r.Header.Get("X-Asterisk"))
		if r.Method == http.MethodGet {
			if gets++; gets > 2 {
				w.WriteHeader(http.StatusCreated)
			}
			fmt.Fprintf(w, `{"query":%q}`, r.URL.RawQuery)
			return
		}
		fmt.Fprintf(w, `{"id":7,"extra":true,"body":%s,"key":%q,"requestId":"req_1"}`, body, r.Header.Get("x-api-key"))
	}))
	t.Cleanup(s.Close)
	return s
}

//nolint:tparallel // the steps of a conversation follow one another
func TestPlaySendsTheStepsAndComparesTheResponses(t *testing.T) {
	t.Parallel()
	text := strings.Replace(conversation, `"id":"<string>"`, `"id":"<number>"`, 1)
	cases, err := Load(fstest.MapFS{"echo.txtar": {Data: []byte(text)}}, "*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	host := echo(t)
	p := Player{Client: host.Client(), Vars: Vars{"HOST": host.URL, "KEY": "secret"}}
	p.Play(t, &cases[0])
}

func TestStepSaysEverythingThatDiffers(t *testing.T) {
	t.Parallel()
	cases, err := Load(fstest.MapFS{"echo.txtar": {Data: []byte(conversation)}}, "*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	host := echo(t)
	p := Player{Client: host.Client(), Vars: Vars{"HOST": host.URL, "KEY": "another"}}
	step := cases[0].Steps[0]
	step.Response.Status = 404
	step.Request.Header = step.Request.Header[:1] // without the asterisk
	err = p.step(t.Context(), &step, p.Vars)
	if err == nil {
		t.Fatal("step() = nil, want an error")
	}
	for _, want := range []string{
		"status 200, want 404", `header X-Asterisk is [""], want "*"`,
		`id: got 7, want "<string>"`, `key: got "another", want "secret"`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("step() = %v, want it to say %q", err, want)
		}
	}
}

func TestMatcher(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, want, got string
		exact, ok       bool
	}{
		{"an object may have more fields", `{"a":1}`, `{"a":1,"b":2}`, false, true},
		{"an exact object may not", `{"a":1}`, `{"a":1,"b":2}`, true, false},
		{"an array may not have more elements", `[1]`, `[1,2]`, false, false},
		{"an array's elements are subsets", `[{"a":1}]`, `[{"a":1,"b":2}]`, false, true},
		{"null is not absent", `{"a":"<absent>"}`, `{"a":null}`, false, false},
		{"absent is", `{"a":"<absent>"}`, `{}`, true, true},
		{"a string is not a number", `"<number>"`, `"1"`, false, false},
		{"an empty string is no <string>", `"<string>"`, `""`, false, false},
		{"the request id is the header's", `"<requestId>"`, `"req_1"`, false, true},
		{"another id is not", `"<requestId>"`, `"req_2"`, false, false},
		{"an object is not an array", `{}`, `[]`, false, false},
		{"null is null", `null`, `null`, false, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var want, got any
			if err := json.Unmarshal([]byte(tc.want), &want); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal([]byte(tc.got), &got); err != nil {
				t.Fatal(err)
			}
			m := matcher{exact: tc.exact, requestID: "req_1"}
			m.value("", want, got)
			if ok := len(m.problems) == 0; ok != tc.ok {
				t.Errorf("%s against %s: problems %q, want ok %v", tc.got, tc.want, m.problems, tc.ok)
			}
		})
	}
}

func TestMatchJSONSaysWhatDiffers(t *testing.T) {
	t.Parallel()
	if err := MatchJSON([]byte(`{"a":[{"b":"<string>"}]}`), []byte(`{"a":[{"b":"x","c":1}]}`)); err != nil {
		t.Errorf("MatchJSON() = %v", err)
	}
	for got, want := range map[string]string{`{"a":[{"b":1}]}`: "a.0.b", `{"a":[]}`: "a: got 0 elements", `{`: "reading"} {
		if err := MatchJSON([]byte(`{"a":[{"b":"<string>"}]}`), []byte(got)); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("MatchJSON(%s) = %v, want it to say %q", got, err, want)
		}
	}
}

func TestLoadRejectsFilesThatSayLessThanTheySeemTo(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"no comment":           "-- request --\nGET /\n-- response --\n200\n",
		"no response":          "Says.\n-- request --\nGET /\n",
		"a status that is not": "Says.\n-- request --\nGET /\n-- response --\n20\n",
		"an unknown directive": "Says.\n-- request --\nGET /\n@tries: 2\n-- response --\n200\n",
		"a header that is not": "Says.\n-- request --\nGET /\nx\n-- response --\n200\n",
	} {
		if _, err := Load(fstest.MapFS{"x.txtar": {Data: []byte(text)}}, "*.txtar"); err == nil {
			t.Errorf("%s: Load() = nil, want an error", name)
		}
	}
	if _, err := render("${NOBODY}", Vars{}); err == nil {
		t.Error("render() with an unknown variable = nil, want an error")
	}
}

func TestFuncsMakeExactSizes(t *testing.T) {
	t.Parallel()
	for action, want := range map[string]int{
		`{{object 32768}}`:    32768,
		`{{pad 100 "{}"}}`:    100,
		`{{nested 32}}`:       64,
		`{{batch 2 "{}"}}`:    7,
		`{{repeat "é" 10}}`:   20,
		`{{len (keys 1)}}`:    1,
		`{{len (ago "1h")}}`:  2,
		`{{len (day -1)}}`:    2,
		`{{printf "%d" 100}}`: 3,
	} {
		got, err := render(action, nil)
		if err != nil {
			t.Fatal(err)
		}
		if len(got) != want {
			t.Errorf("%s is %d bytes long, want %d: %.80q", action, len(got), want, got)
		}
	}
}
