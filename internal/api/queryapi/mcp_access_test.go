package queryapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/tenant/auth"
)

// toolsByScope are the tools that a key of one scope sees: of the whole organization, and without those
// in global of one website.
var toolsByScope = map[auth.Scope][]string{
	auth.ScopeReadData: {
		"compile_query", "get_ingestion_health", "get_link_report", "list_query_types", "list_websites", "run_query",
	},
	auth.ScopeReadLinks:      {"list_links"},
	auth.ScopeWriteLinks:     {"delete_link", "save_link"},
	auth.ScopeManageWebsites: {"list_websites"},
	auth.ScopeManageFlags: {
		"evaluate_flag", "get_flag", "list_flags", "save_flag", "set_flag_status", "set_flag_targets",
	},
}

var globalTools = []string{"delete_link", "get_link_report", "list_links", "save_link"}

// TestMCP_ShowsAKeyTheToolsOfItsScopes calls each tool with a key of each scope: what is not listed
// is forbidden, and the error names the scope.
func TestMCP_ShowsAKeyTheToolsOfItsScopes(t *testing.T) {
	t.Parallel()
	post := func(key, method, params string) (text string) {
		_, text = call(t, http.MethodPost, MCPPath, key, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, method, params),
			"Content-Type", "application/json", "Accept", "application/json, text/event-stream")
		return text
	}
	all := map[string]bool{}
	for _, names := range toolsByScope {
		for _, name := range names {
			all[name] = true
		}
	}
	for _, s := range auth.Scopes {
		for _, websiteID := range []string{"", "web_1"} {
			key := "scope " + string(s.Scope) + " " + websiteID
			want := slices.Clone(toolsByScope[s.Scope])
			if websiteID != "" {
				want = slices.DeleteFunc(want, func(name string) bool { return slices.Contains(globalTools, name) })
			}
			if got := listed(t, post(key, "tools/list", "{}")); !slices.Equal(got, want) {
				t.Errorf("a key with %s, of the website %q, sees %v, want %v", s.Scope, websiteID, got, want)
			}
			for name := range all {
				text := post(key, "tools/call", fmt.Sprintf(`{"name":%q,"arguments":{"unknown":1}}`, name))
				code := "forbidden"
				if slices.Contains(want, name) {
					code = "invalid_input"
				}
				if !strings.Contains(text, `{\"error\":{\"code\":\"`+code+`\"`) {
					t.Errorf("a key with %s, of the website %q, calls %s: %s", s.Scope, websiteID, name, text)
				}
			}
		}
	}
}

// listed returns the names of the tools in a list.
func listed(t *testing.T, body string) (names []string) {
	t.Helper()
	var list struct {
		Result struct {
			Tools []struct {
				Name string `json:"name"`
			} `json:"tools"`
		} `json:"result"`
	}
	if err := json.Unmarshal([]byte(body), &list); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	for _, tool := range list.Result.Tools {
		names = append(names, tool.Name)
	}
	return names
}

// A page that fetches a document with a header of its own asks first.
func TestDiscovery_AllowsPagesOfAnyOrigin(t *testing.T) {
	t.Parallel()
	for _, r := range discoveryRoutes() {
		resp, _ := call(t, http.MethodOptions, r.Path, "", "", "Origin", "https://elsewhere.example",
			"Access-Control-Request-Method", "GET", "Access-Control-Request-Headers", "mcp-protocol-version")
		if resp.StatusCode != http.StatusNoContent || resp.Header.Get("Access-Control-Allow-Origin") != "*" ||
			resp.Header.Get("Access-Control-Allow-Headers") != "*" {
			t.Errorf("a preflight for %s: %d %v", r.Path, resp.StatusCode, resp.Header)
		}
	}
}
