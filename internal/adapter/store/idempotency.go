package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/millrace/millrace/internal/tenant/idempotency"
)

type callRow struct {
	bun.BaseModel `bun:"table:idempotent_calls,alias:c"`

	Caller    string  `bun:"caller,pk"`
	Key       []byte  `bun:"key_hash,pk"`
	Request   []byte  `bun:"request_hash"`
	Sealed    []byte  `bun:"sealed"` // NULL while the call runs
	StartedAt instant `bun:"started_at"`
	Changed   bool    `bun:"changed"` // set in the transaction of the call's change
}

// ClaimCall implements idempotency.Store.
func (s *Store) ClaimCall(
	ctx context.Context, row *idempotency.Row, since, lost time.Time,
) (*idempotency.Row, error) {
	ctx, cancel := s.deadline(ctx)
	defer cancel()
	claim := callRow{Caller: row.Caller, Key: row.Key[:], Request: row.Request[:], StartedAt: at(row.StartedAt)}
	res, err := s.write.NewInsert().Model(&claim).
		On("CONFLICT (caller, key_hash) DO UPDATE").
		Set("request_hash = EXCLUDED.request_hash").Set("sealed = NULL").Set("started_at = EXCLUDED.started_at").
		Set("changed = EXCLUDED.changed").
		Where("c.started_at < ? OR (c.sealed IS NULL AND NOT c.changed AND c.started_at <= ?)", at(since), at(lost)).
		Exec(ctx)
	if err != nil {
		return nil, fmt.Errorf("claiming a call: %w", err)
	}
	if n, err := res.RowsAffected(); n == 1 || err != nil {
		return nil, err
	}
	// The row may be abandoned before it is read; its call counts as running then.
	found := callRow{Request: claim.Request, StartedAt: claim.StartedAt}
	err = s.read.NewSelect().Model(&found).Where("c.caller = ?", row.Caller).Where("c.key_hash = ?", row.Key[:]).Scan(ctx)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return nil, fmt.Errorf("reading a call: %w", err)
	}
	before := &idempotency.Row{
		Caller: row.Caller, Key: row.Key, Sealed: found.Sealed, StartedAt: found.StartedAt.Time, Changed: found.Changed,
	}
	copy(before.Request[:], found.Request)
	return before, nil
}

// FinishCall implements idempotency.Store.
func (s *Store) FinishCall(ctx context.Context, row *idempotency.Row) error {
	ctx, cancel := s.deadline(ctx)
	defer cancel()
	_, err := s.write.NewUpdate().Model((*callRow)(nil)).Set("sealed = ?", row.Sealed).
		Where("caller = ?", row.Caller).Where("key_hash = ?", row.Key[:]).Where("started_at = ?", at(row.StartedAt)).Exec(ctx)
	if err != nil {
		return fmt.Errorf("storing the response of a call: %w", err)
	}
	return nil
}

// AbandonCall implements idempotency.Store.
func (s *Store) AbandonCall(ctx context.Context, row *idempotency.Row, unchanged bool) error {
	ctx, cancel := s.deadline(ctx)
	defer cancel()
	q := s.write.NewDelete().Model((*callRow)(nil)).
		Where("caller = ?", row.Caller).Where("key_hash = ?", row.Key[:]).Where("started_at = ?", at(row.StartedAt)).
		Where("sealed IS NULL")
	if unchanged {
		q = q.Where("NOT changed")
	}
	if _, err := q.Exec(ctx); err != nil {
		return fmt.Errorf("abandoning a call: %w", err)
	}
	return nil
}

// noteChange marks the call with an Idempotency-Key that a transaction is of, if it is of one, in
// that transaction. Where another call was claimed in its place it is idempotency.ErrReplaced,
// and nothing is kept.
func (s *Store) noteChange(ctx context.Context) error {
	call := idempotency.Of(ctx)
	if call == nil {
		return nil
	}
	res, err := s.write.NewUpdate().Model((*callRow)(nil)).Set("changed = ?", true).
		Where("caller = ?", call.Caller).Where("key_hash = ?", call.Key[:]).
		Where("started_at = ?", at(call.StartedAt)).Exec(ctx)
	if err != nil {
		return fmt.Errorf("recording a change with its call: %w", err)
	}
	return mustTouch(res, idempotency.ErrReplaced)
}

// ForgetCalls implements idempotency.Store.
func (s *Store) ForgetCalls(ctx context.Context, before time.Time) error {
	ctx, cancel := s.deadline(ctx)
	defer cancel()
	if _, err := s.write.NewDelete().Model((*callRow)(nil)).Where("started_at < ?", at(before)).Exec(ctx); err != nil {
		return fmt.Errorf("deleting old calls: %w", err)
	}
	return nil
}
