package importer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/pipeline/ingest"
)

// Acceptor takes events in; *ingest.Acceptor is one.
type Acceptor interface {
	Import(ctx context.Context, in ingest.Import, rejected func(i int, why *apierr.Error)) (accepted int, err error)
}

// Options say what is imported.
type Options struct {
	// Path is a regular file.
	Path   string
	Format Format
	// Target names whose the events are: a checkpoint for another one is rejected.
	Target string
	// Key is the API key; WebsiteID the target of events that name none, empty for
	// what the key is for.
	Key, WebsiteID string
	// Checkpoint and Rejections are paths of files that are made.
	Checkpoint, Rejections string
	// DefaultTime is when events without a timestamp took place; zero for the
	// file's own time.
	DefaultTime time.Time
	// DryRun checks every line, publishes nothing and keeps no checkpoint; what is
	// rejected is written to RejectionsOut.
	DryRun        bool
	RejectionsOut io.Writer
	// Progress is told after each batch; nil for nobody.
	Progress func(Progress)
}

// Progress is how far an import has come.
type Progress struct {
	Lines    int64 // of the file, settled: in this run or before
	Accepted int64 // events; in a dry run those that would be
	Rejected int64 // lines
	Sent     int64 // of Accepted, in this run
	Ratio    float64
	Done     bool
}

// Retries of what may pass: stores and brokers that are away.
const (
	firstRetry = 250 * time.Millisecond
	lastRetry  = 8 * time.Second
	patience   = 2 * time.Minute
)

// run is one import.
type run struct {
	acceptor   Acceptor
	opts       Options
	src        *source
	at         checkpoint
	rejections *rejections
	sent       int64
}

// Run imports a file, or what is left of it. Rejected lines are no error; after
// one, what was settled stands in the checkpoint, and another Run goes on there.
func Run(ctx context.Context, a Acceptor, opts Options) (p Progress, err error) {
	r := &run{acceptor: a, opts: opts}
	if r.src, err = openSource(opts.Path); err != nil {
		return p, err
	}
	defer func() { err = errors.Join(err, r.src.Close()) }()
	r.at = checkpoint{
		Version: checkpointVersion, File: r.src.identity, Target: opts.Target, DefaultTime: r.src.modified.UnixMilli(),
	}
	if !opts.DefaultTime.IsZero() {
		r.at.DefaultTime = opts.DefaultTime.UnixMilli()
	}
	var out io.Writer
	if opts.DryRun {
		out = opts.RejectionsOut
	} else if r.at, err = loadCheckpoint(opts.Checkpoint, r.at); err != nil {
		return p, err
	}
	if r.at.Done {
		return r.progress(1), nil
	}
	if r.rejections, err = openRejections(opts.Rejections, out, r.at.RejectionBytes); err != nil {
		return p, err
	}
	defer func() { err = errors.Join(err, r.rejections.close()) }()
	err = r.all(ctx)
	return r.progress(r.ratio(r.src.read.Load())), err
}

func (r *run) ratio(read int64) float64 { return float64(read) / float64(max(r.src.size, 1)) }

func (r *run) progress(ratio float64) Progress {
	return Progress{
		Lines: r.at.Lines, Accepted: r.at.Accepted, Rejected: r.at.Rejected, Sent: r.sent, Ratio: ratio, Done: r.at.Done,
	}
}

// all settles one batch after another.
func (r *run) all(ctx context.Context) error {
	// What concerns the whole file is found before anything of it is read.
	if _, err := r.offer(ctx, &batch{}); err != nil {
		return err
	}
	reading, stop := context.WithCancel(ctx)
	in, err := startReader(reading, r.src, r.opts.Format, r.at.Lines)
	if err != nil {
		stop()
		return err
	}
	defer func() {
		stop()
		for range in.full { // until the reader has left the file alone
		}
	}()
	for b := range in.full {
		if err := r.settle(ctx, b); err != nil {
			return err
		}
		if r.opts.Progress != nil {
			r.opts.Progress(r.progress(r.ratio(b.read)))
		}
		if b.err != nil && !errors.Is(b.err, io.EOF) {
			return b.err
		}
		in.free <- b // has room for all that there are
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return nil
}

// settle publishes a batch, notes what was rejected, and moves the checkpoint.
func (r *run) settle(ctx context.Context, b *batch) error {
	accepted, err := r.offer(ctx, b)
	if err != nil {
		return err
	}
	for i := range b.items {
		if rejected := b.items[i].rejected; rejected != nil {
			r.at.Rejected++
			if err := r.rejections.write(rejected); err != nil {
				return err
			}
		}
	}
	r.at.Accepted += int64(accepted)
	r.sent += int64(accepted)
	r.at.Lines, r.at.Done = max(r.at.Lines, b.lines), errors.Is(b.err, io.EOF)
	if err := r.rejections.flush(); err != nil || r.opts.DryRun {
		return err
	}
	r.at.RejectionBytes = r.rejections.size
	return r.at.save(r.opts.Checkpoint)
}

// offer has the events of a batch accepted, again while that may pass.
func (r *run) offer(ctx context.Context, b *batch) (accepted int, err error) {
	in := ingest.Import{
		Key: []byte(r.opts.Key), WebsiteID: []byte(r.opts.WebsiteID), ID: []byte("import-" + r.at.File),
		Events: b.events, DefaultTime: r.at.DefaultTime, DryRun: r.opts.DryRun,
		AppendID: func(dst []byte, i int) []byte {
			dst = append(append(dst, "import-"...), r.at.File...)
			return strconv.AppendInt(append(dst, '-'), b.items[b.ordinal[i]].line, 10)
		},
	}
	until := time.Now().Add(patience)
	for wait := firstRetry; ; wait = min(2*wait, lastRetry) {
		accepted, err = r.acceptor.Import(ctx, in, func(i int, why *apierr.Error) {
			it := &b.items[b.ordinal[i]]
			it.rejected = rejectionsOf(it.line, why)
		})
		passing := apierr.Is(err, apierr.DeliveryUnavailable) || apierr.Is(err, apierr.ServiceUnavailable)
		if !passing || time.Now().Add(wait).After(until) {
			return accepted, err
		}
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-time.After(wait):
		}
	}
}

// Explain says in a sentence what ended an import.
func Explain(err error) error {
	f, ok := errors.AsType[*apierr.Error](err)
	if !ok {
		return err
	}
	if text := explanations[f.Code]; text != "" {
		return errors.New(text)
	}
	return fmt.Errorf("importing: %w", err)
}

var explanations = map[apierr.Code]string{
	apierr.AuthRequired:    "the API key is unknown, expired or revoked: set another with --key or MILLRACE_API_KEY",
	apierr.Forbidden:       "the API key lacks the scope track:events",
	apierr.WebsiteNotFound: "the key's organization has no website with this id: check --website",
	apierr.AccessDenied:    "the API key is limited to another website than --website",
}
