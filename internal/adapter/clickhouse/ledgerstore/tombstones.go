package ledgerstore

import (
	"context"
	"fmt"
	"time"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/ch-go/proto"

	"github.com/millrace/millrace/internal/adapter/clickhouse"
	"github.com/millrace/millrace/internal/adapter/clickhouse/native"
	"github.com/millrace/millrace/internal/adapter/clickhouse/schema"
	"github.com/millrace/millrace/internal/privacy/tombstone"
)

// Tombstones implements tombstone.Source. What the table holds is told by the
// number of its rows and the time of the last one: when some are merged it is
// read once more than needed.
func (l *Ledger) Tombstones(
	ctx context.Context, known string,
) (all []tombstone.Tombstone, state string, changed bool, err error) {
	var states proto.ColStr
	if err := l.Read(ctx, schema.Tombstones.Name, ch.Query{
		Body:   "SELECT concat(toString(count()), ' ', toString(max(created_at))) AS state FROM tombstones",
		Result: proto.Results{{Name: "state", Data: &states}},
	}); err != nil {
		return nil, "", false, fmt.Errorf("requesting new tombstones: %w", err)
	}
	if states.Rows() != 1 {
		return nil, "", false, clickhouse.ErrOneRow
	}
	if state = states.Row(0); state == known {
		return nil, "", false, nil
	}
	all, err = l.tombstones(ctx)
	return all, state, true, err
}

func (l *Ledger) tombstones(ctx context.Context) (all []tombstone.Tombstone, err error) {
	var owners, kinds, ids proto.ColStr
	before := new(proto.ColDateTime64).WithPrecision(proto.PrecisionMilli).WithLocation(time.UTC)
	known := map[string]string{} // there may be very many tombstones of one owner
	text := func(b []byte) string {
		if _, ok := known[string(b)]; !ok {
			known[string(b)] = string(b)
		}
		return known[string(b)]
	}
	if err := l.Read(ctx, schema.Tombstones.Name, ch.Query{
		Body: "SELECT CAST(owner_id, 'String') AS owner, CAST(kind, 'String') AS about, id, max(before) AS until\n" +
			"FROM tombstones GROUP BY owner, about, id",
		Result: proto.Results{
			{Name: "owner", Data: &owners},
			{Name: "about", Data: &kinds},
			{Name: "id", Data: &ids},
			{Name: "until", Data: before},
		},
		OnResult: func(context.Context, proto.Block) error {
			for i := range ids.Rows() {
				id, err := tombstone.ParseID(ids.Row(i))
				if err != nil {
					return err
				}
				all = append(all, tombstone.Tombstone{
					Owner: text(owners.RowBytes(i)), Kind: tombstone.Kind(text(kinds.RowBytes(i))), ID: id,
					Before: before.Row(i).UTC(),
				})
			}
			return nil
		},
	}); err != nil {
		return nil, fmt.Errorf("reading the tombstones: %w", err)
	}
	return all, nil
}

// Bury writes the tombstones of an erasure. Doing it twice changes nothing.
func (l *Ledger) Bury(ctx context.Context, erasureID string, stones []tombstone.Tombstone) error {
	if len(stones) == 0 {
		return nil
	}
	owners, kinds := new(proto.ColStr).LowCardinality(), new(proto.ColStr).LowCardinality()
	before := new(proto.ColDateTime64).WithPrecision(proto.PrecisionMilli).WithLocation(time.UTC)
	var ids, erasures proto.ColStr
	for _, t := range stones {
		owners.Append(t.Owner)
		kinds.Append(string(t.Kind))
		ids.Append(t.ID.String())
		before.AppendRaw(proto.DateTime64(min(t.Before.UnixMilli(), native.LastMillis)))
		erasures.Append(erasureID)
	}
	if err := l.Insert(ctx, schema.Tombstones.Name, "", proto.Input{
		{Name: "owner_id", Data: owners},
		{Name: "kind", Data: kinds},
		{Name: "id", Data: ids},
		{Name: "before", Data: before},
		{Name: "erasure_id", Data: erasures},
	}); err != nil {
		return fmt.Errorf("writing %d tombstones: %w", len(stones), err)
	}
	return nil
}
