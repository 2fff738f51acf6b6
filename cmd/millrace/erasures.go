package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/millrace/millrace/internal/adapter/clickhouse/deletion"
	"github.com/millrace/millrace/internal/adapter/store"
	"github.com/millrace/millrace/internal/platform/config"
)

func newErasures() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "erasures",
		Short: "Repeat erasures after ClickHouse was restored",
	}
	cmd.AddCommand(newErasuresRepeat())
	return cmd
}

func newErasuresRepeat() *cobra.Command {
	return &cobra.Command{
		Use:   "repeat",
		Short: "Repeat every erasure, with the sinks stopped",
		Long: `Writes the tombstones of every erasure in the metadata store to ClickHouse again, and
deletes the rows that they cover. A backup of ClickHouse, and the topics, still contain
data that was erased later. Run this command after ClickHouse was restored or recreated
and before the sinks start; the sinks then store none of the erased data.

Days of rollups that change are listed as dirty. You can interrupt the command and run it
again. It does not check that the sinks are stopped. If a sink is running, it may store
erased data until it has read the tombstones. In that case, stop the sinks and run the
command again.`,
		Example: `  millrace erasures repeat --store.url postgres://millrace@db/millrace --clickhouse.addr ch-1:9000`,
		Args:    cobra.NoArgs,
		RunE: withSettings(func(cmd *cobra.Command, _ []string, s config.Settings) (err error) {
			db, err := store.Connect(cmd.Context(), s.Store)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, db.Close()) }()
			all, err := db.AllErasures(cmd.Context())
			if err != nil {
				return err
			}
			eraser := deletion.NewEraser(s.ClickHouse)
			defer func() { err = errors.Join(err, eraser.Close()) }()
			for _, e := range all {
				if err := eraser.Bury(cmd.Context(), e.ID, e.Tombstones()); err != nil {
					return err
				}
				if err := eraser.Delete(cmd.Context(), e.Tombstones()); err != nil {
					return fmt.Errorf("deleting the rows of erasure %s: %w", e.ID, err)
				}
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%d erasures repeated\n", len(all))
			return err
		}),
	}
}
