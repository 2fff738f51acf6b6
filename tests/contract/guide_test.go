package contract

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/adapter/clickhouse/clickhousetest"
	"github.com/millrace/millrace/internal/testkit"
	"github.com/millrace/millrace/tests/harness"
)

// guide is a page whose commands are run: the blocks of the language sh.
type guide struct {
	page string // from the root, without .md
	// least is the least number of blocks, so that none is lost unnoticed.
	least int
	// public publishes the website that the page is about.
	public bool
	// events are stored before the first block.
	events []string
	// prepare stores more and returns variables of the environment.
	prepare func(t *testing.T, s *harness.System, website string) []string
	// before runs before each block.
	before func(t *testing.T, s *harness.System, script string)
	// settle bounds the wait for the response that the page shows; 0 where responses do not
	// depend on what is stored or served a little later.
	settle time.Duration
}

var guides = []guide{
	{page: "README", least: 4, settle: 90 * time.Second},
	{page: "docs/guides/sending-events", least: 8},
	{page: "docs/guides/querying", least: 20, public: true, settle: 90 * time.Second, prepare: clicksAndExposures},
	{
		page: "docs/guides/exporting", least: 5, events: []string{
			`{"eventId":"order-17","name":"purchase","timestamp":"2026-03-03T09:30:00Z","properties":{"plan":"pro","seats":3}}`,
			`{"eventId":"order-18","name":"purchase","timestamp":"2026-03-04T09:30:00Z"}`,
		},
	},
	{page: "docs/guides/troubleshooting-ingestion", least: 1},
	{page: "docs/guides/browser-tracker", least: 3, settle: 90 * time.Second},
	{page: "docs/guides/calling-the-management-api", least: 1},
	{page: "docs/guides/websites-and-keys", least: 7}, // gives the owner a second organization, which calls then name
	{page: "docs/guides/privacy", least: 1},
	{page: "docs/guides/retention", least: 1},
	{page: "docs/guides/short-links", least: 17, settle: 90 * time.Second, before: proveDomains},
	{page: "docs/guides/feature-flags", least: 22, settle: 90 * time.Second},
}

var (
	// example is a block of commands and, if the page shows it, the response.
	example = regexp.MustCompile("(?s)\n```sh\n(.*?)```\n(?:\n```(json|text)\n(.*?)```)?")
	// accepted matches responses that a page need not show.
	accepted = regexp.MustCompile(`^((\{"status":"success",|\{"success":true,).*\n?)*$`)
	rejected = regexp.MustCompile(`"success":false|"status":"error"`)
	// made matches the ids of records, which differ in each run.
	made = regexp.MustCompile(`\b([a-z]{3})_[0-9A-Z]{26}\b`)
)

// TestGuides_CommandsDoWhatPagesShow runs the blocks of each page in their order, in one folder
// with data/dev.env and bin as `make run` leaves them. A block sees the variables and functions of
// the blocks before it.
func TestGuides_CommandsDoWhatPagesShow(t *testing.T) {
	t.Parallel()
	if _, err := testkit.Program("jq"); err != nil { // the pages use it beside curl
		t.Fatal(err)
	}
	s := harness.New(t, harness.InProcess, harness.Options{})
	bin := filepath.Dir(harness.Binary(t, "millrace"))
	env := append(
		slices.DeleteFunc(os.Environ(), func(line string) bool { return strings.HasPrefix(line, "MILLRACE_") }),
		"PATH="+bin+string(filepath.ListSeparator)+os.Getenv("PATH"),
		"MILLRACE_STORE_URL="+s.StoreURL, "MILLRACE_LINK_PUBLIC_URL="+s.LinkURL,
	)
	password := owner(t, s, env)
	for _, g := range guides {
		t.Run(path.Base(g.page), func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join(testkit.Root(t), filepath.FromSlash(g.page)+".md"))
			if err != nil {
				t.Fatal(err)
			}
			website := g.website(t, s)
			dir := t.TempDir()
			settings := map[string]string{
				"BASE_URL": s.QueryURL, "INGEST_URL": s.IngestURL, "LINK_URL": s.LinkURL,
				"KAFKA_BROKERS": strings.Join(s.Kafka.Brokers, ","), "CLICKHOUSE_ADDR": strings.Join(s.ClickHouse.Addr, ","),
				"API_KEY": s.Key, "WEBSITE_ID": website, "ORGANIZATION_ID": s.OrganizationID,
				"ADMIN_EMAIL": ownerEmail, "ADMIN_PASSWORD": password,
			}
			writeDevEnv(t, dir, bin, settings)
			g.store(t, s, website)
			env := env
			if g.prepare != nil {
				env = append(slices.Clone(env), g.prepare(t, s, website)...)
			}
			here := strings.NewReplacer("127.0.0.1:8123", clickhousetest.HTTPAddr(t),
				"database=millrace", "database="+s.ClickHouse.Database, "millrace.events", s.ClickHouse.Database+".events")
			examples := example.FindAllStringSubmatch(string(text), -1)
			if len(examples) < g.least {
				t.Fatalf("%s has %d blocks, want at least %d", g.page, len(examples), g.least)
			}
			for _, e := range examples {
				if script := here.Replace(e[1]); !strings.HasPrefix(script, "make ") {
					g.play(t, s, shell{dir, env}, script, e[2], e[3])
				}
			}
		})
	}
}

