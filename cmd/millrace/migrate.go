package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/millrace/millrace/internal/adapter/clickhouse/schema"
	"github.com/millrace/millrace/internal/adapter/store"
	"github.com/millrace/millrace/internal/platform/config"
)

func newMigrate() *cobra.Command {
	var wait waitFlag
	var limit timeLimit
	cmd := &cobra.Command{
		Use:   "migrate",
		Short: "Migrate the metadata store and ClickHouse to the newest schema",
		Long: `Migrates the metadata store and ClickHouse to the schema that this version of millrace
needs. Run it before you roll out a new version. Migrations only add to the schema, so the
previous version keeps working. It changes nothing if the schema is up to date.

Several processes may run it at the same time. With PostgreSQL one of them migrates both
schemas and the others wait. With --wait it may be started before its servers. With
--timeout it gives up after that time and reports what it was waiting for. The next run
starts an interrupted statement again. docs/guides/upgrading.md describes the order of an
upgrade.`,
		Example: `  millrace migrate --store.url postgres://millrace@db/millrace --clickhouse.addr ch-1:9000
  millrace migrate --wait 2m --timeout 1h`,
		Args: cobra.NoArgs,
		RunE: withSettings(func(cmd *cobra.Command, _ []string, s config.Settings) error {
			return limit.within(cmd, func() error { return migrate(cmd, wait, s) })
		}),
	}
	wait.add(cmd)
	limit.add(cmd)
	return cmd
}

func migrate(cmd *cobra.Command, wait waitFlag, s config.Settings) (err error) {
	db, err := store.New(s.Store)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	db.LogTo(logOf(cmd))
	if err := wait.until(cmd, db.Awaited().Answering(), schema.Awaited(s.ClickHouse, nil).Answering()); err != nil {
		return err
	}
	if err := db.Reach(cmd.Context()); err != nil {
		return err
	}
	if err := db.Migrate(cmd.Context()); err != nil {
		return err
	}
	fmt.Fprintln(cmd.OutOrStdout(), "metadata store is up to date")
	if err := db.Alone(cmd.Context(),
		func(ctx context.Context) error { return schema.Migrate(ctx, s.ClickHouse) }); err != nil {
		return err
	}
	fmt.Fprintln(cmd.OutOrStdout(), "ClickHouse is up to date")
	return nil
}
