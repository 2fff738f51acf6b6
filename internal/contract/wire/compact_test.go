package wire_test

import (
	"encoding/json"
	"testing"

	"github.com/millrace/millrace/internal/contract/wire"
)

func TestCompactJSONHasEachCharacterOnce(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		is   any
		want string
	}{
		{"<b>&amp;</b>\n", `"<b>&amp;</b>\n"`},
		{map[string]any{"b": json.RawMessage(`[ 1, "<" ]`), "a": json.Number("1.10")}, `{"a":1.10,"b":[1,"<"]}`},
		{nil, "null"},
	} {
		if got, err := wire.CompactJSON(tc.is); err != nil || string(got) != tc.want {
			t.Errorf("%v: %s, %v, want %s", tc.is, got, err, tc.want)
		}
	}
	if got, err := wire.CompactJSON(func() {}); err == nil {
		t.Errorf("a function is %s", got)
	}
}
