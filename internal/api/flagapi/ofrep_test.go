package flagapi

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/config"
	"github.com/millrace/millrace/internal/fault"
	"github.com/millrace/millrace/internal/flag"
	"github.com/millrace/millrace/internal/flageval"
	"github.com/millrace/millrace/internal/flagset"
	"github.com/millrace/millrace/internal/ratelimit"
)

const ofrepPath = "/public/v1/flags/public-1/ofrep/v1/evaluate/flags"

// post sends a body; headers are names and values in turn.
func post(t *testing.T, app *fiber.App, target, body string, headers ...string) reply {
	t.Helper()
	req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, target, strings.NewReader(body))
	req.Header.Set("X-Request-ID", "req_1")
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := app.Test(req, -1)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return reply{resp.StatusCode, resp.Header, string(text)}
}

// about is a body with a context.
func about(members string) string { return `{"context":{` + members + `}}` }

// half is a rollout to half of all.
func half(bucketBy string) func(*flag.Flag) {
	s := rollout(50, "")
	s.Rollout.BucketBy = bucketBy
	return rule(flageval.Rule{Serve: s})
}

func TestAFlagIsAnsweredAsTheProtocolHasIt(t *testing.T) {
	t.Parallel()
	flags := append(testFlags(), text("half", half("")), text("by-team", half("teamId")), text("plain"),
		text("fresh", func(f *flag.Flag) { f.ID, f.Version = "flg_fresh", 7 }))
	app := mounted(t, flags, func(d *Deps) {
		d.Country = func(netip.Addr) string { return "DE" }
	})
	text := func(variant, reason string) string {
		return fmt.Sprintf(`"value":"v%d","reason":%q,"variant":%q`, map[string]int{"one": 1, "two": 2}[variant], reason, variant)
	}
	const on, off = `"value":true,"reason":"STATIC","variant":"on"`, `"value":false,"reason":"DISABLED","variant":"off"`
	for _, tc := range []struct{ name, key, secret, context, want string }{
		{"nothing but the default", "nav", "", "", on},
		{"an inactive flag", "resting", "", "", off},
		{"before its schedule", "later", "", "", off},
		{"a prerequisite that fails", "needy", "", "", off},
		{"a flag for servers, with a key", "secret", "powerless", "", on},
		{"active in an environment", "staged", "", `"environment":"staging"`, on},
		{"inactive in another one", "staged", "", `"environment":"production"`, off},
		{"a target by targetingKey", "named", "", `"targetingKey":"ann"`, text("two", "TARGETING_MATCH")},
		{"a target by e-mail", "named", "", `"email":"ann@shop.example"`, text("two", "TARGETING_MATCH")},
		{"userId is no targetingKey", "named", "", `"userId":"ann"`, text("one", "UNKNOWN")},
		{"a rule", "ruled", "", `"plan":"pro"`, text("two", "TARGETING_MATCH")},
		{"no rule", "ruled", "", `"plan":["free"]`, text("one", "UNKNOWN")},
		{"a list", "ruled", "", `"plan":["free","pro"]`, text("two", "TARGETING_MATCH")},
		{"an object is no value", "ruled", "", `"plan":{"is":"pro"}`, text("one", "UNKNOWN")},
		{"a rollout to all", "ramp", "", "", text("two", "SPLIT")},
		{"a rollout that misses and stops", "missed", "", "", text("one", "SPLIT")},
		{"a rollout by what is not targetingKey", "by-team", "", "", text("one", "UNKNOWN")},
		{"a split", "split", "", `"targetingKey":"ann"`, text("two", "SPLIT")},
		{"a split by e-mail", "split", "", `"email":"ann@shop.example"`, text("two", "SPLIT")},
		{"the caller's country", "here", "", `"$country":"FR"`, text("two", "TARGETING_MATCH")},
		{"the context's, with a key", "here", "manager", `"$country":"FR"`, text("one", "UNKNOWN")},
		{"the context's address, with a key", "near", "manager", `"$ip":"198.51.100.7"`, text("two", "TARGETING_MATCH")},
		{"no address of the context's without one", "near", "", `"$ip":"198.51.100.7"`, text("one", "UNKNOWN")},
		{"nobody is called anonymous", "nobody", "", "", text("one", "UNKNOWN")},
		{"nulls are as good as nothing", "nav", "", `"targetingKey":null,"environment":null,"x":null`, on},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var headers []string
			if tc.secret != "" {
				headers = []string{"Authorization", "Bearer " + tc.secret}
			}
			got := post(t, app, ofrepPath+"/"+tc.key, about(tc.context), headers...)
			if want := `{"key":"` + tc.key + `",` + tc.want + `,"metadata":{`; got.Status != 200 || !strings.HasPrefix(got.Body, want) {
				t.Errorf("%d %s, want %s", got.Status, got.Body, want)
			}
		})
	}
	got := post(t, app, ofrepPath+"/fresh", "{}")
	want := `{"key":"fresh","value":"v1","reason":"STATIC","variant":"one","metadata":{"flagId":"flg_fresh","version":7}}`
	if got.Body != want || got.Header.Get("Content-Type") != "application/json" || got.Header.Get("Cache-Control") != "private, no-cache" {
		t.Errorf("%s %v, want %s", got.Body, got.Header, want)
	}
}

