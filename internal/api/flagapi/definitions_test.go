package flagapi

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/resource/flag"
)

const definitionsPath = "/public/v1/flags/definitions"

func TestDefinitionsTellWhatFlagsAreMadeOf(t *testing.T) {
	t.Parallel()
	app := mounted(t, []*flag.Flag{
		text("b", func(f *flag.Flag) { f.Name = "Bee" }), boolean("a", of("web_1"), inactive), boolean("x", of("web_2")),
		boolean("s", server),
	})
	type named struct {
		Key  string `json:"key"`
		Name string `json:"name"`
	}
	type body struct {
		Count    int     `json:"count"`
		Flags    []named `json:"flags"`
		Segments []named `json:"segments"`
	}
	for _, tc := range []struct {
		secret, clientID string
		flags, segments  []string
	}{
		{"manager", "public-1", []string{"a", "b", "s"}, []string{"testers"}},
		{"manager", "web_2", []string{"b", "s", "x"}, []string{"testers", "elsewhere"}},
		{"owned", "public-1", []string{"a"}, nil},
	} {
		got := send(t, app, http.MethodGet, definitionsPath+"?clientId="+tc.clientID, "X-Api-Key", tc.secret)
		var is body
		if err := json.Unmarshal([]byte(got.Body), &is); err != nil {
			t.Fatalf("%d %s: %v", got.Status, got.Body, err)
		}
		var flags, segments []string
		for _, f := range is.Flags {
			flags = append(flags, f.Key)
			if f.Key == "b" && f.Name != "Bee" {
				t.Errorf("the flag b is told as %+v", f)
			}
		}
		for _, g := range is.Segments {
			segments = append(segments, g.Key)
		}
		if diff := cmp.Diff(tc.flags, flags); diff != "" || !slices.Equal(segments, tc.segments) || is.Count != len(flags) {
			t.Errorf("%s of %s: count %d, segments %v, flags (-want +got):\n%s",
				tc.secret, tc.clientID, is.Count, segments, diff)
		}
		if got.Header.Get("Cache-Control") != "private, no-store" || got.Header.Get("ETag") != "" ||
			!strings.Contains(got.Body, `"segments":[`) {
			t.Errorf("%v %s", got.Header, got.Body)
		}
	}
}

func TestDefinitionsNeedAKeyThatManagesFlags(t *testing.T) {
	t.Parallel()
	app := mounted(t, testFlags())
	for _, tc := range []struct {
		secret, query string
		status        int
		code          string
	}{
		{"", "?clientId=public-1", 401, "AUTH_REQUIRED"},
		{"", "?clientId=nothing", 401, "AUTH_REQUIRED"},
		{"bad", "?clientId=public-1", 401, "AUTH_REQUIRED"},
		{"powerless", "?clientId=public-1", 403, "FORBIDDEN"},
		{"limited", "?clientId=public-1", 403, "FORBIDDEN"},
		{"foreign", "?clientId=public-1", 404, "NOT_FOUND"},
		{"owned", "?clientId=public-2", 403, "ACCESS_DENIED"},
		{"manager", "?clientId=nothing", 404, "NOT_FOUND"},
		{"manager", "", 400, "VALIDATION_ERROR"},
	} {
		var headers []string
		if tc.secret != "" {
			headers = []string{"X-Api-Key", tc.secret}
		}
		got := send(t, app, http.MethodGet, definitionsPath+tc.query, headers...)
		if got.Status != tc.status || !strings.Contains(got.Body, `"code":"`+tc.code+`"`) ||
			strings.Contains(got.Body, "rules") {
			t.Errorf("%q %s: %d %s, want %d %s", tc.secret, tc.query, got.Status, got.Body, tc.status, tc.code)
		}
	}
}
