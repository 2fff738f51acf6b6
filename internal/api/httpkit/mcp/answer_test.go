package mcp

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// rows is an answer with rows of a size.
func rows(number, size int) *Answer {
	all := make([]string, number)
	for i := range all {
		all[i] = strings.Repeat(`"`, size) // takes twice the size in JSON, and four times as text in it
	}
	return &Answer{Rows: func(n int) Page {
		if n < len(all) {
			return Page{Data: all[:n], Count: n, Truncated: true, Next: strconv.Itoa(n)}
		}
		return Page{Data: all, Count: len(all)}
	}}
}

func size(t *testing.T, r *mcp.CallToolResult) int {
	t.Helper()
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	return len(text)
}

func TestAnswer_IsCutAtItsLargestSize(t *testing.T) {
	t.Parallel()
	for _, rowBytes := range []int{1, 10, 100, 1000, 9000} {
		r, err := rows(900, rowBytes).result()
		if err != nil {
			t.Fatal(err)
		}
		var got body
		if err := json.Unmarshal(r.StructuredContent.(json.RawMessage), &got); err != nil {
			t.Fatal(err)
		}
		n := size(t, r)
		if n > MaxAnswer {
			t.Errorf("rows of %d: %d bytes", rowBytes, n)
		}
		if got.Meta.Truncated && n+8*rowBytes+16 < MaxAnswer-resultBytes {
			t.Errorf("rows of %d: %d bytes, and another row would fit", rowBytes, n)
		}
		if got.Meta.Truncated != (got.Meta.NextCursor != "") || *got.Meta.RowCount != len(got.Data.([]any)) {
			t.Errorf("rows of %d: %+v", rowBytes, got.Meta)
		}
	}
	if _, err := rows(2, MaxAnswer).result(); err == nil {
		t.Error("a row that does not fit: no error")
	}
}

func TestAnswer_OmitsLargeMembersOfARecord(t *testing.T) {
	t.Parallel()
	record, _ := json.Marshal(map[string]string{"id": "x", "rules": strings.Repeat("r", 40_000), "name": strings.Repeat("n", 9000)})
	a := &Answer{Record: record}
	r, err := a.result()
	if err != nil {
		t.Fatal(err)
	}
	text := string(r.StructuredContent.(json.RawMessage))
	if size(t, r) > MaxAnswer || !strings.Contains(text, `"omitted":["rules"]`) || !strings.Contains(text, `"id":"x"`) {
		t.Errorf("%.200s", text)
	}
}
