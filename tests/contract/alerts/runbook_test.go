package alerts

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// parts are what a heading of an alert has, in this order.
var parts = []string{"*Symptom*:", "*First look*:", "*Likely causes*:", "*Repair*:", "*How to check*:"}

const runbooks = "https://github.com/millrace/millrace/blob/main/docs/runbooks/"

func TestEachAlertHasItsRunbookAndEachRunbookItsAlert(t *testing.T) {
	t.Parallel()
	headings := alertHeadings(t)
	seen := map[string]bool{}
	for _, a := range alertsOf(allRules(t)) {
		h, ok := headings[a.Alert]
		if seen[a.Alert] || !ok {
			t.Errorf("%s: a second alert of the name, or no heading", a.Alert)
			continue
		}
		seen[a.Alert] = true
		if want := runbooks + h.file + "#" + strings.ToLower(a.Alert); a.Annotations["runbook_url"] != want {
			t.Errorf("%s: runbook_url is %s, want %s", a.Alert, a.Annotations["runbook_url"], want)
		}
	}
	for name := range headings {
		if !seen[name] {
			t.Errorf("heading %s has no alert", name)
		}
	}
}

func TestEachAlertSaysWhatItIsAbout(t *testing.T) {
	t.Parallel()
	for _, a := range alertsOf(allRules(t)) {
		if s := a.Labels["severity"]; s != "page" && s != "warn" {
			t.Errorf("%s: severity %q", a.Alert, s)
		}
		for _, key := range []string{"summary", "description"} {
			if a.Annotations[key] == "" {
				t.Errorf("%s has no %s", a.Alert, key)
			}
		}
	}
}

type heading struct{ file, text string }

var headingForm = regexp.MustCompile(`(?m)^## (Millrace\w+)$`)

// alertHeadings reads the headings of alerts, and finds those that are not whole.
func alertHeadings(t *testing.T) map[string]heading {
	t.Helper()
	files, err := filepath.Glob(root + "/docs/runbooks/*.md")
	if err != nil || len(files) == 0 {
		t.Fatalf("runbooks: %q, %v", files, err)
	}
	all := map[string]heading{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		at := headingForm.FindAllSubmatchIndex(text, -1)
		for i, m := range at {
			end := len(text)
			if i+1 < len(at) {
				end = at[i+1][0]
			}
			name := string(text[m[2]:m[3]])
			if other, twice := all[name]; twice {
				t.Errorf("heading %s stands in %s and %s", name, other.file, filepath.Base(file))
			}
			all[name] = heading{filepath.Base(file), string(text[m[1]:end])}
			checkParts(t, name, all[name].text)
		}
	}
	return all
}

func checkParts(t *testing.T, name, text string) {
	t.Helper()
	from := 0
	for _, p := range parts {
		i := strings.Index(text[from:], "\n"+p)
		if i < 0 {
			t.Errorf("heading %s lacks %q, or has it out of order", name, p)
			return
		}
		from += i + 1
	}
}
