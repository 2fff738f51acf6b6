package browser

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/testkit"
	"github.com/millrace/millrace/tests/harness"
	"github.com/millrace/millrace/tools/npm"
)

// openFeature is a system with flags, and the address that clients of the OpenFeature
// Remote Evaluation Protocol are given.
type openFeature struct {
	*harness.System

	base     string
	modules  string // the folder of other people's packages
	managers string // that of the flag managers
	bannerID string // of the flag that changes
}

func newOpenFeature(t *testing.T) *openFeature {
	t.Helper()
	if testing.Short() {
		t.Skip("left out under -short: needs packages of npm")
	}
	o := &openFeature{}
	for name, dir := range map[string]*string{"openfeature": &o.modules, "flagmanagers": &o.managers} {
		installed, err := npm.Install(t.Context(), name, os.DirFS(name))
		if err != nil {
			t.Fatal(err)
		}
		*dir = filepath.Join(installed, "node_modules")
	}
	s := harness.New(t, harness.InProcess, harness.Options{})
	o.System = s
	o.base = s.QueryURL + "/public/v1/flags/" + s.ClientID
	const text = `"type":"string","variants":[{"key":"one","value":"v1"},{"key":"two","value":"v2"}],` +
		`"defaultVariant":"one","offVariant":"one"`
	for _, flag := range []string{
		`{"key":"nav","type":"boolean"}`,
		`{"key":"secret","type":"boolean","visibility":"server"}`,
		`{"key":"theme","type":"json","variants":[{"key":"dark","value":{"color":"black"}}],` +
			`"defaultVariant":"dark","offVariant":"dark"}`,
		`{"key":"layout",` + text + `,"rules":[` +
			`{"conditions":{"all":[{"attribute":"plan","op":"eq","values":["pro"]}]},"serve":{"variant":"two"}}]}`,
		`{"key":"half",` + text + `,"rules":[{"serve":{"rollout":{"variant":"two","percentage":50}}}]}`,
	} {
		o.rpc(t, "enable", fmt.Sprintf(`{"id":%q}`, o.rpc(t, "create", flag)))
	}
	o.rpc(t, "create", `{"key":"resting","type":"boolean"}`)
	o.bannerID = o.rpc(t, "create", `{"key":"banner",`+text+`}`)
	o.rpc(t, "enable", fmt.Sprintf(`{"id":%q}`, o.bannerID))
	return o
}

// rpc calls an operation of flags, and returns the flag's id.
func (o *openFeature) rpc(t *testing.T, operation, body string) string {
	t.Helper()
	a, err := harness.Post(t.Context(), o.QueryURL+"/rpc/flags/"+operation, o.Key, []byte(body))
	var said struct {
		Data struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if err != nil || a.Status >= http.StatusMultipleChoices || json.Unmarshal(a.Body, &said) != nil || said.Data.ID == "" {
		t.Fatalf("%s %s: %d %s, %v", operation, body, a.Status, a.Body, err)
	}
	return said.Data.ID
}

// TestOtherPeoplesClientsOfFlagsWork uses providers and flag managers of npm, as they are.
func TestOtherPeoplesClientsOfFlagsWork(t *testing.T) {
	t.Parallel()
	o := newOpenFeature(t)
	for name, test := range map[string]func(*openFeature, *testing.T){
		"for servers":                (*openFeature).servers,
		"for browsers":               (*openFeature).browsers,
		"for browsers, over a limit": (*openFeature).limited,
		"flag managers for servers":  (*openFeature).serverManager,
		"flag managers for browsers": (*openFeature).browserManager,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(o, t)
		})
	}
}

// runNode runs a program beside packages of npm, and returns what it prints.
func runNode(t *testing.T, modules, program string, args ...string) string {
	t.Helper()
	dir := t.TempDir() // where Node looks for packages beside the program
	text, err := os.ReadFile(program)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "node.mjs"), text, 0o600)
	}
	if err == nil {
		err = os.Symlink(modules, filepath.Join(dir, "node_modules"))
	}
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	cmd := exec.CommandContext(ctx, "node", append([]string{"node.mjs"}, args...)...)
	cmd.Dir, cmd.Stderr = dir, testkit.NewLog(t, "node")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return strings.TrimSpace(string(out))
}

