package store

import (
	"context"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/millrace/millrace/internal/platform/control"
	"github.com/millrace/millrace/internal/tenant/apikey"
	"github.com/millrace/millrace/internal/tenant/audit"
	"github.com/millrace/millrace/internal/tenant/org"
)

// keysWhere selects keys that were neither revoked nor deleted.
type keysWhere struct {
	condition string // on the columns of api_keys
	args      []any
}

// madeBy are those of an organization that somebody made.
func madeBy(organizationID, userID string) keysWhere {
	return keysWhere{"organization_id = ? AND created_by = ?", []any{organizationID, userID}}
}

const unended = "revoked_at IS NULL AND deleted_at IS NULL"

// keysMade returns what somebody made and nobody has ended, as org.MadeKeys says.
func (s *Store) keysMade(ctx context.Context, which keysWhere) (*org.MadeKeys, error) {
	var rows []keyRow
	n, err := s.read.NewSelect().Model(&rows).Where(unended).Where(which.condition, which.args...).
		Order("k.id").Limit(org.MaxNamedKeys).ScanAndCount(ctx)
	if err != nil {
		return nil, fmt.Errorf("listing the API keys of a creator: %w", err)
	}
	keys, err := keysOf(rows)
	return &org.MadeKeys{Keys: keys, Total: int(n)}, err
}

// revokeKeys revokes keys together, each with its audit entry and its change event, and
// returns them as org.MadeKeys says. It works only inside Change.
func (s *Store) revokeKeys(ctx context.Context, by audit.By, which keysWhere, now time.Time) (*org.MadeKeys, error) {
	var ids []string
	if _, err := s.write.NewUpdate().Model((*keyRow)(nil)).Where(unended).Where(which.condition, which.args...).
		Set("revoked_at = ?", at(now)).Set("updated_at = ?", at(now)).Set("version = version + 1").
		Returning("id").Exec(ctx, &ids); err != nil {
		return nil, fmt.Errorf("revoking API keys: %w", err)
	}
	made := &org.MadeKeys{Total: len(ids), Revoked: true}
	if len(ids) == 0 {
		return made, nil
	}
	var rows []keyRow
	if err := s.write.NewSelect().Model(&rows).Where("k.id IN (?)", bun.List(ids)).Order("k.id").Scan(ctx); err != nil {
		return nil, fmt.Errorf("reading revoked API keys: %w", err)
	}
	keys, err := keysOf(rows)
	if err != nil {
		return nil, err
	}
	entries, events := make([]audit.Entry, len(keys)), make([]control.Change, len(keys))
	for i, is := range keys {
		was := is.Unrevoked()
		entries[i], events[i] = apikey.Noun.Entry(by, apikey.Ended, was, is), apikey.Noun.Event(was, is)
	}
	if err := s.Record(ctx, entries...); err != nil {
		return nil, err
	}
	made.Keys = keys[:min(len(keys), org.MaxNamedKeys)]
	return made, s.Announce(ctx, events...)
}
