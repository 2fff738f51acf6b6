package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/millrace/millrace/internal/adapter/load"
	"github.com/millrace/millrace/internal/app/standalone"
	"github.com/millrace/millrace/internal/platform/config"
)

func newLoad() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "load",
		Short: "Send events or questions at a fixed rate and tell how long answers take",
		Long: `Sends requests to a running host at fixed moments, whether it has answered or not.
Latencies count from the moment at which a request was to be sent, so that a host
that stalls is seen to. A line a second goes to standard error, and a report, as
JSON, to standard output in the end; Ctrl-C ends a run early, with its report.

Where to send, a key and a website are read from the dev.env of a standalone on this
machine when no flag says them. A host that limits its callers, as it does by
default, answers 429 to most of this: see limits.enabled.`,
	}
	cmd.AddCommand(newLoadEvents(), newLoadQueries())
	return cmd
}

// loadFlags are those that both commands have.
type loadFlags struct {
	url, key, out string
	websites      []string
	seed          uint64
	opts          load.Options
}

// add adds them.
func (f *loadFlags) add(cmd *cobra.Command, host, scope, unit string, rate float64) {
	flags := cmd.Flags()
	flags.StringVar(&f.url, "url", "", "address of the "+host+" host, such as http://127.0.0.1:8081")
	flags.StringVar(&f.key, "key", "",
		"API `KEY` with the scope "+scope+"; better given in "+config.KeyEnv+", where others do not see it")
	flags.StringSliceVar(&f.websites, "website", nil,
		"website `ID`; may be given again, and the first gets most, by Zipf's law")
	flags.Float64Var(&f.opts.Rate, "rate", rate, unit+" a second")
	flags.DurationVar(&f.opts.Duration, "duration", 30*time.Second, "for how long")
	flags.IntVar(&f.opts.Connections, "connections", 16, "requests that may be under way at once")
	flags.DurationVar(&f.opts.Timeout, "timeout", 30*time.Second, "how long an answer may take")
	flags.Uint64Var(&f.seed, "seed", 1, "what is sent is decided by this number")
	flags.StringVar(&f.out, "out", "-", "`FILE` for the report; - is standard output")
}

// fill reads what no flag says from a standalone's dev.env.
func (f *loadFlags) fill(s config.Settings, urlLine string) error {
	known, err := standalone.DevEnv(s.Data.Dir)
	if err != nil {
		return err
	}
	f.url = cmp.Or(f.url, known[urlLine])
	f.key = cmp.Or(f.key, os.Getenv(config.KeyEnv), known["API_KEY"])
	if id := known["WEBSITE_ID"]; len(f.websites) == 0 && id != "" {
		f.websites = []string{id}
	}
	if f.url == "" {
		return errors.New("--url is missing, and there is no standalone's dev.env to read it from")
	}
	if u, err := url.Parse(f.url); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("--url: %q is no address such as http://127.0.0.1:8081", f.url)
	}
	if len(f.websites) == 0 {
		return errors.New("--website is missing, and there is no standalone's dev.env to read it from")
	}
	return nil
}

// drive sends a work and writes the report.
func (f *loadFlags) drive(cmd *cobra.Command, work load.Work, about any) error {
	f.opts.Progress = cmd.ErrOrStderr()
	send, closeAll := load.HTTP(f.opts.Connections)
	defer closeAll()
	report, err := load.Drive(cmd.Context(), f.opts, work, send)
	if err != nil {
		return err
	}
	report.About = about
	if err := f.write(cmd, report); err != nil {
		return err
	}
	if report.Statuses[load.NoResponse] == report.Requests && report.Requests > 0 {
		return fmt.Errorf("%s does not answer: %s", f.url, report.FirstError)
	}
	return nil
}

// write writes the report to its file, and where that fails to standard
// output: a run may have taken hours.
func (f *loadFlags) write(cmd *cobra.Command, report *load.Report) error {
	text, err := json.MarshalIndent(report, "", "  ")
	if err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	text = append(text, '\n')
	if f.out != "-" {
		if err = os.WriteFile(f.out, text, 0o600); err == nil {
			return nil
		}
	}
	_, failed := cmd.OutOrStdout().Write(text)
	return errors.Join(err, failed)
}

// maxExact is the largest number that every reader of JSON keeps exactly, also one
// that has floats for numbers.
const maxExact = 1 << 53

// exact checks a number that the report tells, so that it can be given again.
func exact(flag string, n uint64) error {
	if n > maxExact {
		return fmt.Errorf("--%s is %d; it must be at most %d", flag, n, maxExact)
	}
	return nil
}

// share checks a share.
func share(flag string, v float64) error {
	if !(v >= 0 && v <= 1) {
		return fmt.Errorf("--%s is %v; it must be from 0 to 1", flag, v)
	}
	return nil
}
