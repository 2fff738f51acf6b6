package clickhouse

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/ch-go/proto"
	"github.com/google/uuid"

	"github.com/millrace/millrace/internal/ledger"
	"github.com/millrace/millrace/internal/sink"
)

// The pairs that a statement is about travel beside it as a table of this name.
const (
	pairsTable = "asked_pairs"
	ofPairs    = "(owner_id, event_date) IN " + pairsTable
)

func pairColumns(pairs []sink.Touched) []proto.InputColumn {
	var owners proto.ColStr
	var days proto.ColDate
	for _, p := range pairs {
		owners.Append(p.Owner)
		days = append(days, proto.Date(p.Day))
	}
	return []proto.InputColumn{{Name: "owner_id", Data: &owners}, {Name: "event_date", Data: &days}}
}

// modest keeps a check from taking the server away from everybody else.
var modest = []ch.Setting{
	{Key: "max_threads", Value: "2", Important: true},
	{Key: "max_bytes_before_external_group_by", Value: strconv.Itoa(1 << 30), Important: true},
	// A row that a newer version replaces must not pass a filter by itself.
	{Key: "optimize_move_to_prewhere_if_final", Value: "0", Important: true},
	{Key: "use_skip_indexes_if_final", Value: "0", Important: true},
}

// Count implements ledger.Books.
func (b *Books) Count(ctx context.Context, pairs []sink.Touched) ([]ledger.Counts, error) {
	if len(pairs) == 0 {
		return nil, nil
	}
	var owners proto.ColStr
	var days proto.ColDate
	var base, quarters, sums proto.ColUInt64
	found := map[sink.Touched]ledger.Counts{}
	err := b.compare(ctx, ch.Query{
		Body: `SELECT CAST(owner_id, 'String') AS owner, event_date, sum(n) AS base, sum(q) AS quarters, sum(d) AS days FROM (
  SELECT owner_id, event_date, count() AS n, toUInt64(0) AS q, toUInt64(0) AS d FROM events FINAL WHERE ` + ofPairs + ` GROUP BY owner_id, event_date
  UNION ALL
  SELECT owner_id, event_date, 0, sum(events), 0 FROM events_15m WHERE ` + ofPairs + ` GROUP BY owner_id, event_date
  UNION ALL
  SELECT owner_id, event_date, 0, 0, sum(events) FROM events_1d WHERE ` + ofPairs + ` GROUP BY owner_id, event_date
) GROUP BY owner, event_date`,
		ExternalTable: pairsTable, ExternalData: pairColumns(pairs),
		Result: proto.Results{
			{Name: "owner", Data: &owners},
			{Name: "event_date", Data: &days},
			{Name: "base", Data: &base},
			{Name: "quarters", Data: &quarters},
			{Name: "days", Data: &sums},
		},
		OnResult: func(context.Context, proto.Block) error {
			for i := range days {
				found[sink.Touched{Owner: owners.Row(i), Day: int32(days[i])}] = ledger.Counts{Base: base[i], Quarters: quarters[i], Days: sums[i]}
			}
			return nil
		},
	})
	if err != nil {
		return nil, fmt.Errorf("counting the events of %d days: %w", len(pairs), err)
	}
	counts := make([]ledger.Counts, len(pairs))
	for i, p := range pairs {
		counts[i] = found[p]
	}
	return counts, nil
}

// rollup is a table that a view fills, and the columns that make a cell of it.
type rollup struct {
	view  *View
	cells string
}

var rollups = []rollup{
	{&Events15mView, "owner_id, event_date, slot, name"},
	{&Events1dView, "owner_id, event_date, name"},
}

// fresh is what the view would make now of the base, read with FINAL.
func (r *rollup) fresh(where string) string {
	return strings.Replace(r.view.Select, "\nFROM events\n", "\nFROM events FINAL\nWHERE "+where+"\n", 1)
}

// differing selects the owners and days with a cell in which the rollup answers
// otherwise than the base. A distinct count is a function of the set alone, so
// that equal sets give equal numbers.
func (r *rollup) differing(where string) string {
	return `SELECT owner_id, event_date FROM (
  SELECT ` + r.cells + `, events AS n, finalizeAggregation(visitors) AS v, finalizeAggregation(sessions) AS s,
         toUInt64(0) AS n2, toUInt64(0) AS v2, toUInt64(0) AS s2 FROM (` + r.fresh(where) + `)
  UNION ALL
  SELECT ` + r.cells + `, 0, 0, 0, sum(events), uniqMerge(visitors), uniqMerge(sessions)
  FROM ` + r.view.To + ` WHERE ` + where + ` GROUP BY ` + r.cells + `
) GROUP BY ` + r.cells + ` HAVING sum(n) != sum(n2) OR sum(v) != sum(v2) OR sum(s) != sum(s2)`
}

