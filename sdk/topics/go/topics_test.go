package topics

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// goldenRecord is a record that stands for the contract.
type goldenRecord struct {
	Headers [][2]string     `json:"headers"`
	Value   json.RawMessage `json:"value"`
}

func goldenRecords(t *testing.T, topic string) map[string]goldenRecord {
	t.Helper()
	files, err := filepath.Glob("../../../internal/contract/record/testdata/golden/" + topic + "/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("found %d golden records, %v", len(files), err)
	}
	all := map[string]goldenRecord{}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var g goldenRecord
		if err := json.Unmarshal(raw, &g); err != nil {
			t.Fatal(err)
		}
		all[filepath.Base(file)] = g
	}
	return all
}

// roundTrip decodes a value, whose fields must all be known, and encodes it.
func roundTrip[T any](t *testing.T, value []byte) (T, []byte) {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(value))
	dec.DisallowUnknownFields()
	var e T
	if err := dec.Decode(&e); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(e); err != nil {
		t.Fatal(err)
	}
	return e, bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}

func TestGoldenRecordsPassThroughUnchanged(t *testing.T) {
	t.Parallel()
	passThrough[EventsV1](t, TopicEventsV1)
	passThrough[VitalsV1](t, TopicVitalsV1)
	passThrough[ErrorsV1](t, TopicErrorsV1)
	passThrough[IdentitiesV1](t, TopicIdentitiesV1)
	passThrough[IngestionV1](t, TopicIngestionV1)
	passThrough[ClicksV1](t, TopicClicksV1)
	passThrough[ExposuresV1](t, TopicExposuresV1)
}

func passThrough[T any](t *testing.T, topic string) {
	t.Helper()
	for name, g := range goldenRecords(t, topic) {
		if _, got := roundTrip[T](t, g.Value); !bytes.Equal(got, g.Value) {
			t.Errorf("%s/%s:\n got %s\nwant %s", topic, name, got, g.Value)
		}
	}
}

func TestEveryFieldPassesThroughUnchanged(t *testing.T) {
	t.Parallel()
	const value = `{"v":1,"id":"i","idGenerated":true,"organization":"o","website":"w","owner":"w","type":"custom","name":"<&>",` +
		`"ts":946684800000,"rawTs":8640000000000000,"receivedAt":946684800002,"anonymousId":"a","profileId":"p","sessionId":"s",` +
		`"path":"/","namespace":"ns","source":"src","properties":{"k":[1.50,12345678901234567890]}}`
	e, got := roundTrip[EventsV1](t, []byte(value))
	if string(got) != value {
		t.Errorf("\n got %s\nwant %s", got, value)
	}
	if e.RawTS != 8640000000000000 || !e.IDGenerated || e.ProfileID != "p" {
		t.Errorf("decoded %+v", e)
	}
}

func TestTheIdentityIsThatOfTheHeader(t *testing.T) {
	t.Parallel()
	for name, g := range goldenRecords(t, TopicEventsV1) {
		e, _ := roundTrip[EventsV1](t, g.Value)
		for _, h := range g.Headers {
			if h[0] == HeaderEID && h[1] != EID(e.Owner, e.ID) {
				t.Errorf("%s: EID() = %s, the header says %s", name, EID(e.Owner, e.ID), h[1])
			}
		}
	}
}
