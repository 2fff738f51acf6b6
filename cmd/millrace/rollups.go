package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/millrace/millrace/internal/adapter/clickhouse/ledgerstore"
	"github.com/millrace/millrace/internal/adapter/kafka"
	"github.com/millrace/millrace/internal/pipeline/ledger"
	"github.com/millrace/millrace/internal/pipeline/repair"
	"github.com/millrace/millrace/internal/platform/config"
)

func newRollups() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "rollups",
		Short: "List and repair the days on which rollups differ from the events",
	}
	cmd.AddCommand(newRollupsDirty(), newRollupsRebuild())
	return cmd
}

func newRollupsDirty() *cobra.Command {
	return &cobra.Command{
		Use:   "dirty",
		Short: "List the days on which queries do not use rollups",
		Long: `Lists the days of owners on which a rollup differs from the events, or may differ.
Queries read these days from the events, which is correct but slower. The reasons are:

  over    the rollup counts events twice: a duplicate arrived after the sink had
          forgotten its event id, or rows were deleted
  under   the rollup lacks events: a materialized view failed, and its insert has
          not been repeated yet
  replay  "millrace replay" had the events stored again
  growth  "millrace topics grow" moved the owner to another partition

"millrace rollups rebuild" repairs them.`,
		Example: `  millrace rollups dirty --clickhouse.addr ch-1:9000`,
		Args:    cobra.NoArgs,
		RunE: withSettings(func(cmd *cobra.Command, _ []string, s config.Settings) (err error) {
			store := ledgerstore.NewStore(s.ClickHouse)
			defer func() { err = errors.Join(err, store.Close()) }()
			days, err := store.Listed(cmd.Context())
			if err != nil {
				return err
			}
			if len(days) == 0 {
				_, err := fmt.Fprintln(cmd.OutOrStdout(), "no day is dirty")
				return err
			}
			return printDays(cmd.OutOrStdout(), days)
		}),
	}
}

func newRollupsRebuild() *cobra.Command {
	var dryRun bool
	cmd := &cobra.Command{
		Use:   "rebuild",
		Short: "Rebuild the rollups of dirty days, with the sinks stopped",
		Long: `Rebuilds the rollups of every dirty day from the events and removes the days from the
list. Edges and query hosts may keep running. The sinks must be stopped, and must have
shut down cleanly. The command refuses to run in these cases:

  - A consumer group has members. A sink that was killed remains a member until its
    session timeout.
  - A plan is open. The records that a sink was storing when it died may be in the
    events and not yet in a rollup, and would be counted twice. Start the sinks, let
    them finish, and stop them.
  - A replay is incomplete: the sinks have not yet reached the offset that was committed
    before it. The remaining records would be counted twice.

You can interrupt it at any time. A day is removed from the list last, and the next run
starts the remaining days from the beginning.`,
		Example: `  millrace rollups rebuild --dry-run
  millrace rollups rebuild --kafka.brokers kafka-1:9092 --clickhouse.addr ch-1:9000`,
		Args: cobra.NoArgs,
		RunE: withSettings(func(cmd *cobra.Command, _ []string, s config.Settings) (err error) {
			store := ledgerstore.NewStore(s.ClickHouse)
			defer func() { err = errors.Join(err, store.Close()) }()
			offsets, err := kafka.NewOffsets(s.Kafka, warnings(cmd))
			if err != nil {
				return err
			}
			defer offsets.Close()
			out, rebuilt := cmd.OutOrStdout(), 0
			days, err := repair.Rebuild(cmd.Context(), repair.RebuildDeps{
				Pipelines: pipelinesOf(s.Sink), Groups: offsets, Log: offsets, Store: store, Rollups: store,
				Done: func(done []ledger.Listed) {
					rebuilt += len(done)
					fmt.Fprintf(out, "rebuilt %d days of %s\n", len(done), ledger.Date(done[0].Day)[:len("2006-01")])
				},
			}, dryRun)
			switch {
			case err != nil:
				return err
			case len(days) == 0:
				fmt.Fprintln(out, "no day is dirty")
			case dryRun:
				fmt.Fprintf(out, "%d days would be rebuilt:\n", len(days))
				return printDays(out, days)
			default:
				fmt.Fprintf(out, "all %d dirty days were rebuilt\n", rebuilt)
			}
			return nil
		}),
	}
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "print what would be rebuilt, or why the command would refuse to run")
	return cmd
}

func printDays(out io.Writer, days []ledger.Listed) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "OWNER\tDAY\tREASON\tEVENTS\t15M\t1D\tFOUND")
	for i := range days {
		d := &days[i]
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%d\t%d\t%s\n",
			d.Owner, ledger.Date(d.Day), d.Reason, d.Base, d.Quarters, d.Days, d.FoundAt.UTC().Format(time.RFC3339))
	}
	return w.Flush()
}

// warnings is the log of what clients complain about.
func warnings(cmd *cobra.Command) *slog.Logger {
	return slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), &slog.HandlerOptions{Level: slog.LevelWarn}))
}
