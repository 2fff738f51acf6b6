package download

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"
	"github.com/parquet-go/parquet-go/encoding"

	"github.com/millrace/millrace/internal/analytics/export"
)

const (
	// groupBytes is how much of rows, as they are, is gathered into a row group:
	// the memory of a file being written.
	groupBytes = 8 << 20
	// batchBytes is how much is handed to the writer at once: it makes pages between
	// batches.
	batchBytes = 128 << 10
	// pageBytes is how much of a column is gathered into a page.
	pageBytes = 64 << 10
	// dictionaryBytes bounds a column's dictionary in a row group; beyond it the
	// values are written as they are.
	dictionaryBytes = 256 << 10
	// maxGroups bounds a file, whose end says where each of its groups is.
	maxGroups = 512
	// NextCursorKey is the file's metadata that has the cursor to go on with.
	NextCursorKey = "millrace.next_cursor"
)

// errFileTooLong cuts off a file that has too many groups.
var errFileTooLong = errors.New("the Parquet file exceeds its size limit; export it in pages with limit")

// parquetFile writes rows as a Parquet file.
type parquetFile struct {
	w      *parquet.GenericWriter[any]
	q      *export.Query
	rows   []parquet.Row
	values []parquet.Value
	texts  []byte // the cursors of a block
	raw    []byte
	groups int

	// Bytes of the group, about: gathered, and of these written.
	size, written int
}

func newParquet(w io.Writer, q *export.Query) (encoder, error) {
	group := orderedGroup{Group: parquet.Group{}}
	options := []parquet.WriterOption{
		parquet.CreatedBy("millrace", "", ""),
		parquet.Compression(&zstd.Codec{Level: zstd.SpeedFastest, Concurrency: 1}),
		parquet.PageBufferSize(pageBytes), parquet.DictionaryMaxBytes(dictionaryBytes),
	}
	for i := range q.Columns {
		c := &q.Columns[i]
		group.names = append(group.names, c.Name)
		group.Group[c.Name] = parquet.Optional(nodeOf(c))
		if isLong(c) {
			// The least and the largest text of each page would be written with it,
			// whole and not compressed, and kept until the end; see boundless.
			options = append(options, parquet.SkipPageBounds(c.Name), parquet.SkipPageStatistics(c.Name))
		}
	}
	options = append(options, parquet.NewSchema(q.Kind.Name, group))
	return &parquetFile{q: q, w: parquet.NewGenericWriter[any](w, options...)}, nil
}

// nodeOf is the Parquet type of a column.
func nodeOf(c *export.Column) parquet.Node {
	plain := encoding.Encoding(&parquet.Plain)
	switch c.Type {
	case export.Text:
		if !isLong(c) {
			return parquet.Encoded(parquet.String(), &parquet.RLEDictionary)
		}
		fallthrough
	case export.Object, export.Cursor:
		return parquet.Encoded(parquet.Leaf(boundless{parquet.String().Type()}), plain)
	case export.Time:
		return parquet.Encoded(parquet.Timestamp(parquet.Millisecond), &parquet.DeltaBinaryPacked)
	case export.Float64:
		return parquet.Encoded(parquet.Leaf(parquet.DoubleType), plain)
	case export.Float32:
		return parquet.Encoded(parquet.Leaf(parquet.FloatType), plain)
	default: // a count
		return parquet.Encoded(parquet.Int(64), plain)
	}
}

// few are the texts of which there are few different ones, and short ones: they
// are written as dictionaries.
var few = []string{
	"name", "website_id", "type", "namespace", "source", "host", "referrer_kind", "utm_source", "utm_medium",
	"utm_campaign", "click_kind", "browser", "browser_version", "os", "os_version", "device", "country", "region", "city",
	"bot", "bot_kind", "language", "timezone", "screen", "viewport", "connection",
}

// isLong reports whether a column has texts that may be long.
func isLong(c *export.Column) bool {
	return c.Type == export.Object || c.Type == export.Cursor || c.Type == export.Text && !slices.Contains(few, c.Name)
}

