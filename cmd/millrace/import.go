package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"

	"github.com/millrace/millrace/internal/adapter/kafka"
	"github.com/millrace/millrace/internal/adapter/store"
	"github.com/millrace/millrace/internal/pipeline/enrich"
	"github.com/millrace/millrace/internal/pipeline/importer"
	"github.com/millrace/millrace/internal/pipeline/ingest"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/privacy/salt"
	"github.com/millrace/millrace/internal/tenant/auth"
)

// What stands behind a file's name for what an import makes beside it.
const (
	stateSuffix      = ".import-state"
	rejectionsSuffix = ".errors.ndjson"
)

// importFlags are the flags of `millrace import`.
type importFlags struct {
	key, website, format, state, rejections string
	dryRun                                  bool
}

func newImport() *cobra.Command {
	var f importFlags
	cmd := &cobra.Command{
		Use:   "import FILE…",
		Short: "Import files of events into the backfill topic",
		Long: `Imports events from files. The events have the fields of POST /track, as NDJSON with one
event a line, or as CSV with one event a row and a header of field names. Files may be
compressed with gzip or zstd. The name - means standard input, which is copied to a
temporary file first. The command checks each event as POST /track does, for an API key
with the scope track:events. All events go to events.backfill.v1, regardless of age, so
history does not slow down live events.

In CSV, a property has a column of its own such as properties.plan, or the column
properties holds a JSON object with all of them. An empty cell means that the field is
absent. In the column of a property, numbers, true and false keep their type, and other
values are text.

The progress is kept in FILE` + stateSuffix + `. After a stop or a crash the same command
continues from there, and no event is stored twice. Events without an eventId get an id
that is computed from the file's content and the line. Events without a timestamp get the
modification time of the file. Rejected lines are listed in FILE` + rejectionsSuffix + ` with
line, field and rule. The other lines are still imported, and the command fails at the
end.

Files whose events are sorted by month are stored faster.`,
		Example: `  MILLRACE_API_KEY=mlr_… millrace import --website web_01JD… 2024.ndjson.gz
  MILLRACE_API_KEY=mlr_… millrace import --dry-run events.csv
  zcat old/*.gz | MILLRACE_API_KEY=mlr_… millrace import --format ndjson --state old.state -`,
		Args: cobra.MinimumNArgs(1),
		RunE: withStore(f.run),
	}
	flags := cmd.Flags()
	flags.StringVar(&f.key, "key", "",
		"API `KEY` with the scope track:events; prefer "+config.KeyEnv+", which other users cannot see")
	flags.StringVar(&f.website, "website", "", "website `ID` or client id for events without a website")
	flags.StringVar(&f.format, "format", "", "`FORMAT` of the files, ndjson or csv (default: by file name)")
	flags.StringVar(&f.state, "state", "", "`FILE` for the progress of the import (default: beside the events)")
	flags.StringVar(&f.rejections, "errors", "", "`FILE` for rejected lines (default: beside the events)")
	flags.BoolVar(&f.dryRun, "dry-run", false, "check every line and print the rejected ones, without sending any")
	return cmd
}

func (f *importFlags) run(cmd *cobra.Command, files []string, s config.Settings, db *store.Store) (err error) {
	if len(files) > 1 && (f.state != "" || f.rejections != "") {
		return errors.New("--state and --errors require a single file")
	}
	if f.key == "" {
		f.key = os.Getenv(config.KeyEnv)
	}
	if f.key == "" {
		return errors.New("either --key or " + config.KeyEnv + " is required")
	}
	ctx, log := cmd.Context(), slog.New(slog.NewTextHandler(cmd.ErrOrStderr(),
		&slog.HandlerOptions{Level: slog.LevelWarn}))
	if !f.dryRun {
		if err := kafka.CheckTopics(ctx, s.Kafka); err != nil {
			return err
		}
	}
	producer, err := kafka.NewProducer(s.Kafka, kafka.ProducerDeps{
		Client: "import", Deadline: sendDeadline, Log: log, Metrics: prometheus.NewRegistry(),
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, producer.Close(context.WithoutCancel(ctx))) }()
	access := auth.New(
		auth.Config{KeyPrefix: s.Key.Prefix, Fresh: s.Lookup.Fresh, Stale: s.Lookup.Stale}, auth.Deps{Keys: db, Websites: db},
	)
	defer access.Close()
	principal, err := access.Key(ctx, []byte(f.key), auth.From{}) // a file comes from no address
	if err != nil {
		return importer.Explain(err)
	}
	target := f.website
	if target == "" {
		target = principal.WebsiteID
	}
	// The files' events have no visitor, but websites have rules about their paths.
	enricher, err := enrich.New(enrich.Config{}, enrich.Deps{Log: log})
	if err != nil {
		return err
	}
	defer enricher.Close()
	acceptor := ingest.New(ingest.Deps{
		Access: access, Salts: salt.New(db, log, nil), Publisher: producer, Metrics: prometheus.NewRegistry(),
		Enrich: enricher,
	})
	rejected := int64(0)
	for _, file := range files {
		p, err := f.one(cmd, acceptor, file, principal.OrganizationID+"/"+target)
		if err != nil {
			return fmt.Errorf("%s: %w", file, importer.Explain(err))
		}
		rejected += p.Rejected
	}
	if rejected > 0 {
		return fmt.Errorf("%d lines were rejected", rejected)
	}
	return nil
}

