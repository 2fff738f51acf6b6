package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/adapter/kafka"
	"github.com/millrace/millrace/internal/adapter/kafka/kafkatest"
	"github.com/millrace/millrace/internal/adapter/store"
	"github.com/millrace/millrace/internal/pipeline/importer"
	"github.com/millrace/millrace/internal/tenant/apikey"
	"github.com/millrace/millrace/internal/tenant/audit"
	"github.com/millrace/millrace/internal/tenant/website"
)

// port is a deployment to import into.
type port struct {
	flags   []string
	website *website.Website
	db      *store.Store
}

func newPort(t *testing.T) *port {
	t.Helper()
	url, db, w := seeded(t)
	_, cfg := kafkatest.Cluster(t)
	if _, err := kafka.EnsureTopics(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	return &port{[]string{url, "--kafka.brokers=" + cfg.Brokers[0]}, w, db}
}

// key makes an API key and returns the flag for it.
func (p *port) key(t *testing.T, args ...string) string {
	t.Helper()
	return "--key=" +
		strings.TrimSpace(mustMillrace(t, append([]string{"keys", "create", p.flags[0], "--name", "x"}, args...)...))
}

func (p *port) run(t *testing.T, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	return millrace(t, append(append([]string{"import"}, p.flags...), args...)...)
}

// imported returns the values in the backfill topic.
func (p *port) imported(t *testing.T) []map[string]any {
	t.Helper()
	var values []map[string]any
	for line := range strings.Lines(mustMillrace(t, "tap", "events.backfill.v1", p.flags[1], "--exit", "--json")) {
		value := map[string]any{}
		if err := json.Unmarshal([]byte(line), &value); err != nil {
			t.Fatal(err)
		}
		values = append(values, value)
	}
	return values
}

func (p *port) names(t *testing.T) map[string]int {
	t.Helper()
	names := map[string]int{}
	for _, v := range p.imported(t) {
		names[v["name"].(string)]++
	}
	return names
}

func writeFile(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func rejectionsIn(t *testing.T, text string) []importer.Rejection {
	t.Helper()
	var list []importer.Rejection
	for line := range strings.Lines(text) {
		var r importer.Rejection
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		r.Message = ""
		list = append(list, r)
	}
	return list
}

func TestALineIsRejectedByItselfAndTheOthersAreImported(t *testing.T) {
	t.Parallel()
	p := newPort(t)
	key := p.key(t, "--scope", "track:events", "--website", p.website.ID)
	long := strings.Repeat("é", 256)
	file := writeFile(t, "a.ndjson", strings.Join([]string{
		`{"name":"first","timestamp":"2024-01-02","eventId":"e1"}`,
		`{"path":"/x"}`,
		``,
		`{"name":"a"},{"name":"b"}`,
		`[{"name":"c"}]`,
		`{"name":"` + long + `"}`,
		`{"name":"` + long + `x"}`,
		`{"name":"other","websiteId":"web_unknown"}`,
		`{"name":"big","properties":{"x":"` + strings.Repeat("y", 32<<10) + `"}}`,
		`{"name":"huge` + strings.Repeat(" ", importer.MaxLineBytes) + `"}`,
		`{"name":"last"}`,
	}, "\n"))
	_, said, err := p.run(t, key, file)
	if err == nil || err.Error() != "7 lines were rejected" ||
		!strings.Contains(said, "100 %, 11 lines, 3 events, 7 rejected") {
		t.Errorf("the error is %v, and it says %s", err, said)
	}
	text, err := os.ReadFile(file + rejectionsSuffix)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]importer.Rejection{
		{Line: 2, Field: "name", Rule: "required"},
		{Line: 4, Rule: "malformed"},
		{Line: 5, Rule: "wrong_type"},
		{Line: 7, Field: "name", Rule: "too_long"},
		{Line: 8, Field: "websiteId", Rule: "WEBSITE_NOT_FOUND"},
		{Line: 9, Field: "properties", Rule: "too_large"},
		{Line: 10, Rule: "too_long"},
	}, rejectionsIn(t, string(text))); diff != "" {
		t.Error(diff)
	}
	got := p.imported(t)
	names, ids := map[string]bool{}, map[string]bool{}
	for _, v := range got {
		names[v["name"].(string)], ids[v["id"].(string)] = true, true
		if v["owner"] != p.website.ID || v["idGenerated"] != nil {
			t.Errorf("the event is %v", v)
		}
	}
	if len(got) != 3 || len(ids) != 3 || !ids["e1"] || !names["first"] || !names["last"] || !names[long] {
		t.Errorf("imported were %v with the ids %v", names, ids)
	}

	// A finished import is not repeated, and says so.
	if _, said, err = p.run(t, key, file); !strings.Contains(said, "already imported") || err == nil ||
		len(p.imported(t)) != 3 {
		t.Errorf("again: the error is %v, and it says %s", err, said)
	}
}

func TestAnImportWhoseStateIsLostAddsNothingTwice(t *testing.T) {
	t.Parallel()
	p := newPort(t)
	key := p.key(t, "--scope", "track:events", "--website", p.website.ID)
	file := writeFile(t, "a.csv", "name,path,properties.n\r\nfirst,/x,1\r\n\"sec\nond\",,\r\n")
	for range 2 {
		if _, _, err := p.run(t, key, file); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(file + stateSuffix); err != nil {
			t.Fatal(err)
		}
	}
	same := map[string]int{}
	for _, v := range p.imported(t) {
		same[fmt.Sprint(v["id"], v["ts"], v["name"], v["path"], v["properties"])]++
	}
	if len(same) != 2 {
		t.Errorf("imported were %v", same)
	}
	for event, n := range same {
		if n != 2 {
			t.Errorf("%s is there %d times, want 2 under one id", event, n)
		}
	}
}