func TestWhatTheProtocolRefuses(t *testing.T) {
	t.Parallel()
	app := mounted(t, append(testFlags(), text("half", half(""))))
	many := func(n int) string {
		members := make([]string, n)
		for i := range members {
			members[i] = fmt.Sprintf(`"a%d":1`, i)
		}
		return about(strings.Join(members, ","))
	}
	sized := func(n int) string {
		return `{"context":{}` + strings.Repeat(" ", n-len(`{"context":{}}`)) + `}`
	}
	long := strings.Repeat("ü", flageval.MaxIDLen)
	for _, tc := range []struct {
		name, path, body, secret string
		status                   int
		code                     string
	}{
		{"no flag", ofrepPath + "/nothing", "{}", "", 404, "FLAG_NOT_FOUND"},
		{"a flag for servers", ofrepPath + "/secret", "{}", "", 404, "FLAG_NOT_FOUND"},
		{"another website's", ofrepPath + "/other", "{}", "manager", 404, "FLAG_NOT_FOUND"},
		{"a key with spaces", ofrepPath + "/a%20b%22", "{}", "", 404, "FLAG_NOT_FOUND"},
		{"nobody to be drawn", ofrepPath + "/half", "{}", "", 400, "TARGETING_KEY_MISSING"},
		{"a visitor", ofrepPath + "/half", about(`"anonymousId":"v1"`), "", 400, "TARGETING_KEY_MISSING"},
		{"no JSON", ofrepPath + "/nav", "{", "", 400, "PARSE_ERROR"},
		{"no body", ofrepPath + "/nav", "", "", 400, "PARSE_ERROR"},
		{"no object", ofrepPath + "/nav", "[]", "", 400, "PARSE_ERROR"},
		{"null", ofrepPath + "/nav", "null", "", 400, "PARSE_ERROR"},
		{"no UTF-8", ofrepPath + "/nav", about("\"x\":\"\xff\""), "", 400, "PARSE_ERROR"},
		{"no context", ofrepPath + "/nav", `{"context":[]}`, "", 400, "INVALID_CONTEXT"},
		{"a number as targetingKey", ofrepPath + "/nav", about(`"targetingKey":1`), "", 400, "INVALID_CONTEXT"},
		{"a number as environment", ofrepPath + "/nav", about(`"environment":1`), "", 400, "INVALID_CONTEXT"},
		{"the longest targetingKey", ofrepPath + "/nav", about(`"targetingKey":"` + long + `"`), "", 200, ""},
		{"one that is longer", ofrepPath + "/nav", about(`"targetingKey":"` + long + `x"`), "", 400, "INVALID_CONTEXT"},
		{"the most attributes", ofrepPath + "/nav", many(flag.MaxAttributes), "", 200, ""},
		{"one more", ofrepPath + "/nav", many(flag.MaxAttributes + 1), "", 400, "INVALID_CONTEXT"},
		{"the largest body", ofrepPath + "/nav", sized(MaxOFREPBytes), "", 200, ""},
		{"one that is larger", ofrepPath + "/nav", sized(MaxOFREPBytes + 1), "", 413, "GENERAL"},
		{"an unknown client id", strings.Replace(ofrepPath, "public-1", "nothing", 1) + "/nav", "{}", "", 404, "GENERAL"},
		{"a website's id", strings.Replace(ofrepPath, "public-1", "web_1", 1) + "/nav", "{}", "", 404, "GENERAL"},
		{"a website's id with a key", strings.Replace(ofrepPath, "public-1", "web_1", 1) + "/nav", "{}", "powerless", 200, ""},
		{"a bad key", ofrepPath + "/nav", "{", "bad", 401, "GENERAL"},
		{"a key of another organization", ofrepPath + "/nav", "{", "foreign", 403, "GENERAL"},
		{"the store is away", strings.Replace(ofrepPath, "public-1", "down", 1) + "/nav", "{}", "", 503, "GENERAL"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var headers []string
			if tc.secret != "" {
				headers = []string{"X-Api-Key", tc.secret}
			}
			got := post(t, app, tc.path, tc.body, headers...)
			if got.Status != tc.status {
				t.Fatalf("%d %s, want %d", got.Status, got.Body, tc.status)
			}
			if tc.code == "" {
				return
			}
			var said struct {
				Key     *string `json:"key"`
				Code    *string `json:"errorCode"`
				Details *string `json:"errorDetails"`
			}
			if err := json.Unmarshal([]byte(got.Body), &said); err != nil || said.Key == nil || said.Details == nil ||
				*said.Key == "" || *said.Details == "" || *said.Code != tc.code {
				t.Errorf("%s, want %s with a key and details (%v)", got.Body, tc.code, err)
			}
			if (tc.status == 503) != (got.Header.Get("Retry-After") != "") || got.Header.Get("Access-Control-Allow-Origin") != "*" {
				t.Errorf("%v", got.Header)
			}
		})
	}
}

