package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/millrace/millrace/internal/adapter/kafka"
)

// measure is one figure: what runs, and how.
type measure struct {
	name string
	help string
	unit string
	// run does it once in the surroundings of a round.
	run func(ctx context.Context, m *measure, e *surroundings) (result, error)
	// role and batch are for run.
	role  string
	batch int
	null  bool
	// once leaves it out of all rounds but the first: what it asks takes minutes to make.
	once bool
	// links is how many short links there are, whose host is measured; 0 for events.
	links int
	// flags is the route of flags that is measured; empty for others.
	flags string
	// brokerCore is where the broker runs; empty for the core around. shared has
	// everything run on both cores.
	brokerCore string
	shared     bool
	// waits has the load of a closed loop come over more connections.
	waits bool
	// seen and blind are for role.
	seen  int
	blind bool
}

// The measures, in the order in which a round runs them.
var edgeMeasures = []*measure{
	{
		name: "bare", role: "bare", batch: 1, unit: "req/s", run: underLoad,
		help: "bare fiber reading the body, 1 event a request",
	},
	{
		name: "barewaits", role: "bare", batch: 1, waits: true, unit: "req/s", run: underLoad,
		help: "the same over 128 connections",
	},
	{
		name: "validate1", role: "validate", batch: 1, unit: "ev/s", run: underLoad,
		help: "host, key, decoding, access; 1 event a request",
	},
	{
		name: "accept1", role: "accept", batch: 1, unit: "ev/s", run: underLoad,
		help: "whole accept path, broker left out; 1 event a request",
	},
	{
		name: "prototype1", role: "prototype", batch: 1, waits: true, unit: "ev/s", run: underLoad,
		help: "an edge of the same decoder, records and producer, and nothing else; 1 event a request, 128 connections",
	},
	{
		name: "durable1", role: "durable", batch: 1, waits: true, unit: "ev/s", run: underLoad,
		help: "whole accept path, acknowledged by the broker; 1 event a request, 128 connections",
	},
	{
		name: "half1", role: "durable", batch: 1, waits: true, unit: "ev/s", run: openLoop,
		help: "the same at half of its peak, at fixed moments",
	},
	{name: "p99", unit: "ms", help: "p99 of that, from the moment at which a request was to be sent"},
	{name: "p999", unit: "ms", help: "p99.9 of that"},
	{name: "prototypep99", unit: "ms", help: "p99 of the edge that has nothing else, at that rate"},
	{name: "brokerp99", unit: "ms", help: "p99 of a bare client at that rate, one record at a time"},
	{name: "p99allowed", unit: "ms", help: "3 ms more"},
	{
		name: "allocs1", role: "allocs", batch: 1, unit: "allocations", run: alone,
		help: "allocations of the accept path for each event, the Kafka client left out; 1 event a request",
	},
	{
		name: "allocs100", role: "allocs", batch: 100, unit: "allocations", run: alone,
		help: "the same, 100 events a request",
	},
	{name: "allocs1allowed", unit: "allocations", help: "allowed for one event that comes alone"},
	{name: "allocs100allowed", unit: "allocations", help: "allowed for one of a hundred"},
	{name: "key", role: "key", unit: "checks/s", run: alone, help: "whom a cached API key stands for, and whether it may"},
	{
		name: "limit", role: "limit", unit: "req/s", run: alone,
		help: "limits of a key's request settled in memory, and its place taken back; 10,000 keys",
	},
	{name: "parse", role: "parse", batch: 100, unit: "ev/s", run: alone, help: "fastjson alone, bodies of 100 events"},
	{
		name: "bare100", role: "bare", batch: 100, unit: "ev/s", run: underLoad,
		help: "bare fiber reading the body, 100 events a request",
	},
	{
		name: "validate100", role: "validate", batch: 100, unit: "ev/s", run: underLoad,
		help: "host, key, decoding, access; 100 events a request",
	},
	{
		name: "accept100", role: "accept", batch: 100, unit: "ev/s", run: underLoad,
		help: "whole accept path, broker left out; 100 events a request",
	},
	{name: "produce", role: "produce", batch: 100, unit: "rec/s", run: alone, help: "bare Kafka client, prebuilt records"},
	{
		name: "prototype100", role: "prototype", batch: 100, unit: "ev/s", run: underLoad,
		help: "an edge of the same decoder, records and producer, and nothing else; 100 events a request",
	},
	{
		name: "durable100", role: "durable", batch: 100, unit: "ev/s", run: underLoad,
		help: "whole accept path, acknowledged by the broker; 100 events a request",
	},
	{name: "durable10", role: "durable", batch: 10, unit: "ev/s", run: underLoad, help: "the same, 10 events a request"},
	{
		name: "durable6000", role: "durable", batch: 6000, unit: "ev/s", run: underLoad,
		help: "the same, 6,000 events a request, without properties",
	},
}

