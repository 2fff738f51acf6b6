package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"

	"github.com/millrace/millrace/internal/adapter/kafka"
	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/pipeline/deadletter"
	"github.com/millrace/millrace/internal/platform/config"
)

func newDLQ() *cobra.Command {
	var reasons strings.Builder
	fmt.Fprintf(&reasons, "  %-8s  %-11s  %s\n", "REASON", "CLASS", "MEANING")
	for _, k := range deadletter.Reasons {
		fmt.Fprintf(&reasons, "  %-8s  %-11s  %s\n", k.Reason, k.Class, k.Help)
	}
	cmd := &cobra.Command{
		Use:   "dlq",
		Short: "List, replay or set aside dead letters: records that could not be stored",
		Long: `The sink writes a record that it cannot store to a dead-letter topic, which is named
after the record's topic with the suffix ` + deadletter.Suffix + `. A letter holds the whole record and
the reason, and is kept for 30 days. A ClickHouse server that is unavailable, slow or
full causes no dead letters. The reasons and their classes are:

` + strings.TrimSuffix(reasons.String(), "\n"),
	}
	cmd.AddCommand(newDLQList(), newDLQShow(), newDLQReplay(), newDLQPark())
	return cmd
}

// dlqFlags are the flags that select letters.
type dlqFlags struct {
	topics                                  []string
	reason, class, website, organization    string
	since, until, position                  string
	limit                                   int
	json, all, parked, dryRun, again, force bool
}

func (f *dlqFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVar(&f.topics, "topic", nil,
		"only letters of this `TOPIC`, such as "+record.TopicEvents+"; may be repeated")
	flags.StringVar(&f.reason, "reason", "", "only letters with this `REASON`")
	flags.StringVar(&f.class, "class", "", "only letters of this `CLASS`")
	flags.StringVar(&f.website, "website", "", "only letters of this website `ID`")
	flags.StringVar(&f.organization, "organization", "", "only letters of this organization `ID`")
	flags.StringVar(&f.since, "since", "",
		"only letters written since `WHEN`: 10m, 24h, or a time such as 2026-11-21T08:00:00Z")
	flags.StringVar(&f.until, "until", "", "only letters written before `WHEN`")
}

// letterTopics are the topics that have dead letters.
func letterTopics() []string {
	var names []string
	for _, t := range kafka.Topics {
		if name, ok := strings.CutSuffix(t.Name, deadletter.Suffix); ok {
			names = append(names, name)
		}
	}
	return names
}

func (f *dlqFlags) filter(now time.Time) (deadletter.Filter, error) {
	filter := deadletter.Filter{
		Topics: letterTopics(), Reason: deadletter.Reason(f.reason), Class: deadletter.Class(f.class),
		Website: f.website, Organization: f.organization,
	}
	if len(f.topics) > 0 {
		filter.Topics = nil
	}
	for _, t := range f.topics {
		t = strings.TrimSuffix(t, deadletter.Suffix)
		if !slices.Contains(letterTopics(), t) {
			return filter, fmt.Errorf("--topic: %q has no dead letters; the topics that have are %s",
				t, strings.Join(letterTopics(), ", "))
		}
		filter.Topics = append(filter.Topics, t)
	}
	var errs [3]error
	filter.Since, errs[0] = parseSince(f.since, now)
	if filter.Until, errs[1] = parseSince(f.until, now); errs[1] != nil {
		errs[1] = errors.New(strings.Replace(errs[1].Error(), "--since", "--until", 1))
	}
	if f.position != "" {
		at, err := parsePosition(f.position)
		filter.Position, errs[2] = &at, err
	}
	return filter, errors.Join(append(errs[:], filter.Check())...)
}

// parsePosition reads the place of a letter.
func parsePosition(text string) (record.Position, error) {
	at, err := deadletter.ParsePosition(text)
	if err == nil && !slices.Contains(letterTopics(), strings.TrimSuffix(at.Topic, deadletter.Suffix)) {
		err = fmt.Errorf("%q: the topic must be one of %s, or its dead-letter topic", text, strings.Join(letterTopics(), ", "+
			""))
	}
	if err == nil && !strings.HasSuffix(at.Topic, deadletter.Suffix) {
		at.Topic += deadletter.Suffix
	}
	return at, err
}

// deadLetterService returns the service of a command, and what disconnects it.
func deadLetterService(cmd *cobra.Command, s config.Settings, sends bool) (*deadletter.Service, func() error, error) {
	log := slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), &slog.HandlerOptions{Level: slog.LevelWarn}))
	deps, done := deadletter.Deps{Reader: kafka.NewLog(s.Kafka, log)}, func() error { return nil }
	if sends {
		producer, err := kafka.NewProducer(s.Kafka, kafka.ProducerDeps{
			Client: "dlq", Deadline: sendDeadline, Log: log, Metrics: prometheus.NewRegistry(),
		})
		if err != nil {
			return nil, nil, err
		}
		deps.Publisher, done = producer, func() error { return producer.Close(cmd.Context()) }
	}
	return deadletter.New(deps), done, nil
}

// sendDeadline is how long a command waits for the acknowledgements of a batch.
const sendDeadline = 30 * time.Second

