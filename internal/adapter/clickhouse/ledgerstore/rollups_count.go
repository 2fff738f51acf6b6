package ledgerstore

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/ch-go/proto"

	"github.com/millrace/millrace/internal/pipeline/ledger"
)

// counted selects how many rows of each pair the base has, and how many the rollups
// of quarters of an hour, and those of days, would have if all of them were as far
// off as the one that is furthest. A family without a rollup of days says of those
// what it says of the others.
func (f *family) counted() string {
	var sources []string
	source := func(table, rows, only string, off func(i int) string) {
		columns := []string{"owner_id", "event_date", rows + " AS of_base"}
		for i := range f.rollups {
			columns = append(columns, fmt.Sprintf("toInt64(%s) AS off%d", cmp.Or(off(i), "0"), i))
		}
		sources = append(sources, "  SELECT "+strings.Join(columns, ", ")+"\n  FROM "+table+" WHERE "+both(ofPairs, only)+
			" GROUP BY owner_id, event_date")
	}
	less := func(i int, table string) string {
		if r := &f.rollups[i]; cmp.Or(r.in, f.base.Name) == table {
			return "-toInt64(" + r.agrees + ")"
		}
		return ""
	}
	source(f.base.Name+" FINAL", "count()", "", func(i int) string { return less(i, f.base.Name) })
	for j := range f.rollups {
		r := &f.rollups[j]
		source(r.view.To, "toUInt64(0)", r.only, func(i int) string {
			if i == j {
				return r.total
			}
			return less(i, r.view.To)
		})
	}
	return "  SELECT owner_id, event_date, sum(of_base) AS n, " + f.furthest(false) + " AS q, " +
		f.furthest(true) + " AS d FROM (\n" +
		strings.Join(sources, "\n  UNION ALL\n") + "\n  ) GROUP BY owner_id, event_date"
}

func (f *family) furthest(perDay bool) string {
	var all []string
	for i := range f.rollups {
		if f.rollups[i].perDay == perDay {
			all = append(all, fmt.Sprintf("sum(off%d)", i))
		}
	}
	if all == nil {
		return f.furthest(!perDay)
	}
	return "toUInt64(greatest(0, toInt64(n) + arraySort(x -> -abs(x), [" + strings.Join(all, ", ") + "])[1]))"
}

// both joins two conditions, of which the second may be empty.
func both(one, other string) string {
	if other == "" {
		return one
	}
	return "(" + one + ") AND (" + other + ")"
}

// Count implements ledger.Store.
func (s *Store) Count(ctx context.Context, topic string, pairs []ledger.Touched) ([]ledger.Counts, error) {
	counts := make([]ledger.Counts, len(pairs))
	all := familiesOf(topic)
	if len(pairs) == 0 || len(all) == 0 {
		return counts, nil
	}
	parts := make([]string, len(all))
	for i := range all {
		parts[i] = all[i].counted()
	}
	var owners proto.ColStr
	var days proto.ColDate
	var base, quarters, sums proto.ColUInt64
	found := map[ledger.Touched]ledger.Counts{}
	err := s.compare(ctx, ch.Query{
		Body: "SELECT CAST(owner_id, 'String') AS owner, event_date, sum(n) AS base, sum(q) AS quarters, sum(d) AS days " +
			"FROM (\n" +
			strings.Join(parts, "\n  UNION ALL\n") + "\n) GROUP BY owner, event_date",
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
				found[ledger.Touched{
					Owner: owners.Row(i), Day: int32(days[i]),
				}] = ledger.Counts{Base: base[i], Quarters: quarters[i], Days: sums[i]}
			}
			return nil
		},
	})
	if err != nil {
		return nil, fmt.Errorf("counting the events of %d days: %w", len(pairs), err)
	}
	for i, p := range pairs {
		counts[i] = found[p]
	}
	return counts, nil
}
