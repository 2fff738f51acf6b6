package standalone

import (
	"context"
	"errors"
	"log/slog"

	"github.com/millrace/millrace/internal/adapter/clickhouse/schema"
	"github.com/millrace/millrace/internal/adapter/kafka"
	"github.com/millrace/millrace/internal/adapter/store"
	"github.com/millrace/millrace/internal/platform/lifecycle"
)

// preparation is the component that starts when every backend is what the daemons expect.
func (r *run) preparation(f *folder, log *slog.Logger, readiness *lifecycle.Readiness) lifecycle.Component {
	return lifecycle.Component{Name: "topics and tables", Start: func(ctx context.Context) error {
		err := r.prepare(ctx, f, log, readiness)
		if err == nil {
			r.out.notify("starting the daemons")
		}
		return err
	}}
}

// prepare waits for the backends that are not embedded, brings every one to what the
// daemons expect, and makes sure that there is somebody to send and query events.
func (r *run) prepare(ctx context.Context, f *folder, log *slog.Logger, readiness *lifecycle.Readiness) (err error) {
	r.out.notify("preparing the topics and tables")
	db, err := store.New(r.s.Store)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	db.LogTo(log)
	if err := lifecycle.AwaitServers(
		ctx, log, readiness,
		db.Awaited().Answering(), schema.Awaited(r.s.ClickHouse, nil).Answering(), kafka.Awaited(r.s.Kafka, nil).Answering(),
	); err != nil {
		return err
	}
	if err := db.Migrate(ctx); err != nil {
		return err
	}
	if err := db.Alone(ctx, func(ctx context.Context) error { return schema.Migrate(ctx, r.s.ClickHouse) }); err != nil {
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
