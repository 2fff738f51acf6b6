package record_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/contract/record/recordtest"
)

const (
	minimalValue = `{"v":1,"id":"i","organization":"o","website":"w","owner":"w","type":"custom","name":"n","ts":946684800000,"receivedAt":946684800000}`
	fullValue    = `{"v":1,"id":"i","idGenerated":true,"organization":"o","website":"w","owner":"w","type":"custom","name":"n",` +
		`"ts":946684800000,"rawTs":946684800001,"receivedAt":946684800002,"anonymousId":"a","profileId":"p","sessionId":"s",` +
		`"path":"/","namespace":"ns","source":"src","properties":{"k":[1.50]}}`
)

func TestDecodeEventReadsEveryField(t *testing.T) {
	t.Parallel()
	var d record.Decoder
	var got record.Event
	if err := d.DecodeEvent([]byte(fullValue), &got); err != nil {
		t.Fatal(err)
	}
	want := record.Event{
		Version: 1, ID: []byte("i"), IDGenerated: true, Organization: []byte("o"), Website: []byte("w"), Owner: []byte("w"),
		Type: []byte("custom"), Name: []byte("n"), TimeMillis: 946684800000, RawMillis: 946684800001, HasRaw: true,
		ReceivedAt: 946684800002, AnonymousID: []byte("a"), ProfileID: []byte("p"), SessionID: []byte("s"), Path: []byte("/"),
		Namespace: []byte("ns"), Source: []byte("src"), Properties: []byte(`{"k":[1.50]}`),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if again := string(record.AppendEvent(nil, &got)); again != fullValue {
		t.Errorf("AppendEvent = %s, want %s", again, fullValue)
	}
	if err := d.DecodeEvent([]byte(minimalValue), &got); err != nil {
		t.Fatal(err)
	}
	if again := string(record.AppendEvent(nil, &got)); again != minimalValue {
		t.Errorf("a field of the last event is left: %s", again)
	}
}

func TestDecodeEventPassesOverWhatANewerWriterAdds(t *testing.T) {
	t.Parallel()
	value := strings.Replace(minimalValue, `"v":1`, `"v":2,"added":{"id":"x","list":[null,1]}`, 1)
	value = strings.Replace(value, `"receivedAt"`, `"country":"CH","receivedAt"`, 1)
	var d record.Decoder
	var e record.Event
	if err := d.DecodeEvent([]byte(value), &e); err != nil {
		t.Fatal(err)
	}
	if e.Version != 2 || string(e.ID) != "i" || e.ReceivedAt != 946684800000 {
		t.Errorf("got %+v", e)
	}
}

func TestDecodeEventReadsAnyOrderAndWhiteSpace(t *testing.T) {
	t.Parallel()
	value := ` { "properties" : { "k" : 1 } , "receivedAt":2 , "ts":1,"name":"n","type":"custom","owner":"o","organization":"o","id":"i","v":1}` + "\n"
	var d record.Decoder
	var e record.Event
	if err := d.DecodeEvent([]byte(value), &e); err != nil {
		t.Fatal(err)
	}
	if string(e.Owner) != "o" || e.TimeMillis != 1 || string(e.Properties) != `{ "k" : 1 }` {
		t.Errorf("got %+v", e)
	}
}

func TestDecodeEventSaysWhichFieldIsWrong(t *testing.T) {
	t.Parallel()
	replace := func(old, by string) string { return strings.Replace(fullValue, old, by, 1) }
	type row struct{ name, value, field string }
	rows := []row{
		{"nothing", ``, ""},
		{"an array", `[]`, ""},
		{"null", `null`, ""},
		{"cut off", fullValue[:len(fullValue)-1], ""},
		{"more behind", minimalValue + `{}`, ""},
		{"a bad escape", replace(`"n"`, `"\x"`), "name"},
		{"invalid UTF-8", replace(`"n"`, "\"\xff\""), "name"},
		{"twice", replace(`"id":"i"`, `"id":"i","id":"i"`), "id"},
		{"a foreign owner", replace(`"owner":"w"`, `"owner":"o"`), "owner"},
		{"revision 0", replace(`"v":1`, `"v":0`), "v"},
		{"a float", replace(`"ts":946684800000`, `"ts":946684800000.5`), "ts"},
		{"an exponent", replace(`"ts":946684800000`, `"ts":9e11`), "ts"},
		{"17 digits", replace(`"ts":946684800000`, `"ts":94668480000000000`), "ts"},
		{"a leading zero", replace(`"ts":946684800000`, `"ts":0946684800000`), "ts"},
		{"a negative time", replace(`"rawTs":`, `"rawTs":-`), "rawTs"},
		{"a text for a boolean", replace(`"idGenerated":true`, `"idGenerated":"true"`), "idGenerated"},
		{"a list of properties", replace(`{"k":[1.50]}`, `[]`), "properties"},
		{"bad properties", replace(`{"k":[1.50]}`, `{"k":01}`), "properties"},
	}
	for field, text := range map[string]string{
		"id": "i", "organization": "o", "owner": "w", "type": "custom", "name": "n",
	} {
		rows = append(rows,
			row{"no " + field, replace(`"`+field+`":"`+text+`",`, ""), field},
			row{"empty " + field, replace(`"`+field+`":"`+text+`"`, `"`+field+`":""`), field},
			row{"null " + field, replace(`"`+field+`":"`+text+`"`, `"`+field+`":null`), field},
			row{"number " + field, replace(`"`+field+`":"`+text+`"`, `"`+field+`":1`), field})
	}
	for field, text := range map[string]string{"v": "1", "ts": "946684800000", "receivedAt": "946684800002"} {
		rows = append(rows,
			row{"no " + field, replace(`"`+field+`":`+text+`,`, ""), field},
			row{"text " + field, replace(`"`+field+`":`+text, `"`+field+`":"`+text+`"`), field})
	}
	for _, tc := range rows {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var d record.Decoder
			var e record.Event
			err := d.DecodeEvent([]byte(tc.value), &e)
			bad, ok := errors.AsType[*record.DecodeError](err)
			if !ok || bad.Field != tc.field {
				t.Errorf("DecodeEvent(%s) = %v, want a DecodeError of field %q", tc.value, err, tc.field)
			}
		})
	}
}

