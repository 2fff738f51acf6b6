package contract

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/adapter/clickhouse/clickhousetest"
	"github.com/millrace/millrace/internal/testkit"
	"github.com/millrace/millrace/tests/harness"
)

// guide is a page of docs/guides whose examples are run.
type guide struct {
	name string
	// least is how many examples it has, so that none is lost unnoticed.
	least int
	// website is the one that its examples are about, and no other's.
	website func(*harness.System) string
	// events are stored before the first example.
	events []string
	// more is stored as well; it returns variables of the environment.
	more func(*testing.T, *harness.System) []string
	// silent is what a script prints for which the page shows no response.
	silent *regexp.Regexp
	// settle is how long a response may take until it is the one shown, since what was
	// sent is stored a little later; 0 where answers come at once.
	settle time.Duration
}

var (
	accepted = regexp.MustCompile(`^(\{"status":"success","type":"[a-z_]+"(,"count":\d+)?\})+$`)
	nothing  = regexp.MustCompile(`^$`)
)

var guides = []guide{
	{
		name:    "sending-events",
		least:   8,
		website: func(s *harness.System) string { return s.SecondWebsiteID },
		silent:  accepted,
	},
	{
		name: "querying", least: 20, website: func(s *harness.System) string { return s.PublicWebsiteID }, silent: accepted,
		settle: 90 * time.Second, more: clicksAndExposures,
	},
	{
		name: "exporting", least: 4, website: func(s *harness.System) string { return s.WebsiteID }, silent: nothing,
		events: []string{
			`{"eventId":"order-17","name":"purchase","timestamp":"2026-03-03T09:30:00Z","properties":{"plan":"pro","seats":3}}`,
			`{"eventId":"order-18","name":"purchase","timestamp":"2026-03-04T09:30:00Z"}`,
		},
	},
	{
		name: "troubleshooting-ingestion", least: 2, website: func(s *harness.System) string { return s.WebsiteID },
		silent: regexp.MustCompile(`^\{"success":true,.*\{"parameter":"ingestion_health","success":true,"data":\[`),
	},
}

// example is a script of a guide and, where it shows one, its response.
var example = regexp.MustCompile("(?s)```sh\n(.*?)```\n(?:\n```(json|text)\n(.*?)```)?")

// TestTheExamplesOfTheGuidesDoWhatTheySay runs the scripts of each guide one after the
// other. The first one says what the others expect; one that defines a function is for
// all that follow.
func TestTheExamplesOfTheGuidesDoWhatTheySay(t *testing.T) {
	t.Parallel()
	if _, err := testkit.Program("jq"); err != nil { // that the examples use beside curl
		t.Fatal(err)
	}
	s := harness.New(t, harness.InProcess, harness.Options{})
	for _, g := range guides {
		t.Run(g.name, func(t *testing.T) {
			text, err := os.ReadFile("../../docs/guides/" + g.name + ".md")
			if err != nil {
				t.Fatal(err)
			}
			examples := example.FindAllStringSubmatch(string(text), -1)
			if len(examples) < g.least {
				t.Fatalf("the guide has %d examples, want at least %d", len(examples), g.least)
			}
			store(t, s, &g)
			dir, env := t.TempDir(), append(
				os.Environ(), "INGEST="+s.IngestURL, "QUERY="+s.QueryURL, "API_KEY="+s.Key, "WEBSITE_ID="+g.website(s),
				"CLICKHOUSE=http://"+clickhousetest.HTTPAddr(t), "DATABASE="+s.ClickHouse.Database,
			)
			if g.more != nil {
				env = append(env, g.more(t, s)...)
			}
			functions := ""
			for _, e := range examples[1:] {
				script, kind, want := functions+e[1], e[2], e[3]
				if strings.Contains(e[1], "() {") && kind == "" {
					functions = script
					continue
				}
				err := testkit.WaitFor(max(g.settle, time.Nanosecond), func() error {
					got, err := run(t, script, dir, env)
					if err != nil {
						return err
					}
					return g.compare(kind, want, got)
				})
				if err != nil {
					t.Errorf("%s\n%v", e[1], err)
				}
			}
		})
	}
}

// store sends a guide's events and returns when they are stored.
func store(t *testing.T, s *harness.System, g *guide) {
	t.Helper()
	if len(g.events) == 0 {
		return
	}
	url := s.IngestURL + "/track?website_id=" + g.website(s)
	if a, err := harness.Post(t.Context(), url, s.Key,
		[]byte("["+strings.Join(g.events, ",")+"]")); err != nil || a.Status != 200 {
		t.Fatalf("sending events: %v, %d %s", err, a.Status, a.Body)
	}
	testkit.Eventually(t, 90*time.Second, func() error {
		ids, err := s.StoredIDsOf(t.Context(), g.website(s))
		if err == nil && len(ids) < len(g.events) {
			err = fmt.Errorf("%d events are stored", len(ids))
		}
		return err
	})
}

// run returns what a script prints.
func run(t *testing.T, script, dir string, env []string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", script)
	cmd.Dir, cmd.Env = dir, env
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, &complaints)
	}
	return strings.TrimSpace(strings.ReplaceAll(string(out), "\r\n", "\n")), nil
}

// compare says how a response differs from what the guide shows.
func (g *guide) compare(kind, want, got string) error {
	switch kind {
	case "json":
		shown, err := parsed(want)
		if err != nil {
			return err
		}
		response, err := parsed(got)
		if err != nil {
			return err
		}
		if diff := cmp.Diff(shown, response); diff != "" {
			return errors.New("(-guide +answer):\n" + diff)
		}
	case "text":
		if got != strings.TrimSpace(want) {
			return errors.New("the answer is\n" + got)
		}
	default:
		if !g.silent.MatchString(got) {
			return errors.New("the answer is\n" + got)
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
