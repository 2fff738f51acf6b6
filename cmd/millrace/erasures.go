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
		Short: "Carry erasures out once more, after ClickHouse was restored",
	}
	cmd.AddCommand(newErasuresRepeat())
	return cmd
}

func newErasuresRepeat() *cobra.Command {
	return &cobra.Command{
		Use:   "repeat",
		Short: "Erase again what was erased before, with the sinks stopped",
		Long: `Writes the tombstones of every erasure that the metadata store knows into
ClickHouse again, and deletes what they cover. A backup of ClickHouse, and the
topics too, hold what was erased after them: run this after ClickHouse was
restored or built anew, before the sinks start, and they store nothing of it.

Days of rollups that differ by it are listed as dirty. It may be run at any time
and as often as one likes.`,
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
					return fmt.Errorf("deleting what erasure %s covers: %w", e.ID, err)
				}
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%d erasures were carried out again\n", len(all))
			return err
		}),
	}
}