// Where the broker runs: beside ClickHouse, as far from what is measured as it
// gets, or beside what is measured, so that ClickHouse has its core for itself.
var sinkMeasures = []*measure{
	{
		name: "consume", role: "consume", unit: "rec/s", run: beside,
		help: "bare Kafka client, records unread; broker on the other core",
	},
	{
		name: "raw", role: "raw", unit: "rec/s", run: beside,
		help: "the topic's batches read raw, headers into windows, values unread; broker on the other core",
	},
	{
		name: "sinknull", role: "sink", null: true, unit: "rows/s", run: beside,
		help: "sink into a table that keeps nothing; broker on the other core",
	},
	{
		name: "insert", role: "insert", unit: "rows/s", run: beside, brokerCore: coreMeasured,
		help: "the sink's own blocks, built beforehand; ClickHouse alone on its core",
	},
	{
		name: "sink", role: "sink", unit: "rows/s", run: beside, brokerCore: coreMeasured,
		help: "sink; ClickHouse alone on its core, broker on the sink's",
	},
	{
		name: "insertshared", role: "insert", unit: "rows/s", run: beside, shared: true,
		help: "the sink's own blocks, built beforehand; everything on both cores",
	},
	{name: "sinkshared", role: "sink", unit: "rows/s", run: beside, shared: true, help: "sink; everything on both cores"},
	{
		name: "engine", role: "engine", unit: "rows/s", run: beside, brokerCore: coreMeasured,
		help: "ClickHouse's own Kafka engine, one consumer, same table; ClickHouse alone on its core",
	},
}

// windowMeasures run behind windowKeys events that were seen within the hour.
var windowMeasures = []*measure{
	{
		name: "rebuild", role: "rebuild", unit: "rec/s", run: beside, seen: windowKeys,
		help: "windows read back, one partition after the other, on one core",
	},
	{
		name: "sinkblind", role: "sink", unit: "rows/s", run: beside, seen: windowKeys, blind: true, brokerCore: coreMeasured,
		help: "sink without a window",
	},
	{
		name: "sinkfull", role: "sink", unit: "rows/s", run: beside, seen: windowKeys, brokerCore: coreMeasured,
		help: "sink with 4 million keys in its windows",
	},
	{name: "allowed", unit: "bytes", help: "memory allowed for that: 512 MB and 40 bytes a key"},
	{name: "peak", unit: "bytes", help: "memory resident at most meanwhile"},
	{name: "live", unit: "rec/s", help: "records published all the time"},
	{name: "catchup", role: "catchup", unit: "rows/s", run: outage, help: "sink catching up after ClickHouse was away"},
}

// spoiltMeasures run on a topic of which one record in 120 is malformed.
var spoiltMeasures = []*measure{
	{
		name: "sinkspoilt", role: "sink", unit: "rows/s", run: beside, brokerCore: coreMeasured,
		help: "sink, with one malformed record in 120",
	},
}

// Derived figures, told from the runs above.
var derivedMeasures = []*measure{
	{name: "sinkcore", unit: "rows/s", help: "rows a second and core, sink and ClickHouse together"},
	{name: "enginecore", unit: "rows/s", help: "rows a second and core, ClickHouse with its Kafka engine"},
}

// ratio compares one measure with its limit. A limit of the form "a+b" is what
// doing a and then b to each event would reach.
type ratio struct {
	name, of, limit string
	gate            float64 // 0 for one that is only shown
	help            string
}