func TestStandardInputMayBeCompressed(t *testing.T) {
	t.Parallel()
	p := newPort(t)
	var in bytes.Buffer
	w := gzip.NewWriter(&in)
	fmt.Fprintln(w, `{"name":"from stdin"}`)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	root, said := newRoot(), &bytes.Buffer{}
	root.SetIn(&in)
	root.SetErr(said)
	root.SetArgs(append(append([]string{"import"}, p.flags...), p.key(t, "--scope", "track:events"), "--website",
		p.website.ClientID, "--format", "ndjson", "-"))
	if err := root.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := p.imported(t)
	if len(got) != 1 || got[0]["owner"] != p.website.ID {
		t.Errorf("imported were %v; it says %s", got, said)
	}
}

func TestADryRunChecksAndSendsNothing(t *testing.T) {
	t.Parallel()
	p := newPort(t)
	file := writeFile(t, "a.ndjson", `{"name":"good"}`+"\n{}\n")
	out, said, err := p.run(t, p.key(t, "--scope", "track:events"), "--dry-run", file)
	if err == nil || !cmp.Equal(rejectionsIn(t, out), []importer.Rejection{{Line: 2, Field: "name", Rule: "required"}}) {
		t.Errorf("the error is %v, it prints %s and says %s", err, out, said)
	}
	for _, suffix := range []string{stateSuffix, rejectionsSuffix} {
		if _, err := os.Stat(file + suffix); err == nil {
			t.Errorf("%s was made", suffix)
		}
	}
	if got := p.imported(t); len(got) != 0 {
		t.Errorf("imported were %v", got)
	}
}

func TestAnImportSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	p := newPort(t)
	other := addOrganization(t, p.db, "Second")
	foreign, err := website.New(other.ID, "Theirs", "theirs.example", p.website.CreatedAt)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.db.CreateWebsite(t.Context(), audit.ByOperator("test"), foreign); err != nil {
		t.Fatal(err)
	}
	own := []string{"--organization", p.website.OrganizationID}
	good := p.key(t, append(own, "--scope", "track:events", "--website", p.website.ID)...)
	reader := p.key(t, append(own, "--scope", "read:data")...)
	revoked := p.key(t, append(own, "--scope", "track:events")...)
	k, err := p.db.KeyByHash(t.Context(), apikey.HashOf([]byte(strings.TrimPrefix(revoked, "--key="))))
	if err != nil {
		t.Fatal(err)
	}
	mustMillrace(t, "keys", "revoke", p.flags[0], k.ID)
	file := writeFile(t, "a.ndjson", `{"name":"a"}`)
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{file}, "either --key or MILLRACE_API_KEY is required"},
		{
			[]string{"--key=mlr_x", file},
			"the API key is unknown, expired or revoked: set another with --key or MILLRACE_API_KEY",
		},
		{[]string{revoked, file}, "the API key is unknown, expired or revoked"},
		{[]string{reader, file}, "the API key lacks the scope track:events"},
		{[]string{good, "--website", foreign.ID, file}, "the key's organization has no website with this id"},
		{[]string{good, "--website", "web_x", file}, "the key's organization has no website with this id"},
		{[]string{good, file + "x.csv"}, "opening the file: no such file"},
		{[]string{good, filepath.Dir(file), "--format", "csv"}, "is not a regular file"},
		{[]string{good, writeFile(t, "a.txt", "")}, "add --format ndjson or --format csv"},
		{[]string{good, "--format", "xml", file}, `unknown format "xml"`},
		{[]string{good, writeFile(t, "a.csv", "titel\na\n")}, `unknown column "titel"`},
		{[]string{good, writeFile(t, "b.csv", "")}, "reading the header: the file is empty"},
		{[]string{good, "--state", "x", file, file}, "require a single file"},
	} {
		_, _, err := p.run(t, tt.args...)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("import %v: the error is %v, want %q in it", tt.args, err, tt.want)
		}
	}
	if got := p.imported(t); len(got) != 0 {
		t.Errorf("imported were %v", got)
	}
}

func TestAnImportGoesOnOnlyWithTheSameFileAndTarget(t *testing.T) {
	t.Parallel()
	p := newPort(t)
	key := p.key(t, "--scope", "track:events")
	file := writeFile(t, "a.ndjson", `{"name":"a"}`)
	if _, _, err := p.run(t, key, file); err != nil {
		t.Fatal(err)
	}
	if _, _, err := p.run(t, key, "--website", p.website.ID, file); err == nil ||
		!strings.Contains(err.Error(), "another organization or website") {
		t.Errorf("for another target: %v", err)
	}
	if err := os.WriteFile(file, []byte(`{"name":"b"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := p.run(t, key, file); err == nil || !strings.Contains(err.Error(), "differs from the one that") {
		t.Errorf("another file: %v", err)
	}
	if err := os.WriteFile(file+stateSuffix, []byte(`{"v":9}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := p.run(t, key, file); err == nil || !strings.Contains(err.Error(), "damaged or of another version") {
		t.Errorf("a damaged state: %v", err)
	}
	if got := p.names(t); !cmp.Equal(got, map[string]int{"a": 1}) {
		t.Errorf("imported were %v", got)
	}
}
