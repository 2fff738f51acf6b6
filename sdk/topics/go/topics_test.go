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

func goldenRecords(t *testing.T) map[string]goldenRecord {
	t.Helper()
	files, err := filepath.Glob("../../../internal/record/testdata/golden/events.v1/*.json")
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
func roundTrip(t *testing.T, value []byte) (EventsV1, []byte) {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(value))
	dec.DisallowUnknownFields()
	var e EventsV1
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
	for name, g := range goldenRecords(t) {
		if _, got := roundTrip(t, g.Value); !bytes.Equal(got, g.Value) {
			t.Errorf("%s:\n got %s\nwant %s", name, got, g.Value)
		}
	}
}

func TestEveryFieldPassesThroughUnchanged(t *testing.T) {
	t.Parallel()
	const value = `{"v":1,"id":"i","idGenerated":true,"organization":"o","website":"w","owner":"w","type":"custom","name":"<&>",` +
		`"ts":946684800000,"rawTs":8640000000000000,"receivedAt":946684800002,"anonymousId":"a","profileId":"p","sessionId":"s",` +
		`"path":"/","namespace":"ns","source":"src","properties":{"k":[1.50,12345678901234567890]}}`
	e, got := roundTrip(t, []byte(value))
	if string(got) != value {
		t.Errorf("\n got %s\nwant %s", got, value)
	}
	if e.RawTS != 8640000000000000 || !e.IDGenerated || e.ProfileID != "p" {
		t.Errorf("decoded %+v", e)
	}
}

func TestTheIdentityIsThatOfTheHeader(t *testing.T) {
	t.Parallel()
	for name, g := range goldenRecords(t) {
		e, _ := roundTrip(t, g.Value)
		for _, h := range g.Headers {
			if h[0] == HeaderEID && h[1] != EID(e.Owner, e.ID) {
				t.Errorf("%s: EID() = %s, the header says %s", name, EID(e.Owner, e.ID), h[1])
			}
		}
	}
}
