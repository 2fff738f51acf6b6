package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/millrace/millrace/internal/adapter/kafka"
	"github.com/millrace/millrace/schemas/topics"
)

// contract is what is known of the topics.
type contract struct {
	topics  []kafka.Topic
	schemas []*schema // each once, in the order of the topics
	golden  []golden
}

// schema is the JSON Schema of a topic's values, in its own order.
type schema struct {
	name   string // such as "events.v1"
	title  string
	help   string
	fields []field
	node   *yaml.Node
}

// field is one property of a schema.
type field struct {
	name, help string
	kind       string // "string", "integer", "number", "object", "strings" or "true"
	required   bool
	// zero says that the schema allows what Go takes for absent: "" or 0.
	zero bool
}

// golden is a record that stands for the contract.
type golden struct {
	name    string
	schema  string
	Topic   string          `json:"topic"`
	Key     string          `json:"key"`
	Headers [][2]string     `json:"headers"`
	Value   json.RawMessage `json:"value"`
}

// backfill is what the name of a topic has, besides that of the topic whose
// records it takes when they are old.
const backfill = ".backfill"

// schemaName is the schema of a topic that holds no dead letters.
func schemaName(topic string) string { return strings.Replace(topic, backfill, "", 1) }

func isDeadLetters(topic string) bool { return strings.HasSuffix(topic, kafka.DeadLetterSuffix) }

func readContract(root string) (*contract, error) {
	c := &contract{topics: kafka.Topics}
	for i := range c.topics {
		name := schemaName(c.topics[i].Name)
		if isDeadLetters(name) || c.schema(name) != nil {
			continue
		}
		s, err := readSchema(name)
		if err != nil {
			return nil, err
		}
		c.schemas = append(c.schemas, s)
	}
	var err error
	c.golden, err = readGolden(root)
	return c, err
}

func (c *contract) schema(name string) *schema {
	i := slices.IndexFunc(c.schemas, func(s *schema) bool { return s.name == name })
	if i < 0 {
		return nil
	}
	return c.schemas[i]
}

func readSchema(name string) (*schema, error) {
	raw, err := topics.Files.ReadFile(name + ".json")
	if err != nil {
		return nil, fmt.Errorf("reading the schema of topic %s: %w", name, err)
	}
	node, err := ordered(raw)
	if err != nil {
		return nil, fmt.Errorf("reading the schema of topic %s: %w", name, err)
	}
	var facts struct {
		Title       string   `yaml:"title"`
		Description string   `yaml:"description"`
		Required    []string `yaml:"required"`
	}
	if err := node.Decode(&facts); err != nil {
		return nil, fmt.Errorf("reading the schema of topic %s: %w", name, err)
	}
	s := &schema{name: name, title: facts.Title, help: facts.Description, node: node}
	properties := member(node, "properties")
	for i := 0; properties != nil && i+1 < len(properties.Content); i += 2 {
		f, err := readField(properties.Content[i].Value, properties.Content[i+1])
		if err != nil {
			return nil, fmt.Errorf("reading the schema of topic %s: %w", name, err)
		}
		f.required = slices.Contains(facts.Required, f.name)
		s.fields = append(s.fields, f)
	}
	return s, nil
}

// readField understands what our schemas use and rejects what it would have to
// guess.
func readField(name string, node *yaml.Node) (field, error) {
	var p struct {
		Description string `yaml:"description"`
		Type        string `yaml:"type"`
		Const       any    `yaml:"const"`
		MinLength   int    `yaml:"minLength"`
		Minimum     *int64 `yaml:"minimum"`
		Items       struct {
			Type string `yaml:"type"`
		} `yaml:"items"`
	}
	if err := node.Decode(&p); err != nil {
		return field{}, fmt.Errorf("reading property %s: %w", name, err)
	}
	f := field{name: name, help: p.Description, kind: p.Type}
	switch {
	case p.Const == true:
		f.kind = "true"
	case p.Type == "string":
		f.zero = p.MinLength == 0
	case p.Type == "integer":
		f.zero = p.Minimum == nil || *p.Minimum <= 0
	case p.Type == "number":
		f.zero = true
	case p.Type == "object":
	case p.Type == "array" && p.Items.Type == "string":
		f.kind = "strings"
	default:
		return field{}, fmt.Errorf("property %s is of a kind that has no type in Go: %q", name, p.Type)
	}
	return f, nil
}

// ordered reads JSON, which is YAML too, and keeps the order of its members.
func ordered(raw []byte) (*yaml.Node, error) {
	var document yaml.Node
	if err := yaml.Unmarshal(raw, &document); err != nil {
		return nil, err
	}
	var plain func(n *yaml.Node)
	plain = func(n *yaml.Node) {
		n.Style = 0
		for _, child := range n.Content {
			plain(child)
		}
	}
	plain(&document)
	return document.Content[0], nil
}

// member returns the value of a key; nil when there is none.
func member(object *yaml.Node, key string) *yaml.Node {
	for i := 0; i+1 < len(object.Content); i += 2 {
		if object.Content[i].Value == key {
			return object.Content[i+1]
		}
	}
	return nil
}

func readGolden(root string) ([]golden, error) {
	folder := filepath.Join(root, "internal", "contract", "record", "testdata", "golden")
	files, err := filepath.Glob(filepath.Join(folder, "*", "*.json"))
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("finding the golden records: %d files, %w", len(files), err)
	}
	all := make([]golden, len(files))
	for i, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("reading a golden record: %w", err)
		}
		if err := json.Unmarshal(raw, &all[i]); err != nil {
			return nil, fmt.Errorf("reading golden record %s: %w", file, err)
		}
		all[i].schema = filepath.Base(filepath.Dir(file))
		all[i].name = strings.TrimSuffix(filepath.Base(file), ".json")
	}
	return all, nil
}
