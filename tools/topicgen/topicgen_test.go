package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"github.com/millrace/millrace/internal/adapter/kafka"
	"github.com/millrace/millrace/internal/contract/record/recordtest"
	"github.com/millrace/millrace/internal/pipeline/deadletter"
)

const root = "../.."

func TestWhatIsGeneratedIsUpToDate(t *testing.T) {
	t.Parallel()
	if err := run(root, true); err != nil {
		t.Error(err)
	}
}

func TestCheckFindsAFileThatDiffersOrIsMissing(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x")
	if err := compare(path, []byte("x")); err == nil {
		t.Error("a missing file passes")
	}
	if err := os.WriteFile(path, []byte("x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := compare(path, []byte("x")); err == nil {
		t.Error("a file that differs passes")
	}
	if err := compare(path, []byte("x\n")); err != nil {
		t.Error(err)
	}
}

// document is the committed AsyncAPI document, as a JSON reader would see it.
func document(t *testing.T) map[string]any {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(root, "schemas", "asyncapi", "asyncapi.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var doc map[string]any
	if err := yaml.Unmarshal(raw, &doc); err != nil {
		t.Fatal(err)
	}
	return doc
}

// at follows keys into a document, through references.
func at(t *testing.T, doc map[string]any, path ...string) map[string]any {
	t.Helper()
	here := doc
	for _, key := range path {
		next, ok := here[key].(map[string]any)
		if !ok {
			t.Fatalf("%s: there is no %s", strings.Join(path, "/"), key)
		}
		if to, ok := next["$ref"].(string); ok {
			next = at(t, doc, strings.Split(strings.TrimPrefix(to, "#/"), "/")...)
		}
		here = next
	}
	return here
}

func TestEveryTopicIsAChannelWithAnOperationAndAMessage(t *testing.T) {
	t.Parallel()
	doc := document(t)
	for i := range kafka.Topics {
		topic := &kafka.Topics[i]
		id := identifier(topic.Name)
		c := at(t, doc, "channels", id)
		if c["address"] != topic.Name {
			t.Errorf("%s: the address is %v", id, c["address"])
		}
		config := at(t, doc, "channels", id, "bindings", "kafka", "topicConfiguration")
		if fmt.Sprint(config["retention.ms"]) != strconv.FormatInt(topic.Retention.Milliseconds(), 10) {
			t.Errorf("%s: retention.ms is %v", id, config["retention.ms"])
		}
		message := at(t, doc, "channels", id, "messages", messageOf(topic.Name))
		if message["payload"] == nil {
			t.Errorf("%s: the message has no payload", id)
		}
		if op := at(t, doc, "operations", "read"+upperFirst(id)); op["action"] != "receive" {
			t.Errorf("%s: the operation is %v", id, op["action"])
		}
	}
	if got := len(at(t, doc, "channels")); got != len(kafka.Topics) {
		t.Errorf("%d channels, want %d", got, len(kafka.Topics))
	}
}

// compile makes a schema of a part of the document.
func compile(t *testing.T, part any) *jsonschema.Schema {
	t.Helper()
	c := jsonschema.NewCompiler()
	if err := c.AddResource("part.json", plain(t, part)); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("part.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// plain gives a value the types that a JSON reader would.
func plain(t *testing.T, v any) any {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	out, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestExamplesAreTheGoldenRecordsAndKeepTheSchemasBesideThem(t *testing.T) {
	t.Parallel()
	c, err := readContract(root)
	if err != nil {
		t.Fatal(err)
	}
	doc := document(t)
	of := map[string][]golden{}
	for _, g := range c.golden {
		of[identifier(g.schema)] = append(of[identifier(g.schema)], g)
	}
	of["deadLetter"] = of["eventsV1"][:1]
	for name, want := range of {
		message := at(t, doc, "components", "messages", name)
		payload, headers := compile(t, message["payload"]), compile(t, message["headers"])
		examples, _ := message["examples"].([]any)
		if len(examples) != len(want) {
			t.Fatalf("%s has %d examples, want %d", name, len(examples), len(want))
		}
		for i, e := range examples {
			example, _ := e.(map[string]any)
			if err := payload.Validate(plain(t, example["payload"])); err != nil {
				t.Errorf("%s: %v", example["name"], err)
			}
			if err := headers.Validate(plain(t, example["headers"])); err != nil {
				t.Errorf("%s: %v", example["name"], err)
			}
			golden, err := jsonschema.UnmarshalJSON(bytes.NewReader(want[i].Value))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(floats(golden), floats(plain(t, example["payload"]))); diff != "" {
				t.Errorf("%s (-golden +example):\n%s", example["name"], diff)
			}
		}
	}
}

// floats forgets how numbers were written.
func floats(v any) any {
	switch x := v.(type) {
	case json.Number:
		f, _ := x.Float64()
		return f
	case map[string]any:
		for k := range x {
			x[k] = floats(x[k])
		}
	case []any:
		for i := range x {
			x[i] = floats(x[i])
		}
	}
	return v
}

func TestMarksKeepTheSchemaOfTheirTopic(t *testing.T) {
	t.Parallel()
	value, err := json.Marshal(deadletter.Mark{Version: 1, State: deadletter.StateParked, Run: "r"})
	if err != nil {
		t.Fatal(err)
	}
	if err := recordtest.CheckValue(deadletter.MarksTopic, value); err != nil {
		t.Error(err)
	}
}

func TestAPropertyWithoutATypeInGoIsRejected(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`{"type":"array"}`, `{"type":"array","items":{"type":"object"}}`, `{"const":1}`, `{}`} {
		node, err := ordered([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if f, err := readField("x", node); err == nil {
			t.Errorf("%s is read as %+v", text, f)
		}
	}
}

func TestAnAbsentFieldDiffersFromAZeroOne(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"type":"string"}`:               "*string",
		`{"type":"string","minLength":1}`: "string",
		`{"type":"integer"}`:              "*int64",
		`{"type":"integer","minimum":0}`:  "*int64",
		`{"type":"integer","minimum":1}`:  "int64",
		`{"type":"number"}`:               "*float64",
		`{"const":true}`:                  "bool",
		`{"type":"object"}`:               "json.RawMessage",

		`{"type":"array","items":{"type":"string"}}`: "[]string",
	} {
		node, err := ordered([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		f, err := readField("x", node)
		if err != nil || f.goType() != want {
			t.Errorf("%s has the type %s, %v, want %s", text, f.goType(), err, want)
		}
	}
}

func TestNamesFollowEachLanguage(t *testing.T) {
	t.Parallel()
	for got, want := range map[string]string{
		goTopic("events.v1.dlq"): "EventsV1DLQ", goField("rawTs"): "RawTS", goField("anonymousId"): "AnonymousID",
		goField("osVersion"):       "OSVersion",
		goHeader("dlq-first-seen"): "DLQFirstSeen", goHeader("eid"): "EID",
		identifier("events.backfill.v1"): "eventsBackfillV1",
	} {
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// The Go types are a module of their own, which the tests of this one leave out.
func TestTheGoTypesPassTheirTests(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), "go", "test", "-count=1", "-v", "./...")
	cmd.Dir = filepath.Join(root, "sdk", "topics", "go")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if !regexp.MustCompile(`(?m)^--- PASS: TestGoldenRecords`).Match(out) {
		t.Errorf("the golden records were not tried:\n%s", out)
	}
}
