package store

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/millrace/millrace/internal/privacy/retention"
	"github.com/millrace/millrace/internal/tenant/website"
)

// LimitedWebsites returns up to limit websites that keep events for a number of
// days, deleted ones included, by id after the given one. Nothing else of their
// settings is read.
func (s *Store) LimitedWebsites(ctx context.Context, after string, limit int) ([]retention.Website, error) {
	ctx, cancel := s.deadline(ctx)
	defer cancel()
	var rows []websiteRow
	// The setting is not in the column where it has its default.
	if err := s.read.NewSelect().Model(&rows).Column("id", "settings").
		Where("CAST(w.settings AS TEXT) LIKE '%\"dataRetentionDays\":%'").
		Where("w.id > ?", after).Order("w.id").Limit(int64(limit)).Scan(ctx); err != nil {
		return nil, fmt.Errorf("listing the websites that keep events for a number of days: %w", err)
	}
	all := make([]retention.Website, len(rows))
	for i := range rows {
		all[i] = retention.Website{ID: rows[i].ID, Days: keptDays(rows[i].Settings)}
	}
	return all, nil
}

// keptDays returns the number of days that settings name; 0 where that is none.
func keptDays(settings string) int {
	var kept struct {
		Days int `json:"dataRetentionDays"`
	}
	if err := json.Unmarshal([]byte(settings), &kept); err != nil || kept.Days < 1 ||
		kept.Days > website.MaxRetentionDays {
		return 0
	}
	return kept.Days
}
