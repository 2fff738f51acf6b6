package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/ch-go/proto"

	"github.com/millrace/millrace/bench/dataset"
	"github.com/millrace/millrace/internal/adapter/clickhouse"
	"github.com/millrace/millrace/internal/adapter/clickhouse/schema"
	"github.com/millrace/millrace/internal/adapter/load"
)

// The gates of the query tier; times in milliseconds.
const (
	ratioQ1, slackQ1 = 1.10, 0.5
	ratioQ2          = 1.5
	ratioQ3          = 1.15
	uncachedD1       = 150
	cachedD1         = 3
	visibleE1        = 2000
	dashboardE2      = 1000
	keptE2           = 0.99
)

// overview is what D1 asks for together.
var overview = []string{"summary_metrics", "events_by_date", "top_pages"}

// queryFigures are what the set "query" finds out.
type queryFigures struct {
	settings
	set   *dataset.Manifest
	began time.Time
	load  string
	gates []gate
	types []typeFigures
	notes []string
	// count are the rows of events that are there, and recent the largest website's in
	// the range.
	count, recent uint64
}

// gate is one figure against its limit; more is wanted where atLeast is set, else
// less.
type gate struct {
	name, help  string
	value, most float64
	unit        string
	atLeast     bool
}

func (g *gate) holds() bool {
	if g.atLeast {
		return g.value >= g.most
	}
	return g.value <= g.most
}

// typeFigures are those of a query type, asked alone.
type typeFigures struct {
	name       string
	ours, bare times
	read       uint64
	compiled   compiled
}

// allowed is what Q1 allows, in milliseconds.
func (t *typeFigures) allowed() float64 { return t.bare.at(0.5)*ratioQ1 + slackQ1 }

// measureQueries runs the set "query".
func measureQueries(ctx context.Context, s settings) (f *queryFigures, err error) {
	f = &queryFigures{settings: s, began: time.Now(), load: loadAverage()}
	if f.set, err = f.dataset(ctx); err != nil {
		return nil, err
	}
	st, err := startStack(ctx, f.data)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, st.end()) }()
	// An earlier run left parts of events that it had sent.
	if err := f.set.Merge(ctx, st.clickhouse, os.Stderr); err != nil {
		return nil, err
	}
	a := &asker{stack: st, website: f.set.Largest(), from: f.set.Until.AddDate(0, 0, -30), until: f.set.Until}
	conn, err := clickhouse.Dial(ctx, st.clickhouse)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if err := f.countRows(ctx, a, conn); err != nil {
		return nil, err
	}
	for _, part := range []struct {
		name string
		do   func(context.Context, *asker, *clickhouse.Client) error
	}{{"D1", f.overview}, {"Q1", f.eachType}, {"Q2", f.dashboard}, {"Q3", f.history}, {"E", f.underIngest}} {
		if len(f.measures) > 0 && !slices.Contains(f.measures, part.name) {
			continue
		}
		if err := part.do(ctx, a, conn); err != nil {
			return nil, fmt.Errorf("measuring %s: %w", part.name, err)
		}
	}
	return f, nil
}

func (f *queryFigures) gate(g gate) {
	f.gates = append(f.gates, g)
	fmt.Fprintf(os.Stderr, "%-3s %10.2f %s, allowed %.2f: %s\n", g.name, g.value, g.unit, g.most, g.help)
}

// countRows counts the rows that are there.
func (f *queryFigures) countRows(ctx context.Context, a *asker, conn *clickhouse.Client) error {
	var rows, recent proto.ColUInt64
	return conn.Do(ctx, ch.Query{
		Body: "SELECT count() AS n, countIf(owner_id = {owner:String} AND event_date >= {from:Date} AND event_date < " +
			"{until:Date}) AS recent FROM events",
		Parameters: ch.Parameters(map[string]any{
			"owner": a.website, "from": a.from.Format(time.DateOnly), "until": a.until.Format(time.DateOnly),
		}),
		Result: proto.Results{{Name: "n", Data: &rows}, {Name: "recent", Data: &recent}},
		OnResult: func(context.Context, proto.Block) error {
			if rows.Rows() > 0 {
				f.count, f.recent = rows[0], recent[0]
			}
			return nil
		},
	})
}

// overview is D1: three parameters of the largest website, fresh and from the cache.
func (f *queryFigures) overview(ctx context.Context, a *asker, _ *clickhouse.Client) error {
	body := a.body(overview...)
	took, err := alternate(6*f.run, 40, func() error { _, err := a.ask(ctx, body, true); return err })
	if err != nil {
		return err
	}
	about := strings.Join(overview, ", ") + " in one request, 30 days of the largest website"
	f.gate(gate{"D1", about + ": p95 of fresh answers", took[0].at(0.95), uncachedD1, "ms", false})
	f.notes = append(f.notes, fmt.Sprintf("D1 fresh: p50 %.2f ms, p95 %.2f ms of %d answers.",
		took[0].at(0.5), took[0].at(0.95), len(took[0])))
	if took, err = alternate(f.run, 200, func() error { _, err := a.ask(ctx, body, false); return err }); err != nil {
		return err
	}
	f.gate(gate{"D1", "the same: p95 of answers from the cache", took[0].at(0.95), cachedD1, "ms", false})
	f.notes = append(f.notes, fmt.Sprintf("D1 cached: p50 %.2f ms, p95 %.2f ms of %d answers.",
		took[0].at(0.5), took[0].at(0.95), len(took[0])))
	return nil
}

