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
		Short: "Send events or queries at a fixed rate and report the latencies",
		Long: `Sends requests to a running host at fixed times, whether or not it has responded to
earlier ones. Latencies count from the scheduled time of a request, so a host that stalls
shows in the figures. The command prints one line a second to standard error, and a JSON
report to standard output at the end. Ctrl-C ends a run early and still prints the
report.

Without the flags, the command reads the URL, the key and the website from the dev.env of
a standalone on this machine. A host that limits its callers, as hosts do by default,
responds with 429 to most of the requests: see limits.enabled.`,
	}
	cmd.AddCommand(newLoadEvents(), newLoadQueries())
	return cmd
}

// loadFlags are those that both commands have.
type loadFlags struct {
	example       string // of url
	url, key, out string
	websites      []string
	seed          uint64
	opts          load.Options
}

// add adds them.
func (f *loadFlags) add(cmd *cobra.Command, host, scope, unit string, rate float64) {
	flags := cmd.Flags()
	flags.StringVar(&f.url, "url", "", "`URL` of the "+host+" host, such as "+f.example)
	flags.StringVar(&f.key, "key", "",
		"API `KEY` with the scope "+scope+"; prefer "+config.KeyEnv+", which other users cannot see")
	flags.StringSliceVar(&f.websites, "website", nil,
		"website `ID`; may be repeated, and the first gets the largest share, by Zipf's law")
	flags.Float64Var(&f.opts.Rate, "rate", rate, unit+" a second")
	flags.DurationVar(&f.opts.Duration, "duration", 30*time.Second, "how long to send")
	flags.IntVar(&f.opts.Connections, "connections", 16, "maximum number of requests in flight")
	flags.DurationVar(&f.opts.Timeout, "timeout", 30*time.Second, "how long to wait for a response")
	flags.Uint64Var(&f.seed, "seed", 1, "seed of the random choice of requests")
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
		return errors.New("--url is required, because no dev.env of a standalone was found")
	}
	if u, err := url.Parse(f.url); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("--url must be a URL such as %s, not %q", f.example, f.url)
	}
	if len(f.websites) == 0 {
		return errors.New("--website is required, because no dev.env of a standalone was found")
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
		return fmt.Errorf("%s does not respond: %s", f.url, report.FirstError)
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
