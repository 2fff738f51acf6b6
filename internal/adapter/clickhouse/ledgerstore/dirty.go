package ledgerstore

import (
	"context"
	"fmt"
	"time"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/ch-go/proto"

	"github.com/millrace/millrace/internal/adapter/clickhouse"
	"github.com/millrace/millrace/internal/adapter/clickhouse/schema"
	"github.com/millrace/millrace/internal/pipeline/ledger"
)

// daysPerInsert bounds one block of the list.
const daysPerInsert = 100_000

// List implements ledger.Store and repair.Store.
func (s *Store) List(ctx context.Context, days []ledger.Listed) error {
	return s.writeDays(ctx, days, 0)
}

// Clear implements ledger.Store and repair.Rollups.
func (s *Store) Clear(ctx context.Context, days []ledger.Touched) error {
	listed := make([]ledger.Listed, len(days))
	for i, d := range days {
		listed[i].Touched = d
	}
	return s.writeDays(ctx, listed, 1)
}

func (s *Store) writeDays(ctx context.Context, days []ledger.Listed, cleared uint8) error {
	for len(days) > 0 {
		n := min(len(days), daysPerInsert)
		if err := s.Insert(ctx, schema.RollupDirty.Name, "", dayColumns(days[:n], cleared)); err != nil {
			return fmt.Errorf("writing %d days to the list of dirty days: %w", n, err)
		}
		days = days[n:]
	}
	return nil
}

func dayColumns(days []ledger.Listed, cleared uint8) proto.Input {
	owners, reasons := new(proto.ColStr).LowCardinality(), new(proto.ColStr).LowCardinality()
	var dates proto.ColDate
	var base, quarters, sums proto.ColUInt64
	var done proto.ColUInt8
	for i := range days {
		d := &days[i]
		owners.Append(d.Owner)
		dates = append(dates, proto.Date(d.Day))
		reasons.Append(string(d.Reason))
		base.Append(d.Base)
		quarters.Append(d.Quarters)
		sums.Append(d.Days)
		done.Append(cleared)
	}
	return proto.Input{
		{Name: "owner_id", Data: owners},
		{Name: "event_date", Data: dates},
		{Name: "reason", Data: reasons},
		{Name: "base", Data: base},
		{Name: "rollup_15m", Data: quarters},
		{Name: "rollup_1d", Data: sums},
		{Name: "cleared", Data: done},
	}
}

// Dirty implements ledger.Store.
func (s *Store) Dirty(ctx context.Context) (int, error) {
	var n proto.ColUInt64
	err := s.Read(ctx, schema.RollupDirty.Name,
		ch.Query{Body: "SELECT count() AS n " + schema.FromDirtyDays, Result: proto.Results{{Name: "n", Data: &n}}})
	if err != nil {
		return 0, fmt.Errorf("counting dirty days: %w", err)
	}
	if n.Rows() != 1 {
		return 0, clickhouse.ErrOneRow
	}
	return int(n[0]), nil
}

// Found implements ledger.Store.
func (s *Store) Found(ctx context.Context, limit int) ([]ledger.Touched, error) {
	var days []ledger.Touched
	err := s.listed(ctx, ch.Query{
		Body: "SELECT owner_id, event_date, reason, base, rollup_15m, rollup_1d, found_at " + schema.FromDirtyDays +
			" AND reason IN ({over:String}, {under:String}) ORDER BY rand() LIMIT {limit:UInt64}",
		Parameters: []proto.Parameter{
			clickhouse.StringParameter("over", string(ledger.ReasonOver)),
			clickhouse.StringParameter("under", string(ledger.ReasonUnder)), clickhouse.IntParameter("limit", int64(limit)),
		},
	}, func(d ledger.Listed) { days = append(days, d.Touched) })
	return days, err
}

// Listed implements repair.Rollups.
func (s *Store) Listed(ctx context.Context) ([]ledger.Listed, error) {
	var days []ledger.Listed
	err := s.listed(ctx, ch.Query{
		Body: "SELECT owner_id, event_date, reason, base, rollup_15m, rollup_1d, found_at " + schema.FromDirtyDays +
			" ORDER BY toYYYYMM(event_date), owner_id, event_date",
	}, func(d ledger.Listed) { days = append(days, d) })
	return days, err
}

// listed gives each day that a query brings to do.
func (s *Store) listed(ctx context.Context, q ch.Query, do func(ledger.Listed)) error {
	owners, reasons := new(proto.ColStr).LowCardinality(), new(proto.ColStr).LowCardinality()
	var days proto.ColDate
	var base, quarters, sums proto.ColUInt64
	found := new(proto.ColDateTime64).WithPrecision(proto.PrecisionMilli).WithLocation(time.UTC)
	q.Result = proto.Results{
		{Name: "owner_id", Data: owners},
		{Name: "event_date", Data: &days},
		{Name: "reason", Data: reasons},
		{Name: "base", Data: &base},
		{Name: "rollup_15m", Data: &quarters},
		{Name: "rollup_1d", Data: &sums},
		{Name: "found_at", Data: found},
	}
	q.OnResult = func(context.Context, proto.Block) error {
		for i := range days {
			do(ledger.Listed{
				Touched: ledger.Touched{Owner: owners.Row(i), Day: int32(days[i])}, Reason: ledger.Reason(reasons.Row(i)),
				Counts: ledger.Counts{Base: base[i], Quarters: quarters[i], Days: sums[i]}, FoundAt: found.Row(i),
			})
		}
		return nil
	}
	if err := s.Read(ctx, schema.RollupDirty.Name, q); err != nil {
		return fmt.Errorf("reading the list of dirty days: %w", err)
	}
	return nil
}
