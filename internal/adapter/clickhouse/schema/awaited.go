package schema

import (
	"context"
	"errors"

	"github.com/millrace/millrace/internal/adapter/clickhouse"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/platform/credential"
	"github.com/millrace/millrace/internal/platform/lifecycle"
)

// Awaited is ClickHouse as a daemon waits for it: it answers, has the tables of this
// build, and passes a check such as CheckExactness.
func Awaited(cfg config.ClickHouse, check func(context.Context, config.ClickHouse) error) lifecycle.Server {
	return lifecycle.Server{
		Name: "ClickHouse",
		// it may be missing yet
		Reach: func(ctx context.Context) error { return clickhouse.Ping(ctx, clickhouse.WithoutDatabase(cfg)) },
		Check: func(ctx context.Context) error {
			if err := Check(ctx, cfg); err != nil {
				return err
			}
			return check(ctx, cfg)
		},
		Unprepared: ErrUnmigrated, Hopeless: hopeless,
	}
}

func hopeless(err error) bool {
	anotherBuild := errors.Is(err, ErrSchema) && !errors.Is(err, ErrUnmigrated)
	return anotherBuild || errors.Is(err, ErrInexact) || credential.Rejected(err)
}
