package schema

import (
	"context"
	"slices"
	"time"

	"github.com/millrace/millrace/internal/adapter/clickhouse"
	"github.com/millrace/millrace/internal/pipeline/ledger"
)

// InsertTokenMemory returns what a server remembers of inserts: the least of the tables that an
// insert of records writes to, in count and in time. A table that several views fill from
// one insert remembers a token of each, and so fewer inserts.
func InsertTokenMemory(ctx context.Context, c *clickhouse.Client) (least ledger.InsertTokenMemory, err error) {
	tables, err := readStored(ctx, c)
	if err != nil {
		return least, err
	}
	first, per := true, insertTokensPerInsert(tables)
	err = fed(tables, func(name, _ string) error {
		has := tables[name].insertTokenMemory()
		has.Inserts /= max(1, per[name])
		switch {
		case tables[name].engine == "Null":
		case first:
			least, first = has, false
		default:
			least = lessOf(least, has)
		}
		return nil
	})
	return least, err
}

// insertTokensPerInsert returns how many tokens one insert of records, or of the ledger, leaves in
// each table at most: one for each way that views lead to it.
func insertTokensPerInsert(tables map[string]stored) map[string]int {
	most := map[string]int{}
	for _, t := range append(slices.Clone(Bases), &IngestLedger) {
		ways := map[string]int{}
		var visit func(name string)
		visit = func(name string) {
			ways[name]++
			for _, v := range tables[name].views {
				visit(tables[v].target)
			}
		}
		visit(t.Name)
		for name, n := range ways {
			most[name] = max(most[name], n)
		}
	}
	return most
}

// insertTokenMemory is what a table keeps. A replicated one forgets by time too.
func (t stored) insertTokenMemory() ledger.InsertTokenMemory {
	if !t.replicated() {
		return ledger.InsertTokenMemory{Inserts: t.number(window)}
	}
	return ledger.InsertTokenMemory{
		Inserts: t.number(replicatedWindow), For: time.Duration(t.number(replicatedWindow+"_seconds")) * time.Second,
	}
}

// lessOf returns the smaller of each, of two tables.
func lessOf(a, b ledger.InsertTokenMemory) ledger.InsertTokenMemory {
	least := ledger.InsertTokenMemory{Inserts: min(a.Inserts, b.Inserts), For: a.For}
	if a.For == 0 || b.For > 0 && b.For < a.For {
		least.For = b.For
	}
	return least
}
