package query

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/ch-go/proto"

	"github.com/millrace/millrace/internal/adapter/clickhouse"
	"github.com/millrace/millrace/internal/analytics/export"
	"github.com/millrace/millrace/internal/platform/config"
)

// Of reading rows for an export.
const (
	// exportRows is how many rows a block has at most. A row has up to about
	// 50 KiB, so this bounds the memory of an export on both sides.
	exportRows = 256
	// exportThreads is how many threads of the server one export may take.
	exportThreads = 2
	// exportMemory is what one may use on the server.
	exportMemory = 2 << 30
)

// Exporter reads rows for exports. It implements export.Source. Connections are
// made when they are needed, one for each export.
type Exporter struct{ conns *clickhouse.Pool }

// NewExporter returns an Exporter that reads from the servers of cfg. It connects
// to nothing; Close ends it.
func NewExporter(cfg config.ClickHouse) *Exporter { return &Exporter{clickhouse.NewPool(cfg)} }

// Close closes the connections that are not in use.
func (x *Exporter) Close() error { return x.conns.Close() }

// Read implements export.Source. The server reads on only as fast as each takes
// the rows.
func (x *Exporter) Read(ctx context.Context, q *export.Query, each func(*export.Block) error) error {
	var rejected error // by each
	err := x.conns.Use(ctx, func(c *clickhouse.Client) error {
		r := newExportResult(q)
		err := c.Do(ctx, ch.Query{
			Body: exportSQL(q), Parameters: exportParameters(q), Settings: exportSettings(ctx), Result: r.results,
			OnResult: func(context.Context, proto.Block) error {
				rejected = each(r.block())
				return rejected
			},
		})
		if rejected != nil {
			return rejected
		}
		return err
	})
	switch {
	case err == nil:
		return nil
	case rejected != nil:
		return rejected
	case ctx.Err() == nil && silent(err):
		err = errors.Join(export.ErrUnavailable, err)
	}
	return fmt.Errorf("reading %s: %w", q.Kind.Name, err)
}

// exportSQL is the text of an export. It depends on the kind, the columns and on
// whether there is a cursor; the values are parameters.
//
// The order is the table's sort key, so that nothing is sorted: FINAL merges the
// parts, and rows leave as they are met. After a cursor the primary key leaves
// out what lies before it.
func exportSQL(q *export.Query) string {
	var b strings.Builder
	b.WriteString(
		"SELECT\n    toUInt16(e.event_date) AS day,\n    CAST(e.name, 'String') AS position,\n    e.event_key AS key")
	if hasMeasured(q) {
		b.WriteString(",\n    e.measured AS measured")
	}
	for i := range q.Columns {
		if expr := exportExpr(&q.Columns[i]); expr != "" {
			fmt.Fprintf(&b, ",\n    %s AS c%d", expr, i)
		}
	}
	b.WriteString("\nFROM " + q.Kind.Name + ` AS e FINAL
WHERE e.owner_id = {owner:String}
  AND e.event_date BETWEEN {from:Date} AND {to:Date}
  AND e.event_time >= {start:DateTime64(3, 'UTC')} AND e.event_time < {end:DateTime64(3, 'UTC')}`)
	if q.After != nil {
		b.WriteString(`
  AND e.event_date >= {after_day:Date}
  AND (e.event_date > {after_day:Date} OR e.name > {after_name:String} OR (e.name = {after_name:String} AND e.event_key > {after_key:UInt64}))`)
	}
	b.WriteString("\nORDER BY e.owner_id, e.event_date, e.name, e.event_key")
	if q.Limit > 0 {
		b.WriteString("\nLIMIT {limit:UInt64}")
	}
	return b.String()
}

// exportExpr reads a column in the type that its block has; "" for a cursor,
// which is made of the position.
func exportExpr(c *export.Column) string {
	switch c.Type {
	case export.Text, export.Object:
		return "CAST(e." + c.Name + ", 'String')"
	case export.Time:
		return "toUnixTimestamp64Milli(e." + c.Name + ")"
	case export.Cursor:
		return ""
	default:
		return "e." + c.Name
	}
}

func hasMeasured(q *export.Query) bool {
	for i := range q.Columns {
		if q.Columns[i].Bit != 0 {
			return true
		}
	}
	return false
}