// play runs one block and compares its output with the response that the page shows.
func (g *guide) play(t *testing.T, s *harness.System, sh shell, script, kind, want string) {
	t.Helper()
	if g.before != nil {
		g.before(t, s, script)
	}
	settle := time.Nanosecond
	if kind != "" {
		settle += g.settle
	}
	err := testkit.WaitFor(settle, func() error {
		got, err := sh.run(t, script)
		if err != nil {
			return err
		}
		return compare(script, kind, want, got)
	})
	if err != nil {
		t.Errorf("%s\n%v", script, err)
	}
}

const ownerEmail = "admin@example.com"

// owner makes a person who owns the organization, and returns the password.
func owner(t *testing.T, s *harness.System, env []string) string {
	t.Helper()
	out, err := shell{t.TempDir(), env}.run(t, "millrace users create --json --email "+ownerEmail+
		" --name Admin --role owner --organization "+s.OrganizationID)
	var created struct{ Password string }
	if err != nil || json.Unmarshal([]byte(out), &created) != nil || created.Password == "" {
		t.Fatalf("making a person: %v\n%s", err, out)
	}
	return created.Password
}

// website makes a website for the page alone.
func (g *guide) website(t *testing.T, s *harness.System) (id string) {
	t.Helper()
	name := path.Base(g.page)
	created := call[managed](t, s, "websites/create", fmt.Sprintf(`{"name":%q,"domain":"%s.example"}`, name, name))
	if g.public {
		call[managed](t, s, "websites/publish", fmt.Sprintf(`{"id":%q}`, created.ID))
	}
	return created.ID
}

// managed is a record of the management API.
type managed struct {
	ID           string
	Verification struct{ Name, Type, Value string } // of a domain
}

// call calls an operation of the management API, which must succeed, and returns its data.
func call[T any](t *testing.T, s *harness.System, operation, body string) T {
	t.Helper()
	a, err := harness.Post(t.Context(), s.QueryURL+"/rpc/"+operation, s.Key, []byte(body))
	var response struct{ Data T }
	if err != nil || a.Status >= http.StatusMultipleChoices || json.Unmarshal(a.Body, &response) != nil {
		t.Fatalf("%s %s: %v, %d %s", operation, body, err, a.Status, a.Body)
	}
	return response.Data
}

// proveDomains sets the DNS records that linkDomains/verify looks for.
func proveDomains(t *testing.T, s *harness.System, script string) {
	t.Helper()
	if !strings.Contains(script, "linkDomains/verify") {
		return
	}
	for _, d := range call[[]managed](t, s, "linkDomains/list", "{}") {
		s.DNS.Set(t, d.Verification.Name, fmt.Sprintf("%s %q", d.Verification.Type, d.Verification.Value))
	}
}

