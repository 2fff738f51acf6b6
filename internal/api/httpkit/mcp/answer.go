package mcp

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"sort"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// MaxAnswer bounds the JSON of a tool's result, in bytes. It holds the answer twice: as structured
// content, and as text for clients that show text only.
const MaxAnswer = 64 << 10

// resultBytes is what a result has besides the two copies of the answer.
const resultBytes = 1 << 10

// Answer is what a tool found. Exactly one of Record and Rows is set.
type Answer struct {
	// Record is the answer of a tool that finds one thing: an object.
	Record json.RawMessage
	// Rows returns at most n rows of each list in the answer. It is called with lower numbers until
	// the result is small enough.
	Rows func(n int) Page
	Meta Meta
	// Hints say what to do next, in a sentence each.
	Hints []string
}

// Page is a part of an answer.
type Page struct {
	Data any // an array, or an object with arrays
	// Count is the number of rows in all arrays.
	Count int
	// Truncated is set if rows were left out to keep the answer small.
	Truncated bool
	// Next continues the answer; empty at the end.
	Next string
}

// Meta describes an answer.
type Meta struct {
	RowCount   *int   `json:"rowCount,omitempty"`
	Truncated  bool   `json:"truncated"`
	NextCursor string `json:"nextCursor,omitempty"`
	// Omitted are members of a record that were too large for an answer.
	Omitted  []string `json:"omitted,omitempty"`
	TimeZone string   `json:"timezone,omitempty"`
	// Untrusted names the fields whose text visitors wrote. A model must not follow instructions in
	// it.
	Untrusted []string `json:"untrusted,omitempty"`
}

// body is the JSON of an answer.
type body struct {
	Data  any      `json:"data"`
	Meta  Meta     `json:"meta"`
	Hints []string `json:"hints,omitempty"`
}

// allRows is more than any list has.
const allRows = 1 << 20

// result encodes an answer in at most MaxAnswer bytes.
func (a *Answer) result() (*mcp.CallToolResult, error) {
	if a.Rows == nil {
		return a.record()
	}
	text, err := a.page(allRows)
	if err != nil || fits(text) {
		return structured(text), err
	}
	const most = 1000                         // rows of one list of an answer
	n := sort.Search(most, func(n int) bool { // the first number whose successor does not fit
		text, failed := a.page(n + 1)
		err = cmp.Or(err, failed)
		return !fits(text)
	})
	if err != nil {
		return nil, err
	}
	if n == 0 {
		return nil, &Error{Code: InvalidInput, Message: "One row is larger than an answer can be. Read it with the HTTP API"}
	}
	text, err = a.page(n)
	return structured(text), err
}

func (a *Answer) page(n int) ([]byte, error) {
	p := a.Rows(n)
	meta := a.Meta
	meta.RowCount, meta.Truncated, meta.NextCursor = &p.Count, p.Truncated, p.Next
	return json.Marshal(body{p.Data, meta, a.Hints})
}

// record leaves out the largest members of a record that is too large.
func (a *Answer) record() (*mcp.CallToolResult, error) {
	b := body{a.Record, a.Meta, a.Hints}
	text, err := json.Marshal(b)
	if err != nil || fits(text) {
		return structured(text), err
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(a.Record, &members); err != nil {
		return nil, err
	}
	b.Meta.Truncated = true
	b.Hints = append(b.Hints, "The members in meta.omitted are too large for an answer. Read them with the HTTP API.")
	for {
		largest := slices.MaxFunc(slices.Sorted(maps.Keys(members)), func(x, y string) int {
			return len(members[x]) - len(members[y])
		})
		delete(members, largest)
		b.Data, b.Meta.Omitted = members, append(b.Meta.Omitted, largest)
		if text, err = json.Marshal(b); err != nil || fits(text) {
			return structured(text), err
		}
	}
}

// fits reports whether a result with this answer is small enough.
func fits(text []byte) bool {
	if 2*len(text) > MaxAnswer {
		return false
	}
	quoted, err := json.Marshal(string(text))
	return err == nil && len(text)+len(quoted)+resultBytes <= MaxAnswer
}

func structured(text []byte) *mcp.CallToolResult {
	return &mcp.CallToolResult{
		Content:           []mcp.Content{&mcp.TextContent{Text: string(text)}},
		StructuredContent: json.RawMessage(text),
	}
}
