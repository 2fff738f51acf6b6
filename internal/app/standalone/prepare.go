package standalone

import (
	"context"
	"errors"

	"github.com/millrace/millrace/internal/clickhouse"
	"github.com/millrace/millrace/internal/kafka"
	"github.com/millrace/millrace/internal/store"
)

// prepare brings every backend to what the daemons expect and makes sure that
// there is somebody to send and query events.
func (r *run) prepare(ctx context.Context, f *folder) (err error) {
	r.out.notify("preparing the topics and tables")
	db, err := store.Open(ctx, r.s.Store.URL.Reveal(), store.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if err := db.Migrate(ctx); err != nil {
		return err
	}
	if err := clickhouse.Migrate(ctx, r.s.ClickHouse); err != nil {
		return err
	}
	if _, err := kafka.EnsureTopics(ctx, r.s.Kafka); err != nil {
		return err
	}
	known, err := readDevEnv(f.path(devEnvFile))
	if err != nil {
		return err
	}
	account, notes, err := seed(ctx, db, r.s.Key.Prefix, known)
	if err != nil {
		return err
	}
	for _, note := range notes {
		r.out.notify(note)
	}
	account.fillAddresses(r.s)
	r.env = account
	return nil
}