// one imports a file.
func (f *importFlags) one(
	cmd *cobra.Command, acceptor importer.Acceptor, file, target string,
) (p importer.Progress, err error) {
	opts := importer.Options{
		Path: file, Format: importer.Format(f.format), Target: target, Key: f.key, WebsiteID: f.website,
		Checkpoint: file + stateSuffix, Rejections: file + rejectionsSuffix, DryRun: f.dryRun,
		RejectionsOut: cmd.OutOrStdout(),
	}
	if file == "-" {
		dir, made := os.MkdirTemp("", "millrace-import-")
		if made != nil {
			return p, made
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
		opts.Path, opts.DefaultTime = filepath.Join(dir, "stdin"), time.Now()
		opts.Checkpoint, opts.Rejections = filepath.Join(dir, "state"), "stdin"+rejectionsSuffix
		if err := spool(opts.Path, cmd.InOrStdin()); err != nil {
			return p, err
		}
	}
	if f.state != "" {
		opts.Checkpoint = f.state
	}
	if f.rejections != "" {
		opts.Rejections = f.rejections
	}
	switch opts.Format {
	case importer.NDJSON, importer.CSV:
	case "":
		if opts.Format, err = importer.FormatOf(file); err != nil {
			return p, err
		}
	default:
		return p, fmt.Errorf("unknown format %q; the formats are %s and %s", f.format, importer.NDJSON, importer.CSV)
	}
	meter := newMeter(cmd.ErrOrStderr(), file)
	opts.Progress = meter.tick
	p, err = importer.Run(cmd.Context(), acceptor, opts)
	meter.end(p, opts)
	return p, err
}

// spool copies standard input, so that it can be read twice.
func spool(path string, in io.Reader) error {
	out, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		return errors.Join(fmt.Errorf("copying standard input: %w", err), out.Close())
	}
	return out.Close()
}

// meter tells how an import goes on.
type meter struct {
	out      io.Writer
	name     string
	terminal bool
	begun    time.Time
	told     time.Time
}

// How often the meter tells, on a terminal and elsewhere.
const (
	terminalEvery = 200 * time.Millisecond
	logEvery      = 10 * time.Second
)

func newMeter(out io.Writer, name string) *meter {
	m := &meter{out: out, name: name, begun: time.Now()}
	m.told = m.begun
	if file, ok := out.(*os.File); ok {
		info, err := file.Stat()
		m.terminal = err == nil && info.Mode()&os.ModeCharDevice != 0
	}
	return m
}

func (m *meter) tick(p importer.Progress) {
	every := logEvery
	if m.terminal {
		every = terminalEvery
	}
	if now := time.Now(); now.Sub(m.told) >= every {
		m.told = now
		m.print(p, m.terminal)
	}
}

func (m *meter) print(p importer.Progress, over bool) {
	start, end := "", "\n"
	if m.terminal {
		start = "\r\x1b[K"
	}
	if over {
		end = ""
	}
	rate := float64(p.Sent) / max(time.Since(m.begun).Seconds(), 0.001)
	fmt.Fprintf(m.out, "%s%s: %3.0f %%, %d lines, %d events, %d rejected, %.0f events/s%s",
		start, m.name, 100*p.Ratio, p.Lines, p.Accepted, p.Rejected, rate, end)
}

// end prints the summary.
func (m *meter) end(p importer.Progress, opts importer.Options) {
	m.print(p, false)
	switch {
	case p.Done && p.Sent == 0 && p.Accepted > 0 && !opts.DryRun:
		fmt.Fprintf(m.out, "%s: already imported; delete %s to import it again\n", m.name, opts.Checkpoint)
	case !p.Done && p.Lines > 0 && !opts.DryRun:
		fmt.Fprintf(m.out, "%s: stopped after line %d; run the same command to continue\n", m.name, p.Lines)
	}
	if p.Rejected > 0 && !opts.DryRun {
		fmt.Fprintf(m.out, "%s: rejected lines are in %s\n", m.name, opts.Rejections)
	}
}
