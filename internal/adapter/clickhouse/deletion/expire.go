package deletion

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/ch-go/proto"

	"github.com/millrace/millrace/internal/adapter/clickhouse"
	"github.com/millrace/millrace/internal/adapter/clickhouse/ledgerstore"
	"github.com/millrace/millrace/internal/adapter/clickhouse/schema"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/privacy/retention"
)

// Expirer deletes what websites do not keep any longer. It implements
// retention.Tables.
//
// Rows are masked first, which writes one small column of the parts that hold
// them: to write whole months of everybody's rows anew for one day of one website,
// every day, would be many times the work of storing them. Each partition is
// written without its masked rows once a week; see Compact.
type Expirer struct{ *ledgerstore.Store }

// NewExpirer returns an Expirer for the servers of cfg; it opens no connection.
func NewExpirer(cfg config.ClickHouse) *Expirer { return &Expirer{ledgerstore.NewStore(cfg)} }

// ages say by which day a row is kept, by the column that tells of it.
var ages = []struct{ column, day string }{
	{"event_date", "event_date"},
	{"last_seen", "toDate(last_seen)"},
	{"told_at", "toDate(told_at)"},
	{"hour", "toDate(hour)"},
}

// keptForEver are the tables with an owner that retention leaves alone.
var keptForEver = []string{
	schema.Usage1d.Name,    // quotas and bills are about what was sent
	schema.Tombstones.Name, // what is erased may not come back
	schema.Exclusions.Name, // see exclude
}

// expirable returns the tables that lose rows, and by which day each does. Those
// that records are stored in are the first, the list of dirty days is the last.
func expirable() (tables []*schema.Table, days []string) {
	for i := range schema.Tables {
		t := &schema.Tables[i]
		if !t.Has(ownerColumn) || slices.Contains(keptForEver, t.Name) {
			continue
		}
		for _, a := range ages {
			if t.Has(a.column) {
				tables, days = append(tables, t), append(days, a.day)
				break
			}
		}
	}
	return tables, days
}

// Clock implements retention.Tables.
func (e *Expirer) Clock(ctx context.Context) (now time.Time, err error) {
	var millis proto.ColInt64
	if err := e.Use(ctx, func(c *clickhouse.Client) error {
		return c.Do(ctx, ch.Query{
			Body: "SELECT toUnixTimestamp64Milli(now64(3)) AS now", Result: proto.Results{{Name: "now", Data: &millis}},
		})
	}); err != nil {
		return now, fmt.Errorf("reading ClickHouse's clock: %w", err)
	}
	at, err := clickhouse.Single(&millis)
	return time.UnixMilli(at).UTC(), err
}

// expired are the rows of some websites in one partition of a table.
type expired struct {
	table     *schema.Table
	day       string // how the table says it
	partition string // id
	limits    []retention.Limit
}

// Expire implements retention.Tables. The days are listed as dirty before anything
// is deleted: from then on they are answered from what is left of the base, and a
// table that has lost them already is no difference to one that has not.
func (e *Expirer) Expire(ctx context.Context, limits []retention.Limit) (map[string]int64, error) {
	rows := map[string]int64{}
	var all []expired
	tables, days := expirable()
	for i, t := range tables {
		found, n, err := e.find(ctx, t, days[i], limits)
		if err != nil {
			return nil, fmt.Errorf("finding expired rows of %s: %w", t.Name, err)
		}
		if n > 0 {
			rows[t.Name] = n
			all = append(all, found...)
		}
	}
	if len(all) == 0 {
		return nil, nil
	}
	limits = losing(all)
	dirty, err := e.dirty(ctx, limits)
	if err == nil {
		err = e.List(ctx, dirty)
	}
	if err == nil {
		err = e.exclude(ctx, limits)
	}
	for i := 0; i < len(all) && err == nil; i++ {
		err = e.mask(ctx, &all[i])
	}
	if err == nil {
		err = e.finish(ctx, limits, dirty)
	}
	return rows, err
}

// losing are the limits of the websites that lose records.
func losing(all []expired) (limits []retention.Limit) {
	known := map[string]bool{}
	for i := range all {
		if !isBase(all[i].table.Name) {
			continue
		}
		for _, l := range all[i].limits {
			if !known[l.Website] {
				known[l.Website] = true
				limits = append(limits, l)
			}
		}
	}
	return limits
}

func isBase(table string) bool {
	return slices.ContainsFunc(schema.Bases, func(t *schema.Table) bool { return t.Name == table })
}

// askedLimits is the table of limits that travels beside a statement.
const askedLimits = "asked_limits"

func limitColumns(limits []retention.Limit) []proto.InputColumn {
	var owners proto.ColStr
	var before proto.ColDate
	for _, l := range limits {
		owners.Append(l.Website)
		before.Append(l.Before)
	}
	return []proto.InputColumn{{Name: "owner", Data: &owners}, {Name: "before", Data: &before}}
}

// tooOld is the condition for the rows of a table that limits are about, joined
// with them. The primary key and the partitions answer most of it.
func tooOld(table, day string, limits []retention.Limit) string {
	latest := limits[0].Before
	for _, l := range limits {
		if l.Before.After(latest) {
			latest = l.Before
		}
	}
	return "FROM " + table + " AS t INNER JOIN " + askedLimits + " AS l ON t.owner_id = l.owner\n" +
		"WHERE t.owner_id IN (SELECT owner FROM " + askedLimits + ") AND " + day + " < " + dateSQL(latest) +
		" AND " + day + " < l.before"
}

func dateSQL(day time.Time) string { return "toDate('" + day.Format(time.DateOnly) + "')" }

// find returns what is too old in a table, and how many rows that are.
func (e *Expirer) find(
	ctx context.Context, t *schema.Table, day string, limits []retention.Limit,
) (all []expired, rows int64, err error) {
	of := make(map[string]retention.Limit, len(limits))
	for _, l := range limits {
		of[l.Website] = l
	}
	var owners, partitions proto.ColStr
	var counts proto.ColUInt64
	err = e.Read(ctx, t.Name, ch.Query{
		Body: "SELECT CAST(t.owner_id, 'String') AS owner, CAST(t._partition_id, 'String') AS partition, count() AS n\n" +
			tooOld(t.Name, day, limits) + "\nGROUP BY owner, partition ORDER BY partition, owner",
		ExternalTable: askedLimits, ExternalData: limitColumns(limits), Settings: clickhouse.Modest,
		Result: proto.Results{
			{Name: "owner", Data: &owners}, {Name: "partition", Data: &partitions}, {Name: "n", Data: &counts},
		},
		OnResult: func(context.Context, proto.Block) error {
			for i := range counts {
				rows += int64(counts[i])
				if p := partitions.Row(i); len(all) == 0 || all[len(all)-1].partition != p {
					all = append(all, expired{table: t, day: day, partition: p})
				}
				last := &all[len(all)-1]
				last.limits = append(last.limits, of[owners.Row(i)])
			}
			return nil
		},
	})
	return all, rows, err
}