// eachType is Q1: every type alone, against its statement on a bare connection.
func (f *queryFigures) eachType(ctx context.Context, a *asker, conn *clickhouse.Client) error {
	names, err := a.types(ctx)
	if err != nil {
		return err
	}
	for _, name := range names {
		t := typeFigures{name: name}
		if t.compiled, err = a.compile(ctx, name); err != nil {
			return err
		}
		body := fmt.Sprintf(`{"parameters":[%q],"startDate":%q,"endDate":%q,"limit":100}`,
			name, a.from.Format(time.DateOnly), a.last())
		took, err := alternate(f.run, 5,
			func() error { _, err := a.ask(ctx, body, true); return err },
			func() (err error) { t.read, err = t.compiled.run(ctx, conn); return err })
		if err != nil {
			f.notes = append(f.notes, fmt.Sprintf("%#q could not be asked.", name))
			fmt.Fprintln(os.Stderr, name, err)
			if conn.IsClosed() {
				return err
			}
			continue
		}
		t.ours, t.bare = took[0], took[1]
		fmt.Fprintf(os.Stderr, "%-26s %9.2f ms, bare %9.2f ms, %d rows read\n", name, t.ours.at(0.5), t.bare.at(0.5), t.read)
		f.types = append(f.types, t)
	}
	if len(f.types) == 0 {
		return errors.New("no type could be asked")
	}
	slices.SortStableFunc(f.types, func(a, b typeFigures) int { return cmp.Compare(b.ours.at(0.5), a.ours.at(0.5)) })
	worst := slices.MaxFunc(f.types, func(a, b typeFigures) int {
		return cmp.Compare(a.ours.at(0.5)/a.allowed(), b.ours.at(0.5)/b.allowed())
	})
	f.gate(gate{
		"Q1", fmt.Sprintf("each type alone against its SQL through ch-go, medians; the furthest is %#q", worst.name),
		worst.ours.at(0.5), worst.allowed(), "ms", false,
	})
	return nil
}

// dashboard is Q2: a request of twelve parameters against the slowest of them.
func (f *queryFigures) dashboard(ctx context.Context, a *asker, _ *clickhouse.Client) error {
	bodies := []string{a.body(load.Dashboard...)}
	for _, name := range load.Dashboard {
		bodies = append(bodies, a.body(name))
	}
	do := make([]func() error, len(bodies))
	for i, body := range bodies {
		do[i] = func() error { _, err := a.ask(ctx, body, true); return err }
	}
	took, err := alternate(6*f.run, 3, do...)
	if err != nil {
		return err
	}
	slowest := 1
	for i := range took[1:] {
		if took[i+1].at(0.5) > took[slowest].at(0.5) {
			slowest = i + 1
		}
	}
	whole, alone := took[0].at(0.5), took[slowest].at(0.5)
	f.gate(gate{
		"Q2", fmt.Sprintf("a dashboard of %d parameters (%.1f ms) against the slowest of them alone, %#q (%.1f ms), medians",
			len(load.Dashboard), whole, load.Dashboard[slowest-1], alone), whole / alone, ratioQ2, "times", false,
	})
	return nil
}

// monthDatabase is a second database with the parts of the range's months alone.
const monthDatabase = "month_kept"

// history is Q3: the statements of the overview where twelve months are kept, and
// where those of the range are alone. Parts are shared and not copied.
func (f *queryFigures) history(ctx context.Context, a *asker, conn *clickhouse.Client) (err error) {
	cfg := a.stack.clickhouse
	cfg.Database = monthDatabase
	drop := func() error {
		return execute(ctx, a.stack.clickhouse, "DROP DATABASE IF EXISTS "+monthDatabase+" SYNC")
	}
	if err := drop(); err != nil {
		return err
	}
	if err := schema.Migrate(ctx, cfg); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, drop()) }()
	if err := f.attach(ctx, cfg.Database, a); err != nil {
		return err
	}
	short, err := clickhouse.Dial(ctx, cfg)
	if err != nil {
		return err
	}
	defer short.Close()
	worst, about := 0.0, ""
	for _, name := range slices.Concat(overview, []string{"top_referrers", "country", "custom_events"}) {
		q, err := a.compile(ctx, name)
		if err != nil {
			return err
		}
		took, err := alternate(f.run, 5,
			func() error { _, err := q.run(ctx, conn); return err },
			func() error { _, err := q.run(ctx, short); return err })
		if err != nil {
			return err
		}
		long, kept := took[0].at(0.5), took[1].at(0.5)
		f.notes = append(f.notes,
			fmt.Sprintf("Q3 %#q: %.2f ms with twelve months kept, %.2f ms with those of the range.", name, long, kept))
		if long/kept > worst {
			worst, about = long/kept, name
		}
	}
	f.gate(
		gate{"Q3", fmt.Sprintf("30 days with 12 months kept against with those of the range kept, SQL through ch-go, "+
			"medians; the furthest of six types is %#q", about), worst, ratioQ3, "times", false})
	return nil
}

// attach gives another database the parts of the range's months.
func (f *queryFigures) attach(ctx context.Context, database string, a *asker) error {
	var statements []string
	for _, t := range schema.Tables {
		if !strings.HasPrefix(t.PartitionBy, "toYYYYMM(") {
			if strings.Contains(t.Engine, "MergeTree") && t.PartitionBy == "" {
				statements = append(statements, fmt.Sprintf("ALTER TABLE %s.%s ATTACH PARTITION tuple() FROM %s",
					database, t.Name, t.Name))
			}
			continue
		}
		for month := time.Date(a.from.Year(), a.from.Month(), 1, 0,
			0, 0, 0, time.UTC); month.Before(a.until); month = month.AddDate(0, 1, 0) {
			statements = append(statements, fmt.Sprintf("ALTER TABLE %s.%s ATTACH PARTITION %s FROM %s",
				database, t.Name, month.Format("200601"), t.Name))
		}
	}
	return execute(ctx, a.stack.clickhouse, statements...)
}