// ratios is the table of what must hold.
var ratios = []ratio{
	{"B1", "validate1", "bare", 0.75, "validating edge, 1 event a request, against bare fiber"},
	{"B2", "validate100", "parse", 0.85, "validating edge, 100 events a request, against fastjson alone"},
	{"B3", "durable1", "barewaits", 0.33, "durable edge, 1 event a request, against bare fiber; 128 connections each"},
	{"B4", "durable100", "produce", 0.90, "durable edge, 100 events a request, against a bare Kafka client"},
	{
		"B5", "durable1", "prototype1", 0.80,
		"durable edge with keys, limits and quotas against one without, 1 event a request",
	},
	{
		"B6", "p99allowed", "p99", 1,
		"p99 allowed, a bare client's and 3 ms, against that of the durable edge at half of its peak",
	},
	{"B7", "allocs1allowed", "allocs1", 1, "allocations allowed against those of the accept path, 1 event a request"},
	{"B7", "allocs100allowed", "allocs100", 1, "the same, 100 events a request"},
	{
		"", "prototypep99", "p99", 0,
		"p99 of an edge without keys, limits and quotas against that of the durable edge, at that rate",
	},
	{
		"", "durable100", "prototype100", 0,
		"durable edge with keys, limits and quotas against one without, 100 events a request",
	},
	{"", "accept1", "bare", 0, "accept path without broker, 1 event a request, against bare fiber"},
	{"", "accept100", "parse", 0, "accept path without broker, 100 events a request, against fastjson alone"},
	{"", "validate100", "bare100+parse", 0, "validating edge, 100 events a request, against bare fiber and then fastjson"},
	{"", "key", "=200000", 1, "API keys checked against one in 5 µs"},
	{"", "limit", "=1000000", 1, "requests admitted in memory against one in 1 µs"},
	{"S1", "sink", "insert", 0.93, "sink against inserting prebuilt blocks, ClickHouse alone on its core"},
	{"S2", "sinkshared", "insertshared", 0.65, "the same, everything sharing two cores"},
	{"S3", "sinknull", "raw", 0.70, "sink without ClickHouse's work against reading the topic's batches"},
	{"", "sinknull", "consume", 0, "the same against a bare Kafka client"},
	{"", "sinkspoilt", "sink", 0.85, "sink with malformed records against one without"},
	{"S4", "sinkfull", "sinkblind", 0.90, "sink with 4 million keys in its windows against one without windows"},
	{"S5", "catchup", "live", 3, "catching up after an outage against the live rate, which goes on"},
	{"S6", "allowed", "peak", 1, "memory allowed against memory used, 4 million keys"},
	{"", "rebuild", "=1000000", 1, "windows read back against a million records a second"},
	{"", "sink", "engine", 0, "sink against ClickHouse's Kafka engine, ClickHouse alone on its core"},
	{"", "sinkcore", "enginecore", 0, "the same, for each core used: exactly once against at least once"},
}

// surroundings are what a round's measures run against.
type surroundings struct {
	settings
	around     *child // broker
	clickhouse *child // nil for the edge
	round      int
}

// underLoad saturates a server.
func underLoad(ctx context.Context, m *measure, e *surroundings) (result, error) {
	server, err := spawn(ctx, coreMeasured, e.job(m))
	if err != nil {
		return result{}, err
	}
	r, err := saturate(ctx, server, m, e.settings)
	return r, errors.Join(err, server.end())
}

// alone runs a measuring loop.
func alone(ctx context.Context, m *measure, e *surroundings) (result, error) {
	return loop(ctx, coreMeasured, e.job(m))
}

// beside runs a measuring loop with the broker and ClickHouse where the measure
// wants them, and tells what ClickHouse used meanwhile.
func beside(ctx context.Context, m *measure, e *surroundings) (result, error) {
	broker, server, own := m.brokerCore, coreAround, coreMeasured
	if broker == "" {
		broker = coreAround
	}
	if m.shared {
		broker, server, own = coresBoth, coresBoth, coresBoth
	}
	if err := errors.Join(e.around.pin(broker), e.clickhouse.pin(server)); err != nil {
		return result{}, err
	}
	before, err := e.clickhouse.cpuSeconds()
	if err != nil {
		return result{}, err
	}
	r, err := loop(ctx, own, e.job(m))
	if err != nil {
		return result{}, err
	}
	after, err := e.clickhouse.cpuSeconds()
	r.AroundCPU, r.AroundEvents = after-before, float64(e.rows)
	return r, err
}