// writeDevEnv writes data/dev.env and links bin, as `make run` leaves them.
func writeDevEnv(t *testing.T, dir, bin string, settings map[string]string) {
	t.Helper()
	var lines strings.Builder
	for name, value := range settings {
		fmt.Fprintf(&lines, "%s=%s\n", name, value)
	}
	err := errors.Join(os.Mkdir(filepath.Join(dir, "data"), 0o755),
		os.WriteFile(filepath.Join(dir, "data", "dev.env"), []byte(lines.String()), 0o600),
		os.Symlink(bin, filepath.Join(dir, "bin")))
	if err != nil {
		t.Fatal(err)
	}
}

// store sends a guide's events and returns when they are stored.
func (g *guide) store(t *testing.T, s *harness.System, website string) {
	t.Helper()
	if len(g.events) == 0 {
		return
	}
	if a, err := harness.Post(t.Context(), s.IngestURL+"/track?website_id="+website, s.Key,
		[]byte("["+strings.Join(g.events, ",")+"]")); err != nil || a.Status != 200 {
		t.Fatalf("sending events: %v, %d %s", err, a.Status, a.Body)
	}
	testkit.Eventually(t, 90*time.Second, func() error {
		ids, err := s.StoredIDsOf(t.Context(), website)
		if err == nil && len(ids) < len(g.events) {
			err = fmt.Errorf("%d events are stored", len(ids))
		}
		return err
	})
}

// shell runs scripts in a folder, which keeps variables and functions between them.
type shell struct {
	dir string
	env []string
}

// missing matches a variable that was read from a response without it.
var missing = regexp.MustCompile(`(?m)^declare -x (\w+)="null"$`)

// run returns what a script prints.
func (sh shell) run(t *testing.T, script string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c",
		"set -a; if [ -f .state ]; then . ./.state; fi\n"+script+"\n{ export -p; declare -f; } > .state")
	cmd.Dir, cmd.Env = sh.dir, sh.env
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%w: %s%s", err, out, &complaints)
	}
	state, err := os.ReadFile(filepath.Join(sh.dir, ".state"))
	if err != nil {
		return "", err
	}
	if m := missing.FindSubmatch(state); m != nil {
		return "", fmt.Errorf("%s is null\n%s", m[1], out)
	}
	return strings.TrimSpace(strings.ReplaceAll(string(out), "\r\n", "\n")), nil
}

// compare reports how a response differs from the one that the page shows. Without one, requests
// must have succeeded; of a command the exit code says so.
func compare(script, kind, want, got string) error {
	switch kind {
	case "json":
		shown, err := parsed(want)
		if err != nil {
			return err
		}
		response, err := parsed(made.ReplaceAllString(got, "${1}_…"))
		if err != nil {
			return err
		}
		if diff := cmp.Diff(shown, fitted(shown, response)); diff != "" {
			return errors.New("(-page +response):\n" + diff)
		}
	case "text":
		if want = strings.TrimSpace(want); fitted(want, got) != want {
			return errors.New("the response is\n" + got)
		}
	default:
		if !strings.Contains(script, "millrace ") && !accepted.MatchString(got) || rejected.MatchString(got) {
			return errors.New("the response is\n" + got)
		}
	}
	return nil
}

// parsed returns a response without what differs each time.
func parsed(text string) (any, error) {
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		return nil, fmt.Errorf("%s: %w", text, err)
	}
	if m, ok := v.(map[string]any); ok {
		delete(m, "requestId")
	}
	return v, nil
}

// fitted returns a response in which each text that matches the shown one is replaced by it. A …
// in a shown text stands for anything.
func fitted(shown, got any) any {
	switch shown := shown.(type) {
	case string:
		pattern := strings.ReplaceAll(regexp.QuoteMeta(shown), "…", ".*")
		if text, ok := got.(string); ok && regexp.MustCompile(`^`+pattern+`$`).MatchString(text) {
			return shown
		}
	case map[string]any:
		if got, ok := got.(map[string]any); ok {
			for name := range got {
				got[name] = fitted(shown[name], got[name])
			}
		}
	case []any:
		if got, ok := got.([]any); ok {
			for i := range min(len(shown), len(got)) {
				got[i] = fitted(shown[i], got[i])
			}
		}
	}
	return got
}
