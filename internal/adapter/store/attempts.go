package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/millrace/millrace/internal/tenant/attempt"
)

// attemptRow is a bucket that leaks: an attempt pays for one interval, from now
// or from the end of what is paid for already. A bucket that is paid for as many
// intervals ahead as its burst takes no more.
type attemptRow struct {
	bun.BaseModel `bun:"table:attempts,alias:a"`

	Key       []byte  `bun:"key,pk"`
	PaidUntil instant `bun:"paid_until"`
}

// errUsedUp undoes the charges before the one that is used up.
var errUsedUp = errors.New("used up")

// Charge counts one attempt for every charge, or none of them: then it returns
// the rejection of the first that is used up. Pass the charges of many people
// before those of few, in one order everywhere, so that two calls do not wait for
// each other.
func (s *Store) Charge(ctx context.Context, now time.Time, charges ...attempt.Charge) (*attempt.Rejection, error) {
	var rejection *attempt.Rejection
	err := s.InTx(ctx, func(ctx context.Context, tx *Store) error {
		for _, c := range charges {
			wait, err := tx.charge(ctx, now, c)
			if err != nil {
				return err
			}
			if wait > 0 {
				rejection = &attempt.Rejection{Charge: c, Wait: wait}
				return errUsedUp
			}
		}
		return nil
	})
	if errors.Is(err, errUsedUp) {
		return rejection, nil
	}
	return nil, err
}

// charge counts one attempt, or returns how long to wait for it.
func (s *Store) charge(ctx context.Context, now time.Time, c attempt.Charge) (wait time.Duration, err error) {
	ms, interval := now.UnixMilli(), c.Interval.Milliseconds()
	last := ms + int64(c.Burst-1)*interval // the latest that may be paid for before this attempt
	row := attemptRow{Key: c.Key[:], PaidUntil: instant{time.UnixMilli(ms + interval)}}
	res, err := s.write.NewInsert().Model(&row).On("CONFLICT (key) DO UPDATE").
		// What is paid for further ahead than can be was so by a clock that has been
		// put back since: it begins anew.
		Set("paid_until = CASE WHEN a.paid_until BETWEEN ? AND ? THEN a.paid_until ELSE ? END + ?", ms,
			last+interval, ms, interval).
		Where("a.paid_until <= ? OR a.paid_until > ?", last, last+interval).Exec(ctx)
	if err != nil {
		return 0, fmt.Errorf("counting an attempt: %w", err)
	}
	if n, err := res.RowsAffected(); err != nil || n > 0 {
		return 0, err
	}
	var paid instant
	if err := s.write.NewSelect().Model((*attemptRow)(nil)).Column("paid_until").Where("key = ?", c.Key[:]).Scan(
		ctx, &paid); err != nil {
		return 0, fmt.Errorf("reading when an attempt is free: %w", err)
	}
	return max(time.Duration(paid.UnixMilli()-last)*time.Millisecond, time.Millisecond), nil
}

// Refund takes charges back.
func (s *Store) Refund(ctx context.Context, charges ...attempt.Charge) error {
	return s.InTx(ctx, func(ctx context.Context, tx *Store) error {
		for _, c := range charges {
			if _, err := tx.write.NewUpdate().Model((*attemptRow)(nil)).
				Set("paid_until = paid_until - ?", c.Interval.Milliseconds()).Where("key = ?", c.Key[:]).Exec(ctx); err != nil {
				return fmt.Errorf("refunding an attempt: %w", err)
			}
		}
		return nil
	})
}