func (e *parquetFile) block(b *export.Block) error {
	e.values, e.texts = e.values[:0], e.texts[:0]
	for row := range b.Rows {
		for i := range e.q.Columns {
			e.values = append(e.values, e.value(b, i, row))
		}
		if e.size-e.written >= batchBytes || row == b.Rows-1 {
			if err := e.write(); err != nil {
				return err
			}
		}
	}
	return nil
}

// write writes the values gathered, and ends a group that is large enough.
func (e *parquetFile) write() error {
	columns := len(e.q.Columns)
	e.rows = e.rows[:0]
	for from := 0; from < len(e.values); from += columns {
		e.rows = append(e.rows, parquet.Row(e.values[from:from+columns]))
	}
	if _, err := e.w.WriteRows(e.rows); err != nil {
		return fmt.Errorf("writing %d rows: %w", len(e.rows), err)
	}
	e.values, e.texts, e.written = e.values[:0], e.texts[:0], e.size
	if e.size < groupBytes {
		return nil
	}
	if e.groups++; e.groups >= maxGroups {
		return errFileTooLong
	}
	e.size, e.written = 0, 0
	return e.w.Flush()
}

// valueBytes is what a value takes besides its text.
const valueBytes = 8

func (e *parquetFile) value(b *export.Block, column, row int) parquet.Value {
	c, v := &e.q.Columns[column], &b.Values[column]
	e.size += valueBytes
	value := parquet.NullValue()
	there := 1
	switch {
	case c.Type == export.Text, c.Type == export.Object:
		text := v.Text(row)
		e.size += len(text)
		if len(text) > 0 {
			value = parquet.ByteArrayValue(text)
		}
	case c.Type == export.Cursor:
		from := len(e.texts)
		e.texts, e.raw = e.q.AppendCursor(e.texts, e.raw, b, row)
		e.size += len(e.texts) - from
		value = parquet.ByteArrayValue(e.texts[from:])
	case !b.Has(c, v, row):
	case c.Type == export.Time:
		value = parquet.Int64Value(v.Millis[row])
	case c.Type == export.Float64:
		value = parquet.DoubleValue(v.Floats[row])
	case c.Type == export.Float32:
		value = parquet.FloatValue(v.Floats4[row])
	default:
		value = parquet.Int64Value(int64(v.Counts[row]))
	}
	if value.IsNull() {
		there = 0
	}
	return value.Level(0, there, column)
}

func (e *parquetFile) end(next string) error {
	e.w.SetKeyValueMetadata(NextCursorKey, next)
	return e.w.Close()
}

// orderedGroup is a group whose columns stand in the order asked for, not in that
// of their names.
type orderedGroup struct {
	parquet.Group

	names []string
}

// Fields returns the columns.
func (g orderedGroup) Fields() []parquet.Field {
	byName := map[string]parquet.Field{}
	for _, f := range g.Group.Fields() {
		byName[f.Name()] = f
	}
	fields := make([]parquet.Field, len(g.names))
	for i, name := range g.names {
		fields[i] = byName[name]
	}
	return fields
}

// boundless is a type of texts whose pages are not searched for their bounds. Their
// index must have some all the same, and readers leave out pages by it, so it says
// that every text may be in each.
type boundless struct{ parquet.Type }

// lastText comes after every text that is stored.
var lastText = strings.Repeat("\U0010ffff", 4)

// NewColumnIndexer returns what makes the index.
func (t boundless) NewColumnIndexer(sizeLimit int) parquet.ColumnIndexer {
	return boundlessIndexer{t.Type.NewColumnIndexer(sizeLimit)}
}

type boundlessIndexer struct{ parquet.ColumnIndexer }

// IndexPage takes a page; its bounds are not known.
func (i boundlessIndexer) IndexPage(numValues, numNulls int64, _, _ parquet.Value) {
	i.ColumnIndexer.IndexPage(numValues, numNulls, parquet.ByteArrayValue(nil), parquet.ByteArrayValue([]byte(lastText)))
}