func (e *surroundings) job(m *measure) job {
	j := job{
		Role: m.role, Batch: m.batch, For: e.run, Rows: e.rows, Null: m.null, Seen: m.seen, Blind: m.blind, Links: m.links,
		Flags:   m.flags,
		Brokers: e.around.Brokers, Database: fmt.Sprintf("%s_%d", m.name, e.round),
	}
	if e.clickhouse != nil {
		j.ClickHouse = e.clickhouse.ClickHouse
	}
	if e.profile != "" {
		j.Profile = filepath.Join(e.profile, m.name+".pprof")
	}
	return j
}

// set is a group of measures in surroundings of their own.
type set struct {
	name     string
	measures []*measure
	fill     []string // roles that fill the topic beforehand
	server   bool     // ClickHouse is needed
	// partitions of the topics; 0 for as many as standalone creates.
	partitions int
}

var sets = []set{
	{name: "edge", measures: edgeMeasures},
	{name: "links", measures: linkMeasures},
	{name: "flags", measures: flagMeasures},
	{name: "sink", measures: sinkMeasures, fill: []string{"fill"}, server: true, partitions: 8},
	{name: "spoilt", measures: spoiltMeasures, fill: []string{"spoil"}, server: true, partitions: 8},
	{name: "window", measures: windowMeasures, fill: []string{"seen", "fill"}, server: true, partitions: 8},
}

// measureAll runs the rounds and writes the page after each, so that one that is ended
// early leaves figures.
func measureAll(ctx context.Context, s settings) (*figures, error) {
	f := newFigures(s)
	for round := range s.rounds {
		for _, set := range sets {
			if s.only != "" && s.only != ratioSets && s.only != set.name {
				continue
			}
			if err := f.inSurroundings(ctx, set, round); err != nil {
				return nil, err
			}
		}
		f.done++
		if err := (page{f, s.out}).save(); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// inSurroundings starts what a set needs, fills the topic, and runs one round.
func (f *figures) inSurroundings(ctx context.Context, set set, round int) (err error) {
	e := surroundings{settings: f.settings, round: round}
	e.liveRate = f.live(round)
	if e.around, err = f.broker(ctx, set); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.around.end()) }()
	if set.server {
		if e.clickhouse, err = spawn(ctx, coreAround, job{Role: "clickhouse"}); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, e.clickhouse.end()) }()
	}
	for _, role := range set.fill {
		if _, err := loop(ctx, coresBoth,
			job{Role: role, Rows: f.rows, Seen: windowKeys, Brokers: e.around.Brokers}); err != nil {
			return err
		}
	}
	return f.round(ctx, set.measures, &e)
}

// broker starts one, or prepares the one that the settings name.
func (f *figures) broker(ctx context.Context, set set) (*child, error) {
	if len(f.brokers) == 0 {
		return spawn(ctx, coreAround, job{Role: "broker", Partitions: set.partitions})
	}
	_, err := kafka.EnsureTopics(ctx, kafkaSettings(f.brokers))
	return &child{result: result{Brokers: f.brokers}}, err
}

// round runs each measure once, every other round backwards, so that what drifts
// meets all alike. Where one fails the others of the set are left out: it may have left
// surroundings that are not what they should be.
func (f *figures) round(ctx context.Context, measures []*measure, e *surroundings) error {
	order := slices.Clone(measures)
	if e.round%2 == 1 {
		slices.Reverse(order)
	}
	for _, m := range order {
		if m.run == nil || m.once && e.round > 0 || len(e.measures) > 0 && !slices.Contains(e.measures, m.name) {
			continue // told by another one's run, or not asked for
		}
		r, err := m.run(ctx, m, e)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			f.fail(m, e.round, err)
			return nil
		}
		f.add(m, e.round, r)
	}
	return nil
}
