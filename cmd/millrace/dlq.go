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
	for _, k := range deadletter.Reasons {
		fmt.Fprintf(&reasons, "  %-8s  %-11s  %s\n", k.Reason, k.Class, k.Help)
	}
	cmd := &cobra.Command{
		Use:   "dlq",
		Short: "List, replay and park dead letters: records that could not be stored",
		Long: `A record that the sink cannot store goes to the topic named after its own with
` + deadletter.Suffix + ` behind it, whole, with the reason. Letters wait there for 30 days. A
ClickHouse that is away, slow or full makes no dead letters. The reasons and
their classes are

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
		"only letters of this `TOPIC`, such as "+record.TopicEvents+"; may be given more than once")
	flags.StringVar(&f.reason, "reason", "", "only letters of this `REASON`")
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
		err = fmt.Errorf("%q: the topics with dead letters are those of %s", text, strings.Join(letterTopics(), ", "))
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
		Short: "Send dead letters to their topics again",
		Long: `Sends the selected letters to the topics that they came from, with the key, the
value and the headers that they had, so that the events keep their ids and their
times of receipt. Values are never changed: repair first what refused them.

A letter is sent once: what was sent is remembered, also when the command is
killed, and left alone by the next replay unless --again is given. A letter that
was sent 3 times is parked instead. A letter of reason headers would come
straight back, so it needs --force. When a letter cannot be understood, nothing is
sent.

Replayed events are not looked for in the window of recent ids, for they may have
been there as dead letters; the table's key keeps an event that was stored before
from being counted twice, and its day may be listed as one to be answered from the
base table.`,
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
	flags.BoolVar(&f.again, "again", false, "also send letters that were sent or parked before")
	flags.BoolVar(&f.force, "force", false, "also send letters that would come straight back")
	return cmd
}

func newDLQPark() *cobra.Command {
	var f dlqFlags
	cmd := &cobra.Command{
		Use:   "park",
		Short: "Put dead letters aside, so that no replay sends them",
		Long: `Puts the selected letters aside: "dlq ls" lists them only with --parked, and "dlq
replay" sends them only with --again. They stay in their topic for as long as it
keeps them.`,
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
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "print what would be done, and do nothing")
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
	{deadletter.OutcomeAlready, "left alone, done before"},
	{deadletter.OutcomeNeedsForce, "left alone, would come back: --force sends them"},
	{
		deadletter.OutcomeTooLarge,
		"left alone, cut or too large to be sent: the record is in its own topic, while that keeps it",
	},
	{deadletter.OutcomeElsewhere, "left alone, another replay is sending them"},
	{deadletter.OutcomeUnsure, "left alone, a replay that ended long ago may have sent them: --again sends them"},
}

func printOutcomes(out io.Writer, count map[deadletter.Outcome]int, dryRun bool) {
	would := ""
	if dryRun {
		would = " (dry run: nothing was done)"
	}
	if len(count) == 0 {
		fmt.Fprintln(out, "no letters are selected")
	}
	for _, o := range outcomeHelp {
		if n := count[o.what]; n > 0 {
			fmt.Fprintf(out, "%d %s%s\n", n, o.help, would)
		}
	}
}