func TestAllFlagsAreAnsweredAtOnce(t *testing.T) {
	t.Parallel()
	flags := []*flag.Flag{boolean("nav"), text("half", half("")), boolean("resting", inactive), boolean("secret", server), boolean("other", of("web_2"))}
	app := mounted(t, flags, func(d *Deps) { d.PublicURL = "https://api.example.com" })
	keysOf := func(body string) (keys []string) {
		var said struct {
			Flags []struct {
				Key    string `json:"key"`
				Reason string `json:"reason"`
				Code   string `json:"errorCode"`
			} `json:"flags"`
		}
		if err := json.Unmarshal([]byte(body), &said); err != nil {
			t.Fatal(err)
		}
		for _, f := range said.Flags {
			keys = append(keys, f.Key+" "+f.Reason+f.Code)
		}
		return keys
	}
	first := post(t, app, ofrepPath, "{}")
	want := []string{"half TARGETING_KEY_MISSING", "nav STATIC", "resting DISABLED"}
	if diff := cmp.Diff(want, keysOf(first.Body)); diff != "" || first.Status != 200 {
		t.Errorf("%d (-want +got):\n%s", first.Status, diff)
	}
	known := post(t, app, ofrepPath, about(`"targetingKey":"ann"`), "X-Api-Key", "powerless")
	if got := strings.Join(keysOf(known.Body), ", "); got != "half UNKNOWN, nav STATIC, resting DISABLED, secret STATIC" &&
		got != "half SPLIT, nav STATIC, resting DISABLED, secret STATIC" {
		t.Errorf("with a key: %s", got)
	}
	const stream = `"metadata":{},"eventStreams":[{"type":"sse","url":"https://api.example.com/public/v1/flags/stream?clientId=public-1&since=0.1.`
	if !strings.Contains(first.Body, stream) || !strings.HasSuffix(first.Body, `","inactivityDelaySec":120}]}`) {
		t.Errorf("%s has no %s", first.Body, stream)
	}
	if i := strings.Index(first.Body, "since="); !strings.Contains(known.Body, first.Body[i:]) {
		t.Errorf("with a key a stream without one begins with an event: %s", known.Body)
	}
	etag := first.Header.Get("ETag")
	for seen, status := range map[string]int{etag: 304, `"x", ` + etag: 304, `"x"`: 200} {
		if got := post(t, app, ofrepPath, "{}", "If-None-Match", seen); got.Status != status || got.Header.Get("ETag") != etag || status == 304 && got.Body != "" {
			t.Errorf("If-None-Match %s: %d %s", seen, got.Status, got.Body)
		}
	}
	if got := post(t, app, ofrepPath, about(`"targetingKey":"ann"`), "If-None-Match", etag); got.Status != 200 {
		t.Errorf("for somebody else: %d", got.Status)
	}
	if got := post(t, app, ofrepPath, "{"); got.Status != 400 || !strings.HasPrefix(got.Body, `{"errorCode":"PARSE_ERROR","errorDetails":`) {
		t.Errorf("no JSON: %d %s", got.Status, got.Body)
	}
	here := mounted(t, flags)
	if got := post(t, here, ofrepPath, "{}"); !strings.Contains(got.Body, `{"type":"sse","endpoint":{"requestUri":"/public/v1/flags/stream?clientId=public-1&since=`) {
		t.Errorf("without an address: %s", got.Body)
	}
	none := mounted(t, nil)
	if got := post(t, none, ofrepPath, "{}"); !strings.HasPrefix(got.Body, `{"flags":[],`) {
		t.Errorf("without flags: %s", got.Body)
	}
}