func exportParameters(q *export.Query) []proto.Parameter {
	const instant = "2006-01-02 15:04:05.000"
	utc := func(t time.Time, layout string) string { return t.UTC().Format(layout) }
	all := []proto.Parameter{
		clickhouse.StringParameter("owner", q.Owner),
		clickhouse.StringParameter("from", utc(q.Start, time.DateOnly)),
		clickhouse.StringParameter("to", utc(q.End.Add(-time.Millisecond), time.DateOnly)),
		clickhouse.StringParameter("start", utc(q.Start, instant)), clickhouse.StringParameter("end", utc(q.End, instant)),
	}
	if p := q.After; p != nil {
		day := time.Unix(int64(p.Day)*24*60*60, 0)
		all = append(all, clickhouse.StringParameter("after_day", utc(day, time.DateOnly)),
			clickhouse.StringParameter("after_name", p.Name),
			clickhouse.StringParameter("after_key", strconv.FormatUint(p.Key, 10)))
	}
	if q.Limit > 0 {
		all = append(all, clickhouse.StringParameter("limit", strconv.Itoa(q.Limit)))
	}
	return all
}

// exportSettings bound an export on the server.
func exportSettings(ctx context.Context) []ch.Setting {
	number := func(key string, value int64) ch.Setting {
		return ch.Setting{Key: key, Value: strconv.FormatInt(value, 10), Important: true}
	}
	settings := []ch.Setting{
		number("readonly", 2), number("max_block_size", exportRows), number("max_threads", exportThreads),
		number("max_memory_usage", exportMemory),
		number("optimize_read_in_order", 1), number("max_result_rows", 0), number("max_result_bytes", 0),
		{Key: "timeout_overflow_mode", Value: "throw", Important: true},
	}
	if deadline, ok := ctx.Deadline(); ok {
		// A caller that reads slowly holds the server up, which is no failure.
		left := int64(max(time.Until(deadline), 0)/time.Second) + 1
		settings = append(settings, number("max_execution_time", left), number("send_timeout", left))
	}
	return settings
}

// exportResult is the memory of an export's blocks.
type exportResult struct {
	results  proto.Results
	query    *export.Query
	days     proto.ColUInt16
	names    proto.ColStr
	keys     proto.ColUInt64
	measured proto.ColUInt32
	columns  []proto.ColResult // by the query's columns; nil for a cursor
	out      export.Block
}

func newExportResult(q *export.Query) *exportResult {
	r := &exportResult{query: q, columns: make([]proto.ColResult, len(q.Columns))}
	r.results = proto.Results{
		{Name: "day", Data: &r.days}, {Name: "position", Data: &r.names}, {Name: "key", Data: &r.keys},
	}
	if hasMeasured(q) {
		r.results = append(r.results, proto.ResultColumn{Name: "measured", Data: &r.measured})
	}
	for i := range q.Columns {
		switch q.Columns[i].Type {
		case export.Text, export.Object:
			r.columns[i] = new(proto.ColStr)
		case export.Time:
			r.columns[i] = new(proto.ColInt64)
		case export.Float64:
			r.columns[i] = new(proto.ColFloat64)
		case export.Float32:
			r.columns[i] = new(proto.ColFloat32)
		case export.Count:
			r.columns[i] = new(proto.ColUInt32)
		case export.Cursor:
			continue
		}
		r.results = append(r.results, proto.ResultColumn{Name: "c" + strconv.Itoa(i), Data: r.columns[i]})
	}
	r.out = export.Block{Values: make([]export.Values, len(q.Columns))}
	return r
}

// block returns what the last block holds, without copying it.
func (r *exportResult) block() *export.Block {
	r.out.Rows = r.days.Rows()
	r.out.Days, r.out.Names, r.out.Keys, r.out.Measured = r.days, r.names.RowBytes, r.keys, r.measured
	for i, c := range r.columns {
		v := &r.out.Values[i]
		switch c := c.(type) {
		case *proto.ColStr:
			v.Text = c.RowBytes
		case *proto.ColInt64:
			v.Millis = *c
		case *proto.ColFloat64:
			v.Floats = *c
		case *proto.ColFloat32:
			v.Floats4 = *c
		case *proto.ColUInt32:
			v.Counts = *c
		}
	}
	return &r.out
}
