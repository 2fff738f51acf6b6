package export

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/platform/suggest"
)

// Request is an export as it is asked for.
type Request struct {
	WebsiteID  string
	Kind       string   // empty means events
	Format     string   // one of Formats
	Columns    []string // nil means all
	Start, End time.Time
	Limit      int    // rows; 0 means all
	Cursor     string // to go on after; empty to begin
}

// Query is a checked export.
type Query struct {
	Kind   *Kind
	Format *Format
	// Owner is the website's id.
	Owner string
	// Start and End are the range, End not included.
	Start, End time.Time
	Columns    []Column
	After      *RowKey // nil for the beginning
	Limit      int     // 0 for none

	seal seal
}

// MaxLimit is the largest limit of rows.
const MaxLimit = 1_000_000_000

// NewQuery checks a request. The error is a Validation error with everything that
// is wrong.
func NewQuery(r *Request) (*Query, error) {
	q := &Query{
		Kind: KindOf(r.Kind), Format: FormatOf(r.Format), Owner: r.WebsiteID, Start: r.Start, End: r.End, Limit: r.Limit,
	}
	var problems []apierr.Detail
	wrong := func(field, rule, message, suggestion string) {
		problems = append(problems,
			apierr.Detail{Index: apierr.NoIndex, Field: field, Rule: rule, Message: message, Suggestion: suggestion})
	}
	if q.Format == nil {
		wrong("format", "choice", "format must be one of "+strings.Join(FormatNames(), ", "), "")
	}
	if q.Limit < 0 || q.Limit > MaxLimit {
		wrong("limit", "too_large", "limit must be at most 1000000000", "")
	}
	if q.Kind == nil {
		wrong("kind", "choice", "kind must be one of events, vitals, errors", "")
		return nil, invalid(problems)
	}
	q.Columns = q.Kind.Columns
	if r.Columns != nil {
		q.Columns = make([]Column, 0, len(r.Columns))
	}
	for i, name := range r.Columns {
		c := q.Kind.Column(name)
		if c == nil {
			suggestion := ""
			if meant := suggest.Closest(name, q.Kind.ColumnNames()); meant != "" {
				suggestion = "Did you mean '" + meant + "'?"
			}
			wrong(at("columns", i), "unknown_column", at("columns", i)+" must be a column of "+q.Kind.Name, suggestion)
			continue
		}
		if slices.ContainsFunc(q.Columns, func(other Column) bool { return other.Name == name }) {
			wrong("columns", "repeated", "columns must not have the same item twice", "")
			continue
		}
		q.Columns = append(q.Columns, *c)
	}
	q.seal = newSeal(q.Kind.Name, q.Owner, q.Start, q.End)
	if r.Cursor != "" {
		var ok bool
		if q.After, ok = q.seal.open(r.Cursor); !ok {
			wrong("cursor", "cursor", "cursor must belong to this website, kind and range",
				"Send the cursor of a row unchanged, with the range of its export")
		}
	}
	if err := invalid(problems); err != nil {
		return nil, err
	}
	return q, nil
}

func at(field string, i int) string { return field + "[" + itoa(i) + "]" }

func invalid(problems []apierr.Detail) error {
	if len(problems) == 0 {
		return nil
	}
	message := problems[0].Message
	if s := problems[0].Suggestion; s != "" {
		message += ". " + s
	}
	return &apierr.Error{Code: apierr.Validation, Message: message, Details: problems}
}

// ErrUnavailable says that a source cannot be reached now.
var ErrUnavailable = errors.New("the rows cannot be read now")

// Source reads rows; *query.Exporter is one.
type Source interface {
	// Read calls each with the rows of a query, in the order of the sort key and
	// each once, a block at a time. It stops at the first error of each, and
	// returns it. ErrUnavailable is wrapped by the error of a source that cannot be
	// reached.
	Read(ctx context.Context, q *Query, each func(*Block) error) error
}

// Block is some rows, column by column. Its memory is used again for the next
// one.
type Block struct {
	Rows int
	// Values are in the order of the query's columns.
	Values []Values
	// The rows' positions.
	Days  []uint16
	Names func(row int) []byte
	Keys  []uint64
	// Measured says which numbers were sent; nil where no column asks.
	Measured []uint32
}

// Values are one column of a block: the field that its type needs is set.
type Values struct {
	Text    func(row int) []byte // Text, Object
	Millis  []int64              // Time
	Floats  []float64            // Float64
	Floats4 []float32            // Float32
	Counts  []uint32             // Count
}

// Has reports whether a row has a value in a column that is neither a text nor
// a cursor.
func (b *Block) Has(c *Column, v *Values, row int) bool {
	switch {
	case c.Type == Time:
		return v.Millis[row] != 0
	case c.Bit != 0:
		return b.Measured[row]&(1<<(c.Bit-1)) != 0
	case c.NonZero:
		return v.Counts[row] != 0
	default:
		return true
	}
}

// RowKey returns where a row stands.
func (b *Block) RowKey(row int) *RowKey {
	return &RowKey{Day: b.Days[row], Name: string(b.Names(row)), Key: b.Keys[row]}
}
