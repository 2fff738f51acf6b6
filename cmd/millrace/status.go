package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/millrace/millrace/internal/app/standalone"
	"github.com/millrace/millrace/internal/app/status"
)

// statusFlags are the flags of `millrace status`.
type statusFlags struct {
	admins  []string
	timeout time.Duration
	watch   time.Duration
	json    bool
}

func newStatus() *cobra.Command {
	var f statusFlags
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show an installation's health on one screen",
		Long: `Reads Kafka, ClickHouse and the metadata store, and prints one screen: topics with
partitions, sinks and lag, inserts that have started and not finished (PLANS), the age of
the oldest event id that the sinks remember (WINDOW), committed offsets that the ledger
does not cover, days without rollups, rows, parts and disks, migrations, quotas and
versions. It needs no running daemon. With --admin it also queries the daemons at those
addresses.

Parts that do not respond within --timeout are shown as unknown, and the others are still
shown. It exits with 0 when everything is healthy, with 1 when something needs attention,
and with 2 when a part is unknown.`,
		Example: `  millrace status
  millrace status --admin 10.0.0.7:9464,10.0.0.8:9464
  millrace status --watch 5s
  millrace status --json | jq '.kafka.topics[] | {name, lag_seconds}'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, _, err := settingsOf(cmd)
			if errors.Is(err, errShown) {
				return nil
			}
			if err != nil {
				return failedError{err}
			}
			s = standalone.Local(s)
			o := status.Options{Settings: s, Pipelines: pipelinesOf(s.Sink), Admins: f.admins, Timeout: f.timeout}
			return f.run(cmd, o)
		},
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&f.admins, "admin", nil, "admin listeners of daemons to query, `HOST:PORT`, comma-separated")
	flags.DurationVar(&f.timeout, "timeout", 10*time.Second, "maximum time to wait for responses")
	flags.DurationVar(&f.watch, "watch", 0, "repeat at this interval until interrupted")
	flags.BoolVar(&f.json, "json", false, "print one JSON object")
	return cmd
}

func (f *statusFlags) run(cmd *cobra.Command, o status.Options) error {
	ctx, out := cmd.Context(), cmd.OutOrStdout()
	for {
		s := status.Read(ctx, o)
		if f.watch > 0 && !f.json {
			fmt.Fprint(out, "\x1b[H\x1b[2J") // home, clear
		}
		if err := f.print(out, s); err != nil {
			return err
		}
		if f.watch <= 0 {
			return ending(s.State)
		}
		select {
		case <-time.After(f.watch):
		case <-ctx.Done():
			return nil
		}
	}
}

func (f *statusFlags) print(out io.Writer, s *status.Status) error {
	if f.json {
		return json.NewEncoder(out).Encode(s)
	}
	return s.Print(out)
}

// ending is the error that gives the exit code.
func ending(s status.State) error {
	switch s {
	case status.Attention:
		return errors.New("something needs attention, see above")
	case status.Unknown:
		return failedError{errors.New("a part did not respond, see above")}
	case status.Healthy:
	}
	return nil
}
