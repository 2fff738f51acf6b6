package deadletter

import (
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/contract/record"
)

func TestTheOrderOfMarksDecidesWhoSends(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		marks, want string
	}{
		"none":                          {"", "/open"},
		"one":                           {"a sending", "a/sending"},
		"sent":                          {"a sending, a replayed", "a/replayed"},
		"the first of two":              {"a sending, b sending", "a/sending"},
		"too late":                      {"a sending, a replayed, b sending", "a/replayed"},
		"again":                         {"a sending, a replayed, b sending a/replayed", "b/sending"},
		"after one that died":           {"a sending, b sending a/sending, c sending a/sending", "b/sending"},
		"parked":                        {"a parked, b sending a/parked, b replayed, c parked", "c/parked"},
		"what compaction has left":      {"b sending a/replayed", "b/sending"},
		"a late mark of one that died":  {"a sending, b sending a/sending, a replayed", "a/replayed"},
		"parked by somebody since then": {"a sending, a replayed, b parked, c sending a/replayed", "b/parked"},
	} {
		m := marks{}
		for range 2 { // a second time changes nothing
			for mark := range strings.SplitSeq(tt.marks, ", ") {
				if parts := strings.Fields(mark + " "); len(parts) > 1 {
					r := markRecord("id", Mark{Run: parts[0], State: State(parts[1]), After: strings.Join(parts[2:], "")}, noon)
					if err := m.read(&r, record.Position{}); err != nil {
						t.Fatal(err)
					}
				}
			}
			if got := m["id"].Run + "/" + string(m.stateOf("id")); got != tt.want {
				t.Errorf("%s: %s, want %s", name, got, tt.want)
			}
		}
	}
}

func TestAMarkThatIsNotUnderstoodIsAnError(t *testing.T) {
	t.Parallel()
	for _, value := range []string{"no json", `{"v":2,"state":"parked"}`, `{"v":1,"state":"lost"}`} {
		if err := (marks{}).read(&record.Record{Key: []byte("id"), Value: []byte(value)}, record.Position{}); err == nil {
			t.Errorf("%s is accepted", value)
		}
	}
	m := marks{"id": {}}
	if err := m.read(&record.Record{Key: []byte("id")}, record.Position{}); err != nil || len(m) > 0 {
		t.Errorf("after a tombstone %v is left, %v", m, err)
	}
}
