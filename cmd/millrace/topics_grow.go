package main

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/millrace/millrace/internal/adapter/clickhouse/ledgerstore"
	"github.com/millrace/millrace/internal/adapter/kafka"
	"github.com/millrace/millrace/internal/pipeline/repair"
	"github.com/millrace/millrace/internal/platform/config"
)

// windowSlack is how much longer than sink.window an event id may be remembered.
const windowSlack = 10 * time.Minute

func newTopicsGrow() *cobra.Command {
	var topic string
	var dryRun bool
	var partitions int
	cmd := &cobra.Command{
		Use:   "grow",
		Short: "Add partitions to a topic, without counting events twice",
		Long: `Adds partitions to a topic that sinks store, so that more sinks share the load. All
daemons keep running: edges find the new partitions within five minutes, and sinks take
them over automatically.

A website that moves to another partition meets a deduplication window without its recent
event ids, so a duplicate within sink.window is stored once more. The command therefore
lists the affected days as dirty first, and queries read them from the events, where a
duplicate counts once. When edges have sent to the new partitions for longer than
sink.window, stop the sinks, run "millrace rollups rebuild", and start them.

Kafka cannot remove partitions. Set kafka.partitions to the new number afterwards.
docs/guides/growing-topics.md describes the whole procedure.`,
		Example: `  millrace topics grow --topic events.v1 --partitions 128 --dry-run
  millrace topics grow --topic events.v1 --partitions 128`,
		Args: cobra.NoArgs,
		RunE: withSettings(func(cmd *cobra.Command, _ []string, s config.Settings) (err error) {
			pipelines := pipelinesOf(s.Sink)
			i := slices.IndexFunc(pipelines, func(l repair.Pipeline) bool { return l.Topic == topic })
			if i < 0 {
				return fmt.Errorf("--topic is %q; it must be one of %s", topic, topicsOf(pipelines))
			}
			store := ledgerstore.NewStore(s.ClickHouse)
			defer func() { err = errors.Join(err, store.Close()) }()
			offsets, err := kafka.NewOffsets(s.Kafka, warnings(cmd))
			if err != nil {
				return err
			}
			defer offsets.Close()
			g, err := repair.Grow(cmd.Context(),
				repair.GrowDeps{Groups: offsets, Log: offsets, Partitions: offsets, Touches: store, Store: store},
				repair.GrowOptions{Pipeline: pipelines[i], Partitions: partitions, Since: time.Now().Add(-s.Sink.Window -
					windowSlack), DryRun: dryRun})
			if err != nil {
				return err
			}
			out := cmd.OutOrStdout()
			if dryRun {
				_, err = fmt.Fprintf(out,
					"nothing was changed; %s would grow from %d to %d partitions, and %d owner days would be listed as dirty\n", topic,
					g.From, g.To, len(g.Days))
				return err
			}
			fmt.Fprintf(out, "%s now has %d partitions instead of %d; %d owner days are listed as dirty\n",
				topic, g.To, g.From, len(g.Days))
			_, err = fmt.Fprintf(out,
				"set kafka.partitions to %d; after %s, stop the sinks, run \"millrace rollups rebuild\", and start them\n", g.To,
				s.Sink.Window+windowSlack)
			return err
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&topic, "topic", "", "`TOPIC` without prefix, such as events.v1 (required)")
	flags.IntVar(&partitions, "partitions", 0, "new `NUMBER` of partitions (required)")
	flags.BoolVar(&dryRun, "dry-run", false, "print what would be done, without doing it")
	return cmd
}
