package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
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
}

// The measures, in the order in which a round runs them.
var edgeMeasures = []*measure{
	{name: "bare", role: "bare", batch: 1, unit: "req/s", run: underLoad, help: "bare fiber reading the body, 1 event a request"},
	{name: "validate1", role: "validate", batch: 1, unit: "ev/s", run: underLoad, help: "host, key, decoding, access; 1 event a request"},
	{name: "accept1", role: "accept", batch: 1, unit: "ev/s", run: underLoad, help: "whole accept path, broker left out; 1 event a request"},
	{name: "durable1", role: "durable", batch: 1, unit: "ev/s", run: underLoad, help: "whole accept path, acknowledged by the broker; 1 event a request"},
	{name: "parse", role: "parse", batch: 100, unit: "ev/s", run: alone, help: "fastjson alone, bodies of 100 events"},
	{name: "bare100", role: "bare", batch: 100, unit: "ev/s", run: underLoad, help: "bare fiber reading the body, 100 events a request"},
	{name: "validate100", role: "validate", batch: 100, unit: "ev/s", run: underLoad, help: "host, key, decoding, access; 100 events a request"},
	{name: "accept100", role: "accept", batch: 100, unit: "ev/s", run: underLoad, help: "whole accept path, broker left out; 100 events a request"},
	{name: "produce", role: "produce", batch: 100, unit: "rec/s", run: alone, help: "bare Kafka client, prebuilt records"},
	{name: "durable100", role: "durable", batch: 100, unit: "ev/s", run: underLoad, help: "whole accept path, acknowledged by the broker; 100 events a request"},
}

var sinkMeasures = []*measure{
	{name: "consume", role: "consume", unit: "rec/s", run: alone, help: "bare Kafka client, records unread"},
	{name: "sinknull", role: "sink", null: true, unit: "rows/s", run: alone, help: "sink into a table that keeps nothing"},
	{name: "insert", role: "insert", unit: "rows/s", run: alone, help: "the sink's own blocks, built beforehand, into the real table"},
	{name: "sink", role: "sink", unit: "rows/s", run: alone, help: "sink into the real table"},
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
	{"B1", "validate1", "bare", 0.70, "validating edge, 1 event a request, against bare fiber"},
	{"B2", "validate100", "parse", 0.75, "validating edge, 100 events a request, against fastjson alone"},
	{"B3", "durable1", "bare", 0.30, "durable edge, 1 event a request, against bare fiber"},
	{"B4", "durable100", "produce", 0.75, "durable edge, 100 events a request, against a bare Kafka client"},
	{"", "accept1", "bare", 0, "accept path without broker, 1 event a request, against bare fiber"},
	{"", "accept100", "parse", 0, "accept path without broker, 100 events a request, against fastjson alone"},
	{"", "validate100", "bare100+parse", 0, "validating edge, 100 events a request, against bare fiber and then fastjson"},
	{"S1", "sink", "insert", 0.60, "sink into ClickHouse against inserting prebuilt blocks"},
	{"S3", "sinknull", "consume", 0.25, "sink without ClickHouse's work against a bare Kafka client"},
}

// surroundings are what a round's measures run against.
type surroundings struct {
	settings
	around *child // broker, or broker and ClickHouse
	round  int
}

// underLoad saturates a server.
func underLoad(ctx context.Context, m *measure, e *surroundings) (result, error) {
	server, err := spawn(ctx, coreMeasured, e.job(m))
	if err != nil {
		return result{}, err
	}
	r, err := saturate(ctx, server, m.batch, e.run)
	return r, errors.Join(err, server.end())
}

// alone runs a measuring loop.
func alone(ctx context.Context, m *measure, e *surroundings) (result, error) {
	return loop(ctx, coreMeasured, e.job(m))
}

func (e *surroundings) job(m *measure) job {
	j := job{
		Role: m.role, Batch: m.batch, For: e.run, Rows: e.rows, Null: m.null,
		Brokers: e.around.Brokers, ClickHouse: e.around.ClickHouse,
		Database: fmt.Sprintf("%s_%d", m.name, e.round),
	}
	if e.profile != "" {
		j.Profile = filepath.Join(e.profile, m.name+".pprof")
	}
	return j
}

// measureAll runs the rounds.
func measureAll(ctx context.Context, s settings) (*figures, error) {
	f := newFigures(s)
	for round := range s.rounds {
		for _, set := range []struct {
			name, role string
			measures   []*measure
			prepare    func(ctx context.Context, around *child) error
		}{
			{"edge", "broker", edgeMeasures, func(context.Context, *child) error { return nil }},
			{"sink", "backend", sinkMeasures, func(ctx context.Context, around *child) error {
				_, err := loop(ctx, coreMeasured, job{Role: "fill", Rows: s.rows, Brokers: around.Brokers})
				return err
			}},
		} {
			if s.only != "" && s.only != set.name {
				continue
			}
			around, err := spawn(ctx, coreAround, job{Role: set.role})
			if err != nil {
				return nil, err
			}
			err = set.prepare(ctx, around)
			if err == nil {
				err = f.round(ctx, set.measures, &surroundings{settings: s, around: around, round: round})
			}
			if err := errors.Join(err, around.end()); err != nil {
				return nil, err
			}
		}
	}
	return f, nil
}

// round runs each measure once, every other round backwards, so that what drifts
// meets all alike.
func (f *figures) round(ctx context.Context, measures []*measure, e *surroundings) error {
	order := slices.Clone(measures)
	if e.round%2 == 1 {
		slices.Reverse(order)
	}
	for _, m := range order {
		r, err := m.run(ctx, m, e)
		if err != nil {
			return fmt.Errorf("measuring %s: %w", m.name, err)
		}
		f.add(m, r)
	}
	return nil
}