func newDLQReplay() *cobra.Command {
	var f dlqFlags
	cmd := &cobra.Command{
		Use:   "replay",
		Short: "Send dead letters to their original topics again",
		Long: `Sends the selected letters to the topics they came from, with their original key, value
and headers, so that the events keep their ids and receive times. Replay never changes a
value: repair the cause of the rejection first.

Each letter is sent once. Millrace records what was sent, even when the command is
killed, and the next replay skips it unless --again is given. If the sink rejects a sent
record again, the record becomes a new letter. After 3 replays of a record, replay parks
its next letter and never sends it, even with --again. A letter with the reason headers
would be rejected again, so it needs --force. If any letter cannot be decoded, nothing is
sent.

The sink does not check replayed events against its deduplication window. The window may
already contain their ids, because it also records the events that become dead letters.
An event that was stored before still counts once, because the table keeps one row per
event. The day of such an event may be listed as dirty; queries then read that day from
the base table.`,
		Example: `  millrace dlq replay --reason refused --dry-run
  millrace dlq replay --reason refused --website web_01JD… --since 24h
  millrace dlq replay --position events.v1.dlq/3/1041 --again`,
		Args: cobra.NoArgs,
		RunE: withSettings(func(cmd *cobra.Command, _ []string, s config.Settings) error {
			return f.work(cmd, s, func(
				service *deadletter.Service, filter deadletter.Filter, report func(*deadletter.Letter, deadletter.Outcome),
			) error {
				return service.Replay(cmd.Context(), filter,
					deadletter.Options{DryRun: f.dryRun, Again: f.again, Force: f.force}, report)
			})
		}),
	}
	f.add(cmd)
	f.addWork(cmd)
	flags := cmd.Flags()
	flags.BoolVar(&f.again, "again", false, "also send letters that were sent or parked before, except after 3 replays")
	flags.BoolVar(&f.force, "force", false, "also send letters that are likely to be rejected again")
	return cmd
}

func newDLQPark() *cobra.Command {
	var f dlqFlags
	cmd := &cobra.Command{
		Use:   "park",
		Short: "Park dead letters, so that no replay sends them",
		Long: `Marks the selected letters as parked: "dlq ls" lists them only with --parked, and "dlq
replay" sends them only with --again. They stay in their topic until its retention
removes them.`,
		Example: `  millrace dlq park --reason value --until 2026-11-21T08:00:00Z
  millrace dlq park --position events.v1.dlq/3/1041`,
		Args: cobra.NoArgs,
		RunE: withSettings(func(cmd *cobra.Command, _ []string, s config.Settings) error {
			return f.work(cmd, s, func(
				service *deadletter.Service, filter deadletter.Filter, report func(*deadletter.Letter, deadletter.Outcome),
			) error {
				return service.Park(cmd.Context(), filter, f.dryRun, report)
			})
		}),
	}
	f.add(cmd)
	f.addWork(cmd)
	return cmd
}

func (f *dlqFlags) addWork(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.position, "position", "", "only the letter at this `POSITION`, as \"dlq ls\" prints it")
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "print what would be done, without doing it")
}

// work runs a command that changes something, and prints what it did.
func (f *dlqFlags) work(
	cmd *cobra.Command, s config.Settings,
	do func(*deadletter.Service, deadletter.Filter, func(*deadletter.Letter, deadletter.Outcome)) error,
) (err error) {
	filter, err := f.filter(time.Now())
	if err != nil {
		return err
	}
	service, done, err := deadLetterService(cmd, s, true)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	out, count := cmd.OutOrStdout(), map[deadletter.Outcome]int{}
	err = do(service, filter, func(l *deadletter.Letter, what deadletter.Outcome) {
		count[what]++
		if f.dryRun || what != deadletter.OutcomeSent && what != deadletter.OutcomeAlready {
			fmt.Fprintf(out, "%s  %s  %s from %s, hops %d\n",
				deadletter.FormatPosition(l.Position), what, l.Reason, deadletter.FormatPosition(l.Source), l.Hops)
		}
	})
	printOutcomes(out, count, f.dryRun)
	return err
}

// outcomeHelp says what the outcomes mean, in the order of printing.
var outcomeHelp = []struct {
	what deadletter.Outcome
	help string
}{
	{deadletter.OutcomeSent, "sent again"},
	{deadletter.OutcomeParked, "parked"},
	{deadletter.OutcomeAlready, "skipped, handled before"},
	{deadletter.OutcomeNeedsForce, "skipped, likely to be rejected again: --force sends them"},
	{
		deadletter.OutcomeTooLarge,
		"skipped, truncated or too large to send: the record is in its own topic until retention removes it",
	},
	{deadletter.OutcomeElsewhere, "skipped, another replay is sending them"},
	{deadletter.OutcomeUnsure, "skipped, an earlier replay may have sent them: --again sends them"},
}

func printOutcomes(out io.Writer, count map[deadletter.Outcome]int, dryRun bool) {
	would := ""
	if dryRun {
		would = " (dry run: nothing was changed)"
	}
	if len(count) == 0 {
		fmt.Fprintln(out, "no letters selected")
	}
	for _, o := range outcomeHelp {
		if n := count[o.what]; n > 0 {
			fmt.Fprintf(out, "%d %s%s\n", n, o.help, would)
		}
	}
}