func TestTheProtocolIsForPagesAnywhere(t *testing.T) {
	t.Parallel()
	app := mounted(t, testFlags())
	for _, path := range []string{ofrepPath, ofrepPath + "/nav", pathStream} {
		got := send(t, app, http.MethodOptions, path, "Origin", "https://shop.example", "Access-Control-Request-Method", "POST",
			"Access-Control-Request-Headers", "content-type,if-none-match")
		if got.Status != 204 || got.Header.Get("Access-Control-Allow-Origin") != "*" ||
			!strings.Contains(got.Header.Get("Access-Control-Allow-Headers"), "If-None-Match") {
			t.Errorf("%s: %d %v", path, got.Status, got.Header)
		}
	}
}

// newer are sets of which callers know.
type newer struct {
	tenants
	asked chan flagset.Mark
}

func (n newer) AtLeast(ctx context.Context, id string, mark flagset.Mark) (*flagset.Set, error) {
	n.asked <- mark
	return n.Get(ctx, id)
}

func TestWhoWasToldOfAChangeGetsItsFlags(t *testing.T) {
	t.Parallel()
	n := newer{tenants{set: testSet(t, testFlags())}, make(chan flagset.Mark, 1)}
	deps := n.deps()
	deps.Sets = n
	app := newKit()
	Mount(app, deps)
	told := state{mark: flagset.Mark{Epoch: 3, Version: 17}, at: now}
	for seen, status := range map[string]string{told.String(): `"DISABLED"`, "": `"DISABLED"`, "17": `"DISABLED"`, state{told.mark, 0, now.Add(ahead)}.String(): `"STATIC"`, state{told.mark, 0, now.Add(ahead + time.Millisecond)}.String(): `"DISABLED"`} {
		got := post(t, app, ofrepPath+"/later?flagConfigEtag="+seen, "{}")
		if !strings.Contains(got.Body, status) {
			t.Errorf("%q: %s, want %s", seen, got.Body, status)
		}
		if len(seen) > 3 {
			if mark := <-n.asked; mark != told.mark {
				t.Errorf("%q: asked for %+v", seen, mark)
			}
		}
	}
	if len(n.asked) > 0 {
		t.Error("what is no state has somebody wait")
	}
}

func TestTheProtocolHasItsLimitsAndOutages(t *testing.T) {
	t.Parallel()
	limits := config.Default().Limits
	limits.FlagsAnonymous = 1
	limited := mounted(t, testFlags(), func(d *Deps) { d.Limits = ratelimit.New(limits, ratelimit.Deps{Log: d.Log}) })
	post(t, limited, ofrepPath, "{}")
	got := post(t, limited, ofrepPath, "{}")
	if got.Status != 429 || got.Header.Get("Retry-After") == "" || !strings.HasPrefix(got.Body, `{"errorCode":"GENERAL"`) {
		t.Errorf("%d %v %s", got.Status, got.Header, got.Body)
	}
	away := newKit()
	Mount(away, tenants{err: &fault.Error{Code: fault.ServiceUnavailable, RetryAfter: 5 * time.Second}}.deps())
	for _, path := range []string{ofrepPath, ofrepPath + "/nav"} {
		if got := post(t, away, path, "{}"); got.Status != 503 || got.Header.Get("Retry-After") != "5" || !strings.Contains(got.Body, `"errorCode":"GENERAL"`) {
			t.Errorf("%d %v %s", got.Status, got.Header, got.Body)
		}
	}
	broken := newKit()
	Mount(broken, tenants{}.deps()) // without a set
	if got := post(t, broken, ofrepPath+"/nav", "{}"); got.Status != 500 || got.Body != `{"key":"nav","errorCode":"GENERAL","errorDetails":"Internal server error"}` {
		t.Errorf("%d %s", got.Status, got.Body)
	}
}
