package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/millrace/millrace/internal/adapter/clickhouse/ledgerstore"
	"github.com/millrace/millrace/internal/adapter/kafka"
	"github.com/millrace/millrace/internal/pipeline/repair"
	"github.com/millrace/millrace/internal/pipeline/verify"
	"github.com/millrace/millrace/internal/platform/config"
)

// verifyFlags are the flags of `millrace verify`.
type verifyFlags struct {
	topics       []string
	since, until string
	examples     int
	json         bool
}

// failedError ends a command that could not do its work, where 1 means something
// else.
type failedError struct{ error }

// ExitCode is what main ends with.
func (failedError) ExitCode() int { return 2 }

func (e failedError) Unwrap() error { return e.error }

func newVerify() *cobra.Command {
	var f verifyFlags
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Check that everything in the topics was stored",
		Long: `Reads the event topics again, up to the offsets that are committed at its start. It
checks that ClickHouse holds every event, that every row is an event of a topic, and that
the rollups agree with the events. Sinks may keep running: records in flight do not count
as differences. A day whose rollups differ is checked a second time, a little more than
twice sink.insert_timeout later.

Dead letters and days that were deleted on purpose are counted separately. The days of
the table are UTC days: of the event, or of the receive time for records that are not
events. An owner is the website of an event, or the organization of an event without a
website. The owner of a click is its short link.

  in topic       records
  distinct       different events among these records, without resends of earlier events
  in base        distinct events that are stored
  missing        events neither stored nor accounted for
  unexpected     rows whose event is not at the topic, partition and offset that the
                 row names
  excluded       events of days that were deleted on purpose, and of erased websites
                 and visitors
  dead-lettered  records that became dead letters, and duplicates of them that were
                 received within sink.window
  rollups        owners for which a rollup differs from the events
  changing       owners whose events kept arriving, so that no result is possible

Records that the sinks have not settled yet are not compared. The lines below the table
show their number: a few while sinks run, and everything since the stop if a partition is
halted or no sink runs.

A partition with records but no committed offset counts as a difference too, because
nothing shows whether its records were stored. If the sinks have just started, run the
command again a moment later.

It exits with 0 without differences, with 1 if there are differences, and with 2 if it
could not compare. It reaches no further back than the records of the topics.`,
		Example: `  millrace verify
  millrace verify --since 2h
  millrace verify --topic events.v1 --since 2026-11-20T00:00:00Z --until 2026-11-21T00:00:00Z
  millrace verify --json | jq .total`,
		Args: cobra.NoArgs,
		RunE: withSettings(func(cmd *cobra.Command, _ []string, s config.Settings) error {
			report, err := f.verify(cmd, s)
			if err == nil {
				err = f.print(cmd.OutOrStdout(), report)
			}
			switch {
			case err != nil:
				return failedError{err}
			case !report.Same():
				t := &report.Total
				return fmt.Errorf("found differences: %d events missing, %d rows unexpected, %d days of rollups, %d records "+
					"without a committed offset",
					t.Missing, t.Unexpected, t.Rollups, report.Uncommitted)
			}
			return nil
		}),
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&f.topics, "topic", nil, "only this `TOPIC`, such as events.v1; may be repeated")
	flags.StringVar(&f.since, "since", "24h",
		"only records received since `WHEN`: 24h, or a time such as 2026-11-20T00:00:00Z")
	flags.StringVar(&f.until, "until", "", "only records received before `WHEN` (default: now)")
	flags.IntVar(&f.examples, "examples", 10, "number of differences to show of each kind")
	flags.BoolVar(&f.json, "json", false, "print one JSON object")
	return cmd
}

func (f *verifyFlags) verify(cmd *cobra.Command, s config.Settings) (report *verify.Report, err error) {
	o, err := f.options(s.Sink, time.Now())
	if err != nil {
		return nil, err
	}
	store := ledgerstore.NewStore(s.ClickHouse)
	defer func() { err = errors.Join(err, store.Close()) }()
	offsets, err := kafka.NewOffsets(s.Kafka, warnings(cmd))
	if err != nil {
		return nil, err
	}
	defer offsets.Close()
	return verify.Run(cmd.Context(), offsets, store, o)
}

// settleMargin is what the server may still do after an insert's deadline.
const settleMargin = 5 * time.Second

func (f *verifyFlags) options(cfg config.Sink, now time.Time) (verify.Options, error) {
	o := verify.Options{
		Pipelines: pipelinesOf(cfg), Window: cfg.Window, Settle: 2*cfg.InsertTimeout + settleMargin,
		Examples: max(0, f.examples),
	}
	for _, l := range o.Pipelines {
		o.Known = append(o.Known, l.Topic)
	}
	for _, t := range f.topics {
		if !slices.Contains(o.Known, t) {
			return o, fmt.Errorf("--topic is %q; it must be one of %s", t, topicsOf(o.Pipelines))
		}
	}
	if len(f.topics) > 0 {
		o.Pipelines = slices.DeleteFunc(o.Pipelines,
			func(l repair.Pipeline) bool { return !slices.Contains(f.topics, l.Topic) })
	}
	var err error
	if o.Since, err = parseWhen("--since", f.since, now); err != nil {
		return o, err
	}
	if o.Until, err = parseWhen("--until", f.until, now); err != nil {
		return o, err
	}
	if o.Until.IsZero() {
		o.Until = now
	}
	if !o.Since.Before(o.Until) {
		return o, errors.New("--since must be before --until")
	}
	return o, nil
}

func (f *verifyFlags) print(out io.Writer, r *verify.Report) error {
	if f.json {
		return json.NewEncoder(out).Encode(r)
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "DAY\tIN TOPIC\tDISTINCT\tIN BASE\tMISSING\tUNEXPECTED\tEXCLUDED\tDEAD-LETTERED\tROLLUPS\tCHANGING\t")
	for _, d := range append(slices.Clip(r.Days), r.Total) {
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t\n", d.Date,
			d.InTopic, d.Distinct, d.InBase, d.Missing, d.Unexpected, d.Excluded, d.DeadLettered, d.Rollups, d.Changing)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if err := printUnsettled(out, r.Unsettled); err != nil {
		return err
	}
	for _, e := range r.Examples {
		var err error
		switch e.Kind {
		case verify.RollupDiffers:
			_, err = fmt.Fprintf(out, "%s: %s of %s: %s\n", e.Kind, e.Day, e.Owner, e.Why)
		case verify.Uncommitted:
			_, err = fmt.Fprintf(out, "%s: %s/%d: %s\n", e.Kind, e.Topic, e.Partition, e.Why)
		default:
			_, err = fmt.Fprintf(out, "%s: %s/%d/%d, event %d of %s on %s: %s\n",
				e.Kind, e.Topic, e.Partition, e.Offset, e.EventKey, e.Owner, e.Day, e.Why)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// printUnsettled says of each topic what was not compared.
func printUnsettled(out io.Writer, all []verify.Unsettled) error {
	for len(all) > 0 {
		topic := all[0].Topic
		n := slices.IndexFunc(all, func(u verify.Unsettled) bool { return u.Topic != topic })
		if n < 0 {
			n = len(all)
		}
		most, sum := all[0], int64(0)
		for _, u := range all[:n] {
			if sum += u.Records; u.Records > most.Records {
				most = u
			}
		}
		if _, err := fmt.Fprintf(out, "not compared: up to %d unsettled records of %s, in %d partitions; "+
			"most of them, %d, in partition %d from offset %d on\n",
			sum, topic, n, most.Records, most.Partition, most.From); err != nil {
			return err
		}
		all = all[n:]
	}
	return nil
}
