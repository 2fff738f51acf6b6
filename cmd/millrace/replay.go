package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/millrace/millrace/internal/adapter/clickhouse/ledgerstore"
	"github.com/millrace/millrace/internal/adapter/kafka"
	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/pipeline/repair"
	"github.com/millrace/millrace/internal/platform/config"
)

// replayFlags are the flags of `millrace replay`.
type replayFlags struct {
	topic, from  string
	partitions   []int
	offset       int64
	skip, dryRun bool
	allTopics    bool
}

func newReplay() *cobra.Command {
	var f replayFlags
	cmd := &cobra.Command{
		Use:   "replay",
		Short: "Reset stopped sinks to an earlier offset, so that they store records of a topic again",
		Long: `Sets the committed offsets of a topic's consumer group, from which the sinks continue when
they are started. Stop the sinks of that topic first; edges and query hosts may keep
running.

Backward, with --offset or --from: the sinks store the records from that point again.
New insert tokens keep ClickHouse from dropping them as duplicates. The table keeps an
event that it already holds only once, but the rollups count it twice. The command
therefore lists those days as dirty first, and queries read them from the events. Start
the sinks, let them catch up, stop them, and run "millrace rollups rebuild".

Forward, with --skip: the sinks leave out records that were never stored, and the ledger
records the gap. Use it for a partition that is halted because retention removed the
records that it needs next.

With --all-topics and --from the command goes backward in every topic that sinks store.
Use it after ClickHouse was lost or restored from a backup. A time before the oldest record
of a topic means all records of the topic.

--dry-run prints what would be done. If the command is interrupted, run it again to
complete it.`,
		Example: `  millrace replay --topic events.v1 --from 2h --dry-run
  millrace replay --topic events.v1 --from 2026-11-21T08:00:00Z
  millrace replay --all-topics --from 2026-11-21T08:00:00Z
  millrace replay --topic events.v1 --partitions 3 --offset 120000
  millrace replay --topic events.v1 --partitions 3 --offset 150000 --skip`,
		Args: cobra.NoArgs,
		RunE: withSettings(func(cmd *cobra.Command, _ []string, s config.Settings) (err error) {
			options, err := f.options(cmd, s.Sink)
			if err != nil {
				return err
			}
			store := ledgerstore.NewStore(s.ClickHouse)
			defer func() { err = errors.Join(err, store.Close()) }()
			offsets, err := kafka.NewOffsets(s.Kafka, warnings(cmd))
			if err != nil {
				return err
			}
			defer offsets.Close()
			return f.replay(cmd, repair.ReplayDeps{Groups: offsets, Log: offsets, Store: store}, options)
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&f.topic, "topic", "", "`TOPIC` without prefix, such as events.v1 (required without --all-topics)")
	flags.BoolVar(&f.allTopics, "all-topics", false, "every topic that sinks store")
	flags.IntSliceVar(&f.partitions, "partitions", nil, "only these partitions, such as 0,3")
	flags.Int64Var(&f.offset, "offset", -1, "continue at this `OFFSET`")
	flags.StringVar(&f.from, "from", "",
		"continue at the records received since `WHEN`: 2h, or a time such as 2026-11-21T08:00:00Z")
	flags.BoolVar(&f.skip, "skip", false, "leave out records that were never stored")
	flags.BoolVar(&f.dryRun, "dry-run", false, "print what would be done, without doing it")
	return cmd
}

// replay does one topic after the other. With --all-topics, one that stands right
// already is none to stop at.
func (f *replayFlags) replay(cmd *cobra.Command, d repair.ReplayDeps, all []repair.ReplayOptions) error {
	out := cmd.OutOrStdout()
	for i := range all {
		if f.allTopics {
			fmt.Fprintf(out, "%s:\n", all[i].Pipeline.Topic)
		}
		moves, err := repair.Replay(cmd.Context(), d, all[i])
		if f.allTopics && errors.Is(err, repair.ErrNothing) {
			fmt.Fprintln(out, err)
			continue
		}
		if err != nil {
			return err
		}
		if err := printMoves(out, moves, f.dryRun); err != nil {
			return err
		}
	}
	return nil
}

// options returns what to do with each topic.
func (f *replayFlags) options(cmd *cobra.Command, cfg config.Sink) ([]repair.ReplayOptions, error) {
	pipelines := pipelinesOf(cfg)
	if f.allTopics {
		if f.topic != "" || f.from == "" || len(f.partitions) > 0 || f.skip {
			return nil, errors.New("--all-topics requires --from, and excludes --topic, --partitions and --skip")
		}
	} else if pipelines = slices.DeleteFunc(pipelines,
		func(l repair.Pipeline) bool { return l.Topic != f.topic }); len(pipelines) == 0 {
		return nil, fmt.Errorf("--topic is %q; it must be one of %s",
			f.topic, topicsOf(pipelinesOf(cfg)))
	}
	all := make([]repair.ReplayOptions, len(pipelines))
	for i, l := range pipelines {
		var err error
		if all[i], err = f.optionsOf(cmd, l); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func (f *replayFlags) optionsOf(cmd *cobra.Command, pipeline repair.Pipeline) (repair.ReplayOptions, error) {
	o := repair.ReplayOptions{Pipeline: pipeline, Offset: f.offset, Skip: f.skip, DryRun: f.dryRun}
	if hasOffset := cmd.Flags().Changed("offset"); hasOffset == (f.from != "") {
		return o, errors.New("either --offset or --from is required")
	} else if hasOffset && f.offset < 0 {
		return o, errors.New("--offset must not be negative")
	}
	from, err := parseWhen("--from", f.from, time.Now())
	if err != nil {
		return o, err
	}
	o.From = from.UnixMilli()
	for _, p := range f.partitions {
		if p < 0 || p > 1<<30 {
			return o, fmt.Errorf("--partitions: %d is not a partition", p)
		}
		o.Partitions = append(o.Partitions, int32(p))
	}
	return o, nil
}

func printMoves(out io.Writer, moves []repair.Move, dryRun bool) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "PARTITION\tCOMMITTED\tCONTINUES AT\tSTORED AGAIN\tLEFT OUT\tDAYS")
	for i := range moves {
		m := &moves[i]
		committed := "-"
		if m.Committed >= 0 {
			committed = strconv.FormatInt(m.Committed, 10)
		}
		fmt.Fprintf(w, "%d\t%s\t%d\t%d\t%d\t%d\n", m.Partition, committed, m.To, m.Again, m.Skipped, len(m.Days))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	days := len(repair.Days(moves))
	if dryRun {
		_, err := fmt.Fprintf(out, "nothing was changed; %d owner days would be listed as dirty\n", days)
		return err
	}
	fmt.Fprintf(out, "done; %d owner days are listed as dirty. Start the sinks.\n", days)
	if days > 0 {
		fmt.Fprintln(out, `When they have caught up, stop them, run "millrace rollups rebuild", and start them again.`)
	}
	return nil
}

// pipelinesOf returns the topics that sinks store, each with its group.
func pipelinesOf(cfg config.Sink) []repair.Pipeline {
	all := []repair.Pipeline{
		{Topic: record.TopicEvents, Group: cfg.Group},
		{Topic: record.TopicEventsBackfill, Group: kafka.BackfillGroup(cfg.Group)},
	}
	for _, topic := range kafka.WebTopics {
		all = append(all, repair.Pipeline{Topic: topic, Group: kafka.WebGroup(cfg.Group)})
	}
	for _, topic := range kafka.ClickTopics {
		all = append(all, repair.Pipeline{Topic: topic, Group: kafka.ClickGroup(cfg.Group)})
	}
	for _, topic := range kafka.ExposureTopics {
		all = append(all, repair.Pipeline{Topic: topic, Group: kafka.ExposureGroup(cfg.Group)})
	}
	return all
}

// groupsOf returns the consumer groups of pipelines, each once.
func groupsOf(pipelines []repair.Pipeline) (names []string) {
	for _, l := range pipelines {
		if !slices.Contains(names, l.Group) {
			names = append(names, l.Group)
		}
	}
	return names
}

func topicsOf(pipelines []repair.Pipeline) string {
	names := make([]string, len(pipelines))
	for i, l := range pipelines {
		names[i] = l.Topic
	}
	return strings.Join(names, ", ")
}