// Differing implements ledger.Books and repair.Rollups.
func (b *Books) Differing(ctx context.Context, pairs []sink.Touched) ([]sink.Touched, error) {
	if len(pairs) == 0 {
		return nil, nil
	}
	return b.differing(ctx, ch.Query{ExternalTable: pairsTable, ExternalData: pairColumns(pairs)}, ofPairs)
}

func (b *Books) differing(ctx context.Context, q ch.Query, where string) ([]sink.Touched, error) {
	var owners proto.ColStr
	var days proto.ColDate
	var differ []sink.Touched
	q.Body = "SELECT DISTINCT CAST(owner_id, 'String') AS owner, event_date FROM (\n" +
		rollups[0].differing(where) + "\nUNION ALL\n" + rollups[1].differing(where) + "\n) ORDER BY owner, event_date"
	q.Result = proto.Results{{Name: "owner", Data: &owners}, {Name: "event_date", Data: &days}}
	q.OnResult = func(context.Context, proto.Block) error {
		for i := range days {
			differ = append(differ, sink.Touched{Owner: owners.Row(i), Day: int32(days[i])})
		}
		return nil
	}
	if err := b.compare(ctx, q); err != nil {
		return nil, fmt.Errorf("comparing rollups with the base: %w", err)
	}
	return differ, nil
}

// compare runs a statement over the base and the rollups.
func (b *Books) compare(ctx context.Context, q ch.Query) error {
	q.Settings = append(q.Settings, modest...)
	return b.use(ctx, func(c *ch.Client) error {
		for _, table := range []string{Events.Name, Events15m.Name, Events1d.Name} {
			if b.cluster {
				if err := exec(ctx, c, "SYSTEM SYNC REPLICA "+table+" LIGHTWEIGHT"); err != nil {
					return fmt.Errorf("waiting for the replica of %s: %w", table, err)
				}
			}
		}
		return c.Do(ctx, q)
	})
}

// rebuildID begins the id of every statement of a rebuild.
const rebuildID = "millrace-rebuild-"

// Rebuilding implements repair.Rollups. A statement goes on for a while after
// whoever sent it is gone.
func (b *Books) Rebuilding(ctx context.Context) (bool, error) {
	var n proto.ColUInt64
	err := b.use(ctx, func(c *ch.Client) error {
		return c.Do(ctx, ch.Query{
			Body:   "SELECT count() AS n FROM system.processes WHERE startsWith(query_id, '" + rebuildID + "') AND current_database = currentDatabase()",
			Result: proto.Results{{Name: "n", Data: &n}},
		})
	})
	if err != nil {
		return false, fmt.Errorf("looking for other rebuilds: %w", err)
	}
	return n.Rows() == 1 && n[0] > 0, nil
}

// Rebuild implements repair.Rollups. What it inserts has no token, and takes none
// of those that the tables remember.
func (b *Books) Rebuild(ctx context.Context, days []sink.Touched) error {
	where := "(owner_id, event_date) IN (" + pairLiterals(days) + ")"
	for i := range rollups {
		r := &rollups[i]
		if err := b.rebuild(ctx, "DELETE FROM "+r.view.To+" WHERE "+where,
			ch.Setting{Key: "lightweight_deletes_sync", Value: "2", Important: true}); err != nil {
			return fmt.Errorf("deleting from %s: %w", r.view.To, err)
		}
		columns := r.cells + ", events, visitors, sessions"
		if err := b.rebuild(ctx, "INSERT INTO "+r.view.To+" ("+columns+")\nSELECT "+columns+" FROM ("+r.fresh(where)+")",
			ch.Setting{Key: "insert_deduplicate", Value: "0", Important: true},
			ch.Setting{Key: "async_insert", Value: "0", Important: true}); err != nil {
			return fmt.Errorf("filling %s: %w", r.view.To, err)
		}
	}
	return nil
}

func (b *Books) rebuild(ctx context.Context, sql string, settings ...ch.Setting) error {
	return b.use(ctx, func(c *ch.Client) error {
		return c.Do(ctx, ch.Query{Body: sql, QueryID: rebuildID + uuid.NewString(), Settings: append(settings, modest...)})
	})
}

// pairLiterals writes pairs into a statement: a deletion takes no table beside it.
func pairLiterals(pairs []sink.Touched) string {
	var s strings.Builder
	for i, p := range pairs {
		if i > 0 {
			s.WriteString(", ")
		}
		fmt.Fprintf(&s, "('%s', toDate('%s'))", quote.Replace(p.Owner), ledger.Date(p.Day))
	}
	return s.String()
}
