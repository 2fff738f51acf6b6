// Package recordtest checks records against the published contract of their
// topic: the JSON Schema of the value, and that key, headers and timestamp say
// what the value says. It reads values with encoding/json and shares no code with
// the writer. Every test that sees a produced record should pass it through here.
package recordtest

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/schemas/topics"
)

// Validate fails the test unless rec keeps the contract of its topic.
func Validate(tb testing.TB, rec *record.Record) {
	tb.Helper()
	if err := Check(rec); err != nil {
		tb.Errorf("record of %s breaks its contract: %v\nvalue: %s", rec.Topic, err, rec.Value)
	}
}

// schemaOf names the schema of each topic of events.
var schemaOf = map[string]string{
	"events.v1": "events.v1", "events.backfill.v1": "events.v1", "vitals.v1": "vitals.v1", "errors.v1": "errors.v1",
	"identities.v1": "identities.v1", "ingestion.v1": "ingestion.v1",
	"clicks.v1": "clicks.v1", "exposures.v1": "exposures.v1",
}

// Check is Validate without a test.
func Check(rec *record.Record) error {
	schema, ok := schemaOf[rec.Topic]
	if !ok {
		return fmt.Errorf("no contract is known for topic %q", rec.Topic)
	}
	if err := CheckValue(schema, rec.Value); err != nil {
		return err
	}
	var v envelope
	if err := json.Unmarshal(rec.Value, &v); err != nil {
		return fmt.Errorf("reading the value: %w", err)
	}
	if owner := v.owner(); v.Owner != owner || string(rec.Key) != owner {
		return fmt.Errorf("owner is %q and the key %q, want %q", v.Owner, rec.Key, owner)
	}
	if rec.Time.UnixMilli() != v.ReceivedAt {
		return fmt.Errorf("timestamp is %d, receivedAt %d", rec.Time.UnixMilli(), v.ReceivedAt)
	}
	return v.checkHeaders(schema, rec.Headers)
}

// CheckValue holds a value against the schema of that name.
func CheckValue(schema string, value []byte) error {
	s, err := compiled(schema)
	if err != nil {
		return err
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, value); err != nil {
		return fmt.Errorf("reading the value: %w", err)
	}
	if !bytes.Equal(compact.Bytes(), value) {
		return errors.New("the value has insignificant white space")
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(value))
	if err != nil {
		return fmt.Errorf("reading the value: %w", err)
	}
	return s.Validate(v)
}

type envelope struct {
	ID           string `json:"id"`
	Organization string `json:"organization"`
	Website      string `json:"website"`
	Link         string `json:"link"`
	Owner        string `json:"owner"`
	Type         string `json:"type"`
	ReceivedAt   int64  `json:"receivedAt"`
}

func (v *envelope) owner() string {
	return cmp.Or(v.Link, v.Website, v.Organization)
}

func (v *envelope) checkHeaders(schema string, list []record.Header) error {
	got := map[string]string{}
	for _, h := range list {
		if _, twice := got[h.Key]; twice {
			return fmt.Errorf("header %s occurs twice", h.Key)
		}
		got[h.Key] = string(h.Value)
	}
	for key, want := range map[string]string{
		"schema": schema, "type": v.Type, "website": v.Website, "organization": v.Organization,
		"received-at": strconv.FormatInt(v.ReceivedAt, 10), "eid": eventHash(v.owner(), v.ID),
	} {
		if value, ok := got[key]; !ok || value != want {
			return fmt.Errorf("header %s is %q, want %q", key, value, want)
		}
	}
	if got["request-id"] == "" {
		return errors.New("header request-id is missing or empty")
	}
	if parent, ok := got["traceparent"]; ok && len(parent) != 55 {
		return fmt.Errorf("header traceparent is %q", parent)
	}
	return nil
}

// eventHash is the recipe of the guide, step by step.
func eventHash(owner, id string) string {
	h := sha256.New()
	for _, part := range []string{owner, id} {
		h.Write(binary.BigEndian.AppendUint32(nil, uint32(len(part))))
		h.Write([]byte(part))
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

var schemas sync.Map // of name to *jsonschema.Schema

func compiled(name string) (*jsonschema.Schema, error) {
	if s, ok := schemas.Load(name); ok {
		return s.(*jsonschema.Schema), nil
	}
	file := name + ".json"
	raw, err := topics.Files.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("reading schema: %w", err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, fmt.Errorf("reading schema %s: %w", file, err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource(file, doc); err != nil {
		return nil, fmt.Errorf("adding schema %s: %w", file, err)
	}
	s, err := c.Compile(file)
	if err != nil {
		return nil, fmt.Errorf("compiling schema %s: %w", file, err)
	}
	schemas.Store(name, s)
	return s, nil
}
