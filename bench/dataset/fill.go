package dataset

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/ClickHouse/ch-go"

	"github.com/millrace/millrace/internal/adapter/clickhouse"
	"github.com/millrace/millrace/internal/adapter/clickhouse/insert"
	"github.com/millrace/millrace/internal/adapter/clickhouse/schema"
	"github.com/millrace/millrace/internal/adapter/embedded/chserver"
	"github.com/millrace/millrace/internal/pipeline/traffic"
	"github.com/millrace/millrace/internal/platform/config"
)

// Options say what to fill a folder with.
type Options struct {
	// Dir is made when missing.
	Dir string
	// Rows are the rows of events; at least 1000.
	Rows int
	Seed uint64
	// Until is the day behind the last one; zero is today.
	Until time.Time
	// Progress gets a line now and then.
	Progress io.Writer
}

// MinRows is the least that makes sense over a year.
const MinRows = 1000

// Fill fills the folder, or what is missing of it, and returns what it holds. A
// folder that was filled otherwise is an error; the day is that of the first fill.
func Fill(ctx context.Context, o Options) (m *Manifest, err error) {
	if o.Rows < MinRows {
		return nil, fmt.Errorf("a year needs %d rows at least", MinRows)
	}
	if m, err = Open(o.Dir); err != nil {
		return nil, err
	}
	if m != nil && (m.Rows != o.Rows || m.Seed != o.Seed) {
		return nil, fmt.Errorf("%s holds %d rows of seed %d; delete it or name another", o.Dir, m.Rows, m.Seed)
	}
	if m != nil && m.Complete {
		return m, nil
	}
	if m == nil {
		if m, err = begin(ctx, o); err != nil {
			return nil, err
		}
	}
	server, err := chserver.Start(ctx, chserver.Config{
		Listen: "127.0.0.1:0", HTTPListen: "127.0.0.1:0", Dir: filepath.Join(o.Dir, "clickhouse"),
		Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	cfg := config.Default().ClickHouse
	cfg.Addr = []string{server.Addr()}
	if err := schema.Migrate(ctx, cfg); err != nil {
		return nil, err
	}
	f := &filling{Manifest: m, out: o.Progress, cfg: cfg, begun: time.Now()}
	if err := f.insertAll(ctx); err != nil {
		return nil, err
	}
	m.Complete = true
	err = m.save()
	return m, err
}

// begin lays out an empty folder.
func begin(ctx context.Context, o Options) (*Manifest, error) {
	if o.Until.IsZero() {
		o.Until = time.Now()
	}
	m := &Manifest{
		Rows: o.Rows, Seed: o.Seed, Until: o.Until.UTC().Truncate(24 * time.Hour), Done: map[string]bool{}, dir: o.Dir,
	}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, err
	}
	if err := m.account(ctx); err != nil {
		return nil, err
	}
	if err := m.save(); err != nil {
		return nil, err
	}
	return m, nil
}

// filling is one run of Fill.
type filling struct {
	*Manifest

	out   io.Writer
	cfg   config.ClickHouse
	begun time.Time

	mu   sync.Mutex
	rows int // inserted by this run
	left int
	told time.Time
}

// insertAll inserts the chunks that are missing: those of the last months first,
// whose parts are then merged, so that a fill that is stopped can be asked about them.
func (f *filling) insertAll(ctx context.Context) error {
	sites := make([]traffic.Site, len(f.Websites))
	for i, id := range f.Websites {
		sites[i] = traffic.Site{ID: id, Organization: f.Organization, Host: host(i)}
	}
	p, world := newPlan(f.Manifest), traffic.NewWorld(traffic.Config{Seed: f.Seed, Sites: sites, Bots: 0.01})
	var recent, earlier []chunk
	months := f.recentMonths()
	for _, c := range p.chunks() {
		if f.Done[c.name(p)] {
			continue
		}
		f.left += c.rows
		if slices.Contains(months, p.day(c.from).Format(partitionLayout)) {
			recent = append(recent, c)
		} else {
			earlier = append(earlier, c)
		}
	}
	inserter := insert.NewInserter(f.cfg, "")
	defer inserter.Close()
	if err := f.insertThese(ctx, inserter, p, world, recent); err != nil {
		return err
	}
	if err := f.Merge(ctx, f.cfg, f.out); err != nil {
		return err
	}
	return f.insertThese(ctx, inserter, p, world, earlier)
}

// insertThese inserts chunks.
func (f *filling) insertThese(
	ctx context.Context, inserter *insert.Inserter, p *plan, world *traffic.World, chunks []chunk,
) error {
	work := make(chan chunk, len(chunks))
	for _, c := range chunks {
		work <- c
	}
	close(work)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var workers sync.WaitGroup
	// One more than there are cores, since each waits for the server half of the time.
	for range runtime.NumCPU() + 1 {
		workers.Go(func() {
			b := newBlocks(p, world, inserter)
			for c := range work {
				if err := f.insert(ctx, inserter, b, c); err != nil {
					cancel(err)
					return
				}
			}
		})
	}
	workers.Wait()
	return context.Cause(ctx)
}

// insert makes and inserts one chunk, and notes it.
func (f *filling) insert(ctx context.Context, inserter *insert.Inserter, b *blocks, c chunk) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	b.fill(c)
	name := c.name(b.plan)
	for i, block := range b.of {
		token := fmt.Sprintf("dataset-%d-%d-%s-%s", f.Seed, f.Rows, topics[i], name)
		if err := inserter.Insert(ctx, block, token); err != nil {
			return fmt.Errorf("inserting %d rows of %s: %w", block.Rows(), topics[i], err)
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.Done[name] = true
	f.rows += c.rows
	f.left -= c.rows
	f.tell()
	return f.save()
}

// tell writes how far it is, every few seconds.
func (f *filling) tell() {
	const every = 5 * time.Second
	if f.out == nil || time.Since(f.told) < every && f.left > 0 {
		return
	}
	f.told = time.Now()
	took := time.Since(f.begun).Seconds()
	rate := float64(f.rows) / took
	fmt.Fprintf(f.out, "%4.0f s  %11d rows, %d left, %.0f rows/s, %.0f s to go\n",
		took, f.rows, f.left, rate, float64(f.left)/rate)
}

// partitionLayout is how a month's partition is called.
const partitionLayout = "200601"

// recentMonths are the partitions of the last two months, whose parts are merged.
func (m *Manifest) recentMonths() []string {
	last := m.Until.AddDate(0, 0, -1)
	first := time.Date(last.Year(), last.Month(), 1, 0, 0, 0, 0, time.UTC)
	return []string{first.Format(partitionLayout), first.AddDate(0, -1, 0).Format(partitionLayout)}
}

// Merge merges the parts of the last months, as a server does by itself in time, and leaves
// alone what is one part already. A nil out is told nothing.
func (m *Manifest) Merge(ctx context.Context, cfg config.ClickHouse, out io.Writer) error {
	tables := map[string]bool{}
	for _, topic := range topics {
		tables[schema.TableOf(topic)] = true
	}
	for _, v := range schema.Views {
		if tables[v.From] {
			tables[v.To] = true
		}
	}
	c, err := clickhouse.Dial(ctx, cfg)
	if err != nil {
		return err
	}
	defer c.Close()
	for _, t := range schema.Tables {
		if !tables[t.Name] {
			continue
		}
		statements := []string{"OPTIMIZE TABLE " + t.Name + " FINAL"}
		if t.PartitionBy != "" {
			statements = nil
			for _, month := range m.recentMonths() {
				statements = append(statements, "OPTIMIZE TABLE "+t.Name+" PARTITION "+month+" FINAL")
			}
		}
		for _, s := range statements {
			s += " SETTINGS optimize_skip_merged_partitions = 1"
			begun := time.Now()
			if err := c.Do(ctx, ch.Query{Body: s}); err != nil {
				return fmt.Errorf("executing %s: %w", s, err)
			}
			if out != nil {
				fmt.Fprintf(out, "%6.1f s  %s\n", time.Since(begun).Seconds(), s)
			}
		}
	}
	return nil
}