// FuzzEventSurvivesEncoding writes an event of arbitrary strings and wants
// encoding/json and DecodeEvent to read it back.
func FuzzEventSurvivesEncoding(f *testing.F) {
	f.Add("id", "name", "path", int64(1), int64(2), true)
	f.Add("\x00\x1f\"\\/\b\f\n\r\t\u2028\u007f", "é😀<&>", "0123456\"", int64(0), int64(9999999999999999), false)
	var d record.Decoder
	f.Fuzz(func(t *testing.T, id, name, path string, ts, raw int64, hasRaw bool) {
		for _, s := range []string{id, name, path} {
			if !utf8.ValidString(s) || s == "" {
				return
			}
		}
		if ts < 0 || ts > 9999999999999999 || raw < 0 || raw > 9999999999999999 {
			return
		}
		in := record.Event{
			ID: []byte(id), IDGenerated: hasRaw, Organization: []byte(name), Website: []byte(id), Owner: []byte(id),
			Type: []byte(path), Name: []byte(name), TimeMillis: ts, RawMillis: raw, HasRaw: hasRaw, ReceivedAt: raw,
			Path: []byte(path), Properties: []byte(`{}`),
		}
		value := record.AppendEvent(nil, &in)
		if !json.Valid(value) {
			t.Fatalf("not JSON: %q", value)
		}
		var out record.Event
		if err := d.DecodeEvent(value, &out); err != nil {
			t.Fatalf("%v: %q", err, value)
		}
		sameFields(t, "value", &out, value)
		if string(out.ID) != id || string(out.Path) != path || out.TimeMillis != ts {
			t.Fatalf("%+v became %+v", in, out)
		}
	})
}

// FuzzDecodeEvent wants whatever is accepted to be what encoding/json reads.
func FuzzDecodeEvent(f *testing.F) {
	f.Add([]byte(minimalValue))
	f.Add([]byte(fullValue))
	var d record.Decoder
	f.Fuzz(func(t *testing.T, value []byte) {
		var e record.Event
		if d.DecodeEvent(value, &e) != nil {
			return
		}
		if !json.Valid(value) {
			t.Fatalf("accepted %q", value)
		}
		sameFields(t, "value", &e, value)
	})
}

func TestProducedValuesAreCheckedAgainstTheSchema(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{
		strings.Replace(fullValue, `"name":"n",`, "", 1),
		strings.Replace(fullValue, `"ts":946684800000`, `"ts":946684799999`, 1),
		strings.Replace(fullValue, `"n"`, `"`+strings.Repeat("é", 257)+`"`, 1), strings.Replace(fullValue, `"n"`, ` "n"`, 1),
	} {
		if recordtest.CheckValue(record.TopicEvents, []byte(bad)) == nil {
			t.Errorf("the schema lets pass %s", bad)
		}
	}
	if err := recordtest.CheckValue(record.TopicEvents, []byte(fullValue)); err != nil {
		t.Error(err)
	}
}
