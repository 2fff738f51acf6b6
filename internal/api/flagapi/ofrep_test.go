package flagapi

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/gofiber/fiber/v2"

	"github.com/millrace/millrace/internal/resource/flag"
	"github.com/millrace/millrace/internal/resource/flag/flageval"
)

const ofrepPath = "/public/v1/flags/public-1/ofrep/v1/evaluate/flags"

// ofrepOf is the same of another website.
func ofrepOf(clientID string) string { return strings.Replace(ofrepPath, "public-1", clientID, 1) }

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
		value := map[string]string{"one": "v1", "two": "v2"}[variant]
		return fmt.Sprintf(`"value":%q,"reason":%q,"variant":%q`, value, reason, variant)
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
			want := `{"key":"` + tc.key + `",` + tc.want + `,"metadata":{`
			if got.Status != 200 || !strings.HasPrefix(got.Body, want) {
				t.Errorf("%d %s, want %s", got.Status, got.Body, want)
			}
		})
	}
	got := post(t, app, ofrepPath+"/fresh", "{}")
	want := `{"key":"fresh","value":"v1","reason":"STATIC","variant":"one","metadata":{"flagId":"flg_fresh","version":7}}`
	if got.Body != want || got.Header.Get("Content-Type") != "application/json" ||
		got.Header.Get("Cache-Control") != "private, no-cache" {
		t.Errorf("%s %v, want %s", got.Body, got.Header, want)
	}
}

func TestWhatTheProtocolRejects(t *testing.T) {
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
		{"an unknown client id", ofrepOf("nothing") + "/nav", "{}", "", 404, "GENERAL"},
		{"a website's id", ofrepOf("web_1") + "/nav", "{}", "", 404, "GENERAL"},
		{"a website's id with a key", ofrepOf("web_1") + "/nav", "{}", "powerless", 200, ""},
		{"a bad key", ofrepPath + "/nav", "{", "bad", 401, "GENERAL"},
		{"a key of another organization", ofrepPath + "/nav", "{", "foreign", 404, "GENERAL"},
		{"the store is away", ofrepOf("down") + "/nav", "{}", "", 503, "GENERAL"},
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
			if (tc.status == 503) != (got.Header.Get("Retry-After") != "") ||
				got.Header.Get("Access-Control-Allow-Origin") != "*" {
				t.Errorf("%v", got.Header)
			}
		})
	}
}
