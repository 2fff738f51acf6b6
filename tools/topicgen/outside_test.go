package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/tools/npm"
)

// others is the folder with what other people wrote and the generated files are
// held against: the schema of AsyncAPI and the compiler of TypeScript, in the
// versions, and with the checksums, of npm/package-lock.json.
func others(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("left out under -short: needs packages of npm")
	}
	dir, err := installed()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

var installed = sync.OnceValues(func() (string, error) {
	dir, err := npm.Install(context.Background(), "topicgen", os.DirFS("npm"))
	return filepath.Join(dir, "node_modules"), err
})

func TestTheDocumentIsAsyncAPI(t *testing.T) {
	t.Parallel()
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft7)
	s, err := c.Compile(filepath.Join(others(t), "@asyncapi", "specs", "schemas", "3.0.0.json"))
	if err != nil {
		t.Fatal(err)
	}
	doc := document(t)
	if err := s.Validate(plain(t, doc)); err != nil {
		t.Errorf("%#v", err)
	}
	for name, spoil := range map[string]func(){
		"an operation of no kind": func() { at(t, doc, "operations", "readEventsV1")["action"] = "write" },
		"a binding of no kind":    func() { at(t, doc, "channels", "eventsV1", "bindings", "kafka")["partitions"] = "many" },
	} {
		spoil()
		if err := s.Validate(plain(t, doc)); err == nil {
			t.Errorf("%s passes", name)
		}
		doc = document(t)
	}
}

// TestTheTypeScriptTypesFitTheGoldenRecords compiles each golden record as a
// value of its type; the compiler rejects unknown members of a literal.
func TestTheTypeScriptTypesFitTheGoldenRecords(t *testing.T) {
	t.Parallel()
	modules := others(t)
	c, err := readContract(root)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	types, err := os.ReadFile(filepath.Join(root, "sdk", "topics", "typescript", "topics.ts"))
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	b.WriteString("import { topics, type DeadLetterHeaders, type ErrorsV1, type EventHeaders, type EventsV1, type " +
		"IdentitiesV1, type IngestionV1, type ClicksV1, type ExposuresV1, type VitalsV1 } from \"./topics\";\n")
	for _, g := range c.golden {
		var headers []string
		for _, h := range g.Headers {
			headers = append(headers, fmt.Sprintf("%q: %q", h[0], h[1]))
		}
		fmt.Fprintf(&b, "{ const e: %s = %s; const h: EventHeaders = { %s }; void [e, h]; }\n",
			upperFirst(identifier(g.schema)), g.Value, strings.Join(headers, ", "))
	}
	b.WriteString("{ const t: \"events.v1.dlq\" = topics.eventsV1Dlq; const r = (h: DeadLetterHeaders): string => " +
		"h[\"dlq-reason\"]; void [t, r]; }\n")
	value := string(c.golden[slices.IndexFunc(c.golden,
		func(g golden) bool { return g.schema == record.TopicEvents })].Value)
	for _, bad := range []string{
		`const e: EventsV1 = { v: 1 };`,
		strings.Replace("const e: EventsV1 = "+value+";", `"v":`, `"unknown":1,"v":`, 1),
		strings.Replace("const e: EventsV1 = "+value+";", `"v":1,`, `"v":"1",`, 1),
	} {
		fmt.Fprintf(&b, "{\n// @ts-expect-error\n%s void e; }\n", bad)
	}
	for name, text := range map[string][]byte{"topics.ts": types, "check.ts": b.Bytes()} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), "node", filepath.Join(modules, "typescript", "bin", "tsc"),
		"--strict", "--noEmit", "--target", "es2020", "--module", "es2020", "--moduleResolution", "bundler", "check.ts")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
