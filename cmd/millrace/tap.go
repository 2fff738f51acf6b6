package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/millrace/millrace/internal/adapter/kafka"
	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/contract/wire"
	"github.com/millrace/millrace/internal/platform/config"
)

// tapFlags are the flags of `millrace tap`.
type tapFlags struct {
	website, kind, since string
	exit, raw            bool
}

func newTap() *cobra.Command {
	var f tapFlags
	cmd := &cobra.Command{
		Use:   "tap [topic]",
		Short: "Print a topic's records as they arrive",
		Long: `Prints the records of a topic, events.v1 by default, one line each: receive time,
partition and offset, owner, type, name and properties. It joins no consumer group, so it
does not affect other consumers. It runs until Ctrl-C, or with --exit until the last
record that was in the topic at its start.`,
		Example: `  millrace tap
  millrace tap --since 10m --website web_01JD… --exit
  millrace tap events.v1 --type custom --json | jq .properties
  millrace tap events.v1.dlq --exit`,
		Args: cobra.MaximumNArgs(1),
		RunE: withSettings(func(cmd *cobra.Command, args []string, s config.Settings) error {
			topic := record.TopicEvents
			if len(args) > 0 {
				topic = args[0]
			}
			since, err := parseSince(f.since, time.Now())
			if err != nil {
				return err
			}
			opts := kafka.TapOptions{
				Topic: topic, Since: since, Exit: f.exit,
				Log: slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), &slog.HandlerOptions{Level: slog.LevelWarn})),
			}
			err = kafka.Tap(cmd.Context(), s.Kafka, opts, func(r *kafka.Tapped) error {
				if !f.wants(r) {
					return nil
				}
				return f.print(cmd.OutOrStdout(), r)
			})
			if !f.exit && cmd.Context().Err() != nil && errors.Is(err, context.Canceled) {
				return nil // that is how it ends
			}
			return err
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&f.website, "website", "", "only records of this website `ID`")
	flags.StringVar(&f.kind, "type", "", "only records of this `TYPE`, such as custom")
	flags.StringVar(&f.since, "since", "",
		"only records received since `WHEN`: 10m, 24h, or a time such as 2026-11-21T08:00:00Z")
	flags.BoolVar(&f.exit, "exit", false, "exit after the records that are in the topic now")
	flags.BoolVar(&f.raw, "json", false, "print each record's value unchanged")
	return cmd
}

// parseSince reads the value of --since.
func parseSince(text string, now time.Time) (time.Time, error) {
	return parseWhen("--since", text, now)
}

// parseWhen reads a duration before now, or a time; zero when there is none.
func parseWhen(flag, text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if d, err := time.ParseDuration(text); err == nil {
		return now.Add(-d.Abs()), nil
	}
	for _, layout := range []string{time.RFC3339, time.DateTime, time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("%s must be a duration such as 10m or a time such as %[3]s, not %[2]q",
		flag, text, now.UTC().Format(time.RFC3339))
}

func (f *tapFlags) wants(r *kafka.Tapped) bool {
	return (f.website == "" || r.Header(record.HeaderWebsite) == f.website) &&
		(f.kind == "" || r.Header(record.HeaderType) == f.kind)
}

func (f *tapFlags) print(w io.Writer, r *kafka.Tapped) error {
	text := string(r.Value)
	if !f.raw {
		text = readable(r)
	}
	_, err := fmt.Fprintln(w, text)
	return err
}

// readable is a record on one line.
func readable(r *kafka.Tapped) string {
	var value struct {
		Name       string          `json:"name"`
		Path       string          `json:"path"`
		Properties json.RawMessage `json:"properties"`
	}
	parts := []string{
		r.Time.UTC().Format(wire.TimeLayout),
		fmt.Sprintf("%d/%d", r.Position.Partition, r.Position.Offset),
		string(r.Key),
		r.Header(record.HeaderType),
	}
	if err := json.Unmarshal(r.Value, &value); err != nil || value.Name == "" {
		return strings.Join(append(parts, oneLine(r.Value)), "  ")
	}
	for _, part := range []string{value.Name, value.Path, oneLine(value.Properties)} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, "  ")
}

// oneLine keeps a value from breaking the line.
func oneLine(value []byte) string {
	var compact bytes.Buffer
	if err := json.Compact(&compact, value); err != nil {
		return strings.Join(strings.Fields(string(value)), " ")
	}
	return compact.String()
}