func (o *openFeature) servers(t *testing.T) {
	t.Helper()
	out := runNode(t, o.modules, "openfeature/node.mjs", o.base, o.Key, o.LimitedKey)
	got := strings.ReplaceAll(out, `},"`, "},\n\"")
	want := `{"static":{"value":true,"reason":"STATIC","variant":"on","version":2},
"rule":{"value":"v2","reason":"TARGETING_MATCH","variant":"two","version":2},
"object":{"value":{"color":"black"},
"reason":"STATIC","variant":"dark","version":2},
"disabled":{"value":false,"reason":"DISABLED","variant":"off","version":1},
"nobody":{"value":"none","reason":"ERROR","errorCode":"TARGETING_KEY_MISSING"},
"wrongType":{"value":1,"reason":"ERROR","errorCode":"TYPE_MISMATCH"},
"nothing":{"value":true,"reason":"ERROR","errorCode":"FLAG_NOT_FOUND"},
"hidden":{"value":false,"reason":"ERROR","errorCode":"FLAG_NOT_FOUND"},
"visible":{"value":true,"reason":"STATIC","variant":"on","version":2},
"admitted":{"value":true,"reason":"STATIC","variant":"on","version":2},
"limited":{"value":false,"reason":"ERROR","errorCode":"GENERAL"},
"bulk":[200,304]}`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// imports are where browsers find the packages.
const imports = `<script type="importmap">{
"imports": {
  "@openfeature/web-sdk": "/modules/@openfeature/web-sdk/dist/esm/index.js",
  "@openfeature/core": "/modules/@openfeature/core/dist/esm/index.js",
  "@openfeature/ofrep-web-provider": "/modules/@openfeature/ofrep-web-provider/index.esm.js",
  "@openfeature/ofrep-core":
    "/modules/@openfeature/ofrep-web-provider/node_modules/@openfeature/ofrep-core/index.esm.js"
}}</script>`

// page opens a page that uses the provider for browsers.
func (o *openFeature) page(t *testing.T) *visitor {
	t.Helper()
	return openModule(t, o.modules, "openfeature/page.mjs", imports, "openfeature")
}

// openModule opens a page with a module beside packages of npm, and waits until it has set a global.
func openModule(t *testing.T, modules, module, head, global string) *visitor {
	t.Helper()
	mux := http.NewServeMux()
	mux.Handle("/modules/", http.StripPrefix("/modules/", http.FileServer(http.Dir(modules))))
	mux.HandleFunc("/page.mjs", func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, module) })
	mux.HandleFunc("/{$}", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `<!doctype html><title>Shop</title>`, head, `<script type="module" src="/page.mjs"></script>`)
	})
	v := newVisitor(t)
	v.open(serve(t, "shop.example.com", mux))
	testkit.Eventually(t, within, func() error {
		if !get[bool](v, fmt.Sprintf("%q in globalThis", global)) {
			return fmt.Errorf("the page has no %s", global)
		}
		return nil
	})
	return v
}

// shows waits until a flag is shown in the page as a value and its reason.
func shows(t *testing.T, v *visitor, key, want string) {
	t.Helper()
	testkit.Eventually(t, within, func() error {
		if got := get[string](v, fmt.Sprintf("openfeature.text(%q)", key)); got != want {
			return fmt.Errorf("%s is %s, want %s; seen %s", key, got, want, get[string](v, "JSON.stringify(openfeature.seen)"))
		}
		return nil
	})
}

func (o *openFeature) browsers(t *testing.T) {
	t.Helper()
	v := o.page(t)
	v.run(fmt.Sprintf(`openfeature.start({baseUrl: %q}, {targetingKey: "ann", plan: "pro"})`, o.base))
	shows(t, v, "layout", "v2 TARGETING_MATCH")
	shows(t, v, "secret", "none FLAG_NOT_FOUND")
	shows(t, v, "resting", "none TYPE_MISMATCH")

	// Nothing has changed: what the page has is still so.
	v.lookAway()
	v.lookBack()
	testkit.Eventually(t, within, func() error {
		if got := get[string](v, "openfeature.seen.statuses.join()"); got != "200,304" {
			return fmt.Errorf("the answers were %s", got)
		}
		return nil
	})

	// A change is shown without asking for it, and without a new page.
	shows(t, v, "banner", "v1 STATIC")
	o.rpc(t, "update", fmt.Sprintf(`{"id":%q,"defaultVariant":"two"}`, o.bannerID))
	shows(t, v, "banner", "v2 STATIC")
	if got := get[string](v, "openfeature.seen.events.join()"); got != "PROVIDER_CONFIGURATION_CHANGED Flags updated" {
		t.Errorf("the events were %s", got)
	}
	v.run(`openfeature.be({plan: "free"})`)
	shows(t, v, "half", "none TARGETING_KEY_MISSING")
}

func (o *openFeature) limited(t *testing.T) {
	t.Helper()
	v := o.page(t)
	options := fmt.Sprintf(`{baseUrl: %q, headers: [["X-Api-Key", %q]]}`, o.base, o.LimitedReadKey)
	v.run(`openfeature.start(` + options + `, {targetingKey: "ann", plan: "pro"})`)
	shows(t, v, "layout", "v2 TARGETING_MATCH")
	v.run(`openfeature.be({targetingKey: "bob"})`)
	for range 2 { // the second time it does not even ask
		v.run(`openfeature.be({targetingKey: "eve"})`)
	}
	if got := get[string](v, "openfeature.seen.statuses.join()"); got != "200,429" {
		t.Errorf("the answers were %s", got)
	}
	const told = "PROVIDER_STALE OFREPApiTooManyRequestsError: rate limit exceeded, try again after "
	if got := get[string](v, "openfeature.seen.events.join()"); !strings.HasPrefix(got, told) {
		t.Errorf("the events were %s", got)
	}
}
