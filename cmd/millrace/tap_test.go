package main

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/adapter/kafka"
	"github.com/millrace/millrace/internal/contract/record"
)

func tapped(value string) *kafka.Tapped {
	return &kafka.Tapped{
		Record: record.Record{
			Topic: record.TopicEvents, Key: []byte("web_1"), Value: []byte(value), Time: time.UnixMilli(1_700_000_000_123),
			Headers: []record.Header{
				{Key: record.HeaderType, Value: []byte("custom")}, {Key: record.HeaderWebsite, Value: []byte("web_1")},
			},
		},
		Position: record.Position{Topic: record.TopicEvents, Partition: 3, Offset: 17},
	}
}

func TestARecordIsOneReadableLine(t *testing.T) {
	t.Parallel()
	const head = "2023-11-14T22:13:20.123Z  3/17  web_1  custom  "
	for value, want := range map[string]string{
		`{"name":"signup","path":"/a","properties":{"plan": "pro"}}`: `signup  /a  {"plan":"pro"}`,
		`{"name":"signup"}`:       `signup`,
		`{"reason": "too\nlong"}`: `{"reason":"too\nlong"}`,
		"no JSON\nand two lines":  "no JSON and two lines",
		"":                        "",
	} {
		if got := readable(tapped(value)); got != head+want {
			t.Errorf("readable(%q) =\n%s\nwant\n%s", value, got, head+want)
		}
	}
}

func TestTapShowsWhatWasAskedFor(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		flags tapFlags
		want  bool
	}{
		{tapFlags{}, true},
		{tapFlags{website: "web_1"}, true},
		{tapFlags{website: "web_2"}, false},
		{tapFlags{kind: "custom"}, true},
		{tapFlags{kind: "vitals"}, false},
		{tapFlags{website: "web_1", kind: "vitals"}, false},
	} {
		if got := tt.flags.wants(tapped("{}")); got != tt.want {
			t.Errorf("%+v: %t, want %t", tt.flags, got, tt.want)
		}
	}
	var out strings.Builder
	raw := tapFlags{raw: true}
	if err := raw.print(&out, tapped(`{"a": 1}`)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("{\"a\": 1}\n", out.String()); diff != "" {
		t.Errorf("--json (-want +got):\n%s", diff)
	}
}
