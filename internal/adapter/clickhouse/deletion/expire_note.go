package deletion

import (
	"context"
	"fmt"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/ch-go/proto"

	"github.com/millrace/millrace/internal/adapter/clickhouse"
	"github.com/millrace/millrace/internal/adapter/clickhouse/ledgerstore"
	"github.com/millrace/millrace/internal/adapter/clickhouse/schema"
	"github.com/millrace/millrace/internal/pipeline/ledger"
	"github.com/millrace/millrace/internal/privacy/retention"
)

// dirty returns the days that lose rows and have rollups.
func (e *Expirer) dirty(ctx context.Context, limits []retention.Limit) (all []ledger.Listed, err error) {
	for _, table := range ledgerstore.RolledUp() {
		if err := e.days(ctx, table, limits, func(t ledger.Touched) {
			all = append(all, ledger.Listed{Touched: t, Reason: ledger.ReasonExpired})
		}); err != nil {
			return nil, fmt.Errorf("reading the expired days of %s: %w", table, err)
		}
	}
	return all, nil
}

// days gives the days of a table that are before the limits to do.
func (e *Expirer) days(ctx context.Context, table string, limits []retention.Limit, do func(ledger.Touched)) error {
	if len(limits) == 0 {
		return nil
	}
	var owners proto.ColStr
	var dates proto.ColDate
	return e.Read(ctx, table, ch.Query{
		Body: "SELECT DISTINCT CAST(t.owner_id, 'String') AS owner, event_date\n" +
			tooOld(table, "event_date", limits),
		ExternalTable: askedLimits, ExternalData: limitColumns(limits), Settings: clickhouse.Modest,
		Result: proto.Results{{Name: "owner", Data: &owners}, {Name: "event_date", Data: &dates}},
		OnResult: func(context.Context, proto.Block) error {
			for i := range dates {
				do(ledger.Touched{Owner: owners.Row(i), Day: int32(dates[i])})
			}
			return nil
		},
	})
}

// exclude writes down up to which day rows of websites are gone on purpose.
func (e *Expirer) exclude(ctx context.Context, limits []retention.Limit) error {
	if len(limits) == 0 {
		return nil
	}
	owners, reasons := new(proto.ColStr).LowCardinality(), new(proto.ColStr).LowCardinality()
	var from, to proto.ColDate
	for _, l := range limits {
		owners.Append(l.Website)
		reasons.Append("retention")
		from = append(from, 0)
		to.Append(l.Before.AddDate(0, 0, -1))
	}
	if err := e.Insert(ctx, schema.Exclusions.Name, "", proto.Input{
		{Name: "owner_id", Data: owners},
		{Name: "from_date", Data: from},
		{Name: "to_date", Data: to},
		{Name: "reason", Data: reasons},
	}); err != nil {
		return fmt.Errorf("recording the expired days of %d websites: %w", len(limits), err)
	}
	return nil
}

// finish takes the days off the list, of which nothing is left, and the exclusions
// that newer ones cover.
func (e *Expirer) finish(ctx context.Context, limits []retention.Limit, days []ledger.Listed) error {
	if len(limits) == 0 {
		return nil
	}
	gone := make([]ledger.Touched, len(days))
	for i := range days {
		gone[i] = days[i].Touched
	}
	if err := e.Clear(ctx, gone); err != nil {
		return err
	}
	return e.mask(ctx, &expired{table: &schema.Exclusions, day: "to_date + 1", partition: "all", limits: limits})
}
