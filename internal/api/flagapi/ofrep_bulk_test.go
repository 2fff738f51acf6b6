package flagapi

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/resource/flag"
	"github.com/millrace/millrace/internal/resource/flag/flagset"
	"github.com/millrace/millrace/internal/tenant/ratelimit"
)

func TestAllFlagsAreAnsweredAtOnce(t *testing.T) {
	t.Parallel()
	flags := []*flag.Flag{
		boolean("nav"), text("half", half("")), boolean("resting", inactive), boolean("secret", server),
		boolean("other", of("web_2")),
	}
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
	const stream = `"metadata":{},"eventStreams":[{"type":"sse",` +
		`"url":"https://api.example.com/public/v1/flags/stream?clientId=public-1&since=0.1.`
	if !strings.Contains(first.Body, stream) || !strings.HasSuffix(first.Body, `","inactivityDelaySec":120}]}`) {
		t.Errorf("%s has no %s", first.Body, stream)
	}
	if i := strings.Index(first.Body, "since="); !strings.Contains(known.Body, first.Body[i:]) {
		t.Errorf("with a key a stream without one begins with an event: %s", known.Body)
	}
	etag := first.Header.Get("ETag")
	for seen, status := range map[string]int{etag: 304, `"x", ` + etag: 304, `"x"`: 200} {
		got := post(t, app, ofrepPath, "{}", "If-None-Match", seen)
		if got.Status != status || got.Header.Get("ETag") != etag || status == 304 && got.Body != "" {
			t.Errorf("If-None-Match %s: %d %s", seen, got.Status, got.Body)
		}
	}
	if got := post(t, app, ofrepPath, about(`"targetingKey":"ann"`), "If-None-Match", etag); got.Status != 200 {
		t.Errorf("for somebody else: %d", got.Status)
	}
	got := post(t, app, ofrepPath, "{")
	if got.Status != 400 || !strings.HasPrefix(got.Body, `{"errorCode":"PARSE_ERROR","errorDetails":`) {
		t.Errorf("no JSON: %d %s", got.Status, got.Body)
	}
	here := mounted(t, flags)
	const endpoint = `{"type":"sse","endpoint":{"requestUri":"/public/v1/flags/stream?clientId=public-1&since=`
	if got := post(t, here, ofrepPath, "{}"); !strings.Contains(got.Body, endpoint) {
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
		got := send(t, app, http.MethodOptions, path,
			"Origin", "https://shop.example", "Access-Control-Request-Method", "POST",
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
	for seen, status := range map[string]string{
		"": `"DISABLED"`, "17": `"DISABLED"`, told.String(): `"DISABLED"`,
		state{told.mark, 0, now.Add(ahead)}.String():                    `"STATIC"`,
		state{told.mark, 0, now.Add(ahead + time.Millisecond)}.String(): `"DISABLED"`,
	} {
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
	Mount(away, tenants{err: &apierr.Error{Code: apierr.ServiceUnavailable, RetryAfter: 5 * time.Second}}.deps())
	for _, path := range []string{ofrepPath, ofrepPath + "/nav"} {
		got := post(t, away, path, "{}")
		if got.Status != 503 || got.Header.Get("Retry-After") != "5" || !strings.Contains(got.Body, `"errorCode":"GENERAL"`) {
			t.Errorf("%d %v %s", got.Status, got.Header, got.Body)
		}
	}
	broken := newKit()
	Mount(broken, tenants{}.deps()) // without a set
	const failed = `{"key":"nav","errorCode":"GENERAL","errorDetails":"Internal server error"}`
	if got := post(t, broken, ofrepPath+"/nav", "{}"); got.Status != 500 || got.Body != failed {
		t.Errorf("%d %s", got.Status, got.Body)
	}
}
