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
		Short: "Give a topic more partitions, without counting anything twice",
		Long: `Gives a topic that sinks store more partitions, so that more sinks share the work.
Everything runs on; edges find the new partitions within five minutes, and sinks
take them over by themselves.

A website whose partition changes meets a window of event ids there that has not
seen what the old one has: a resend of what came within sink.window is stored once
more. So the days concerned are listed as dirty before, and answered from the
events themselves, where a resend counts once. When edges have been sending to the
new partitions for longer than sink.window, stop the sinks, run "millrace rollups
rebuild", and start them.

Kafka can not take partitions away again. Set kafka.partitions to the new number
afterwards. docs/guides/growing-topics.md tells all of it.`,
		Example: `  millrace topics grow --topic events.v1 --partitions 128 --dry-run
  millrace topics grow --topic events.v1 --partitions 128`,
		Args: cobra.NoArgs,
		RunE: withSettings(func(cmd *cobra.Command, _ []string, s config.Settings) (err error) {
			pipelines := pipelinesOf(s.Sink)
			i := slices.IndexFunc(pipelines, func(l repair.Pipeline) bool { return l.Topic == topic })
			if i < 0 {
				return fmt.Errorf("--topic: %q is not a topic that sinks store; they are %s", topic, topicsOf(pipelines))
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
					"nothing was changed; %s would grow from %d to %d partitions, and %d days of owners be listed as dirty\n", topic,
					g.From, g.To, len(g.Days))
				return err
			}
			fmt.Fprintf(out, "%s has %d partitions now, %d before; %d days of owners are listed as dirty\n",
				topic, g.To, g.From, len(g.Days))
			_, err = fmt.Fprintf(out,
				"set kafka.partitions to %d; after %s, stop the sinks, run \"millrace rollups rebuild\", and start them\n", g.To,
				s.Sink.Window+windowSlack)
			return err
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&topic, "topic", "", "`TOPIC` without prefix, such as events.v1 (required)")
	flags.IntVar(&partitions, "partitions", 0, "how many it is to have, `N` (required)")
	flags.BoolVar(&dryRun, "dry-run", false, "only say what would be done")
	return cmd
}
