package management_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/testkit"
)

// guideCall is a call of a guide: an operation and its body.
var guideCall = regexp.MustCompile(`(?s)\nrpc (\S+) '(.*?)'`)

// TestTheGuideOfFeatureFlagsWorks makes the guide's calls one after the other. An id in it
// is that of the last record that was made, but for copies.
func TestTheGuideOfFeatureFlagsWorks(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	text, err := os.ReadFile(testkit.Root(t) + "/docs/guides/feature-flags.md")
	if err != nil {
		t.Fatal(err)
	}
	calls := guideCall.FindAllStringSubmatch(string(text), -1)
	ids := map[string]string{}
	tested := func(operation, body string) *reply {
		for prefix, id := range ids {
			body = strings.ReplaceAll(body, prefix+"_…", id)
		}
		return d.call("owner", operation, body)
	}
	var early []string // what asks for a segment that the guide makes later
	for _, c := range calls {
		operation, body := c[1], c[2]
		if operation == "flags/disable" {
			body = strings.Replace(body, `,"version":7`, "", 1)
		}
		r := tested(operation, body)
		if strings.Contains(body, `"testers","negate"`) || strings.Contains(body, `["testers"]`) {
			if r.Status != 400 || r.Details[0].Field != "rules[0].conditions.any[1].values[0]" {
				t.Errorf("before there is the segment: %s", r.Text)
			}
			early = append(early, body)
			continue
		}
		if !r.Success {
			t.Errorf("%s %s: %d %s", operation, body, r.Status, r.Text)
		}
		if at := strings.Index(r.Text, `"id":"`); strings.HasSuffix(operation, "/create") && r.Success {
			id, _, _ := strings.Cut(r.Text[at+len(`"id":"`):], `"`)
			ids[id[:3]] = id
		}
		if operation == "segments/create" && len(early) == 1 {
			if r := tested("flags/update", early[0]); !r.Success {
				t.Errorf("once there is the segment: %s", r.Text)
			}
		}
	}
	if len(calls) < 20 || len(early) != 1 {
		t.Errorf("%d calls, %d of them too early", len(calls), len(early))
	}
}
