package ledgerstore

import (
	"context"
	"fmt"
	"strings"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/ch-go/proto"
	"github.com/google/uuid"

	"github.com/millrace/millrace/internal/adapter/clickhouse"
	"github.com/millrace/millrace/internal/pipeline/ledger"
)

// rebuildID begins the id of every statement of a rebuild.
const rebuildID = "millrace-rebuild-"

// Rebuilding implements repair.Rollups. A statement goes on for a while after
// whoever sent it is gone.
func (s *Store) Rebuilding(ctx context.Context) (bool, error) {
	var n proto.ColUInt64
	err := s.Use(ctx, func(c *clickhouse.Client) error {
		return c.Do(ctx, ch.Query{
			Body: "SELECT count() AS n FROM system.processes WHERE startsWith(query_id, '" + rebuildID +
				"') AND current_database = currentDatabase()",
			Result: proto.Results{{Name: "n", Data: &n}},
		})
	})
	if err != nil {
		return false, fmt.Errorf("finding other rebuilds: %w", err)
	}
	return n.Rows() == 1 && n[0] > 0, nil
}

// Rebuild implements repair.Rollups. What it inserts has no token, and takes none
// of those that the tables remember.
func (s *Store) Rebuild(ctx context.Context, days []ledger.Touched) error {
	where := "(owner_id, event_date) IN (" + pairLiterals(days) + ")"
	for _, r := range allRollups() {
		if err := s.rebuild(ctx, "DELETE FROM "+r.view.To+" WHERE "+both(where, r.own),
			ch.Setting{Key: "lightweight_deletes_sync", Value: "2", Important: true}); err != nil {
			return fmt.Errorf("deleting from %s: %w", r.view.To, err)
		}
		columns := strings.Join(r.columns(), ", ")
		if err := s.rebuild(ctx, "INSERT INTO "+r.view.To+" ("+columns+")\nSELECT "+columns+" FROM ("+r.fresh(where)+")",
			ch.Setting{Key: "insert_deduplicate", Value: "0", Important: true},
			ch.Setting{Key: "async_insert", Value: "0", Important: true}); err != nil {
			return fmt.Errorf("filling %s: %w", r.view.To, err)
		}
	}
	return nil
}

func (s *Store) rebuild(ctx context.Context, sql string, settings ...ch.Setting) error {
	return s.Use(ctx, func(c *clickhouse.Client) error {
		return c.Do(ctx,
			ch.Query{Body: sql, QueryID: rebuildID + uuid.NewString(), Settings: append(settings, clickhouse.Modest...)})
	})
}
