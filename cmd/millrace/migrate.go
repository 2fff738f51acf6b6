package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/millrace/millrace/internal/clickhouse"
	"github.com/millrace/millrace/internal/config"
	"github.com/millrace/millrace/internal/store"
)

func newMigrate() *cobra.Command {
	return &cobra.Command{
		Use:   "migrate",
		Short: "Bring the metadata store and ClickHouse to the newest schema",
		Long: `Brings the metadata store and ClickHouse to the schema that this version of
millrace needs. Run it before a new version is rolled out: migrations only add,
so the version before goes on working. It changes nothing that is up to date.`,
		Example: `  millrace migrate --store.url postgres://millrace@db/millrace --clickhouse.addr ch-1:9000`,
		Args:    cobra.NoArgs,
		RunE: withSettings(func(cmd *cobra.Command, _ []string, s config.Settings) (err error) {
			db, err := store.Open(cmd.Context(), s.Store.URL.Reveal(), store.Options{})
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, db.Close()) }()
			if err := db.Migrate(cmd.Context()); err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), "metadata store is up to date")
			if err := clickhouse.Migrate(cmd.Context(), s.ClickHouse); err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), "ClickHouse is up to date")
			return nil
		}),
	}
}
