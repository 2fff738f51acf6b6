package store

import (
	"context"
	"fmt"

	"github.com/millrace/millrace/internal/retention"
)

// LimitedWebsites returns up to limit websites that keep events for a number of
// days, deleted ones included, by id after the given one.
func (s *Store) LimitedWebsites(ctx context.Context, after string, limit int) ([]retention.Website, error) {
	ctx, cancel := s.deadline(ctx)
	defer cancel()
	var rows []websiteRow
	// The setting is not in the column where it has its default.
	if err := s.read.NewSelect().Model(&rows).Column("id", "settings").Where("CAST(w.settings AS TEXT) LIKE '%\"dataRetentionDays\":%'").
		Where("w.id > ?", after).Order("w.id").Limit(int64(limit)).Scan(ctx); err != nil {
		return nil, fmt.Errorf("listing the websites that keep events for a number of days: %w", err)
	}
	all := make([]retention.Website, len(rows))
	for i := range rows {
		w, err := rows[i].website()
		if err != nil {
			return nil, err
		}
		all[i] = retention.Website{ID: w.ID, Days: w.DataRetentionDays}
	}
	return all, nil
}
