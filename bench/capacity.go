package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/millrace/millrace/internal/adapter/clickhouse/schema"
	"github.com/millrace/millrace/internal/adapter/kafka"
	"github.com/millrace/millrace/internal/adapter/store"
	"github.com/millrace/millrace/internal/app/bootstrap"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/tenant/audit"
)

// capacitySet is the set that tells what events cost; it has a page of its own.
const capacitySet = "capacity"

// Sizes of its traffic.
const (
	capacityBatch       = 20 // events of a request, as `millrace load events` sends them
	capacityWebsites    = 20
	capacityConnections = 16
	capacityWarm        = 5 * time.Second
	// lowRate is which part of the rate the low one is.
	lowRate = 8
)

// plant is a deployment of one process of each kind, so that what each uses can be
// told apart.
type plant struct {
	broker, clickhouse, edge, sink *child

	key      string
	websites []string
	kafka    config.Kafka
	tables   config.ClickHouse
}

// measureCapacity sends realistic traffic at a steady rate, waits until all of it is
// stored and merged, and counts what each process and each event took.
func measureCapacity(ctx context.Context, s settings) (f *costs, err error) {
	dir, err := os.MkdirTemp("", "millrace-capacity-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	p := &plant{}
	defer func() { err = errors.Join(err, p.end()) }()
	if err := p.start(ctx, s, dir); err != nil {
		return nil, err
	}
	f = newCosts(s)
	return f, p.measure(ctx, f)
}

// measure sends at a low and at a high rate, once caches are warm: two rates tell
// what a process costs that does little from what each event costs.
func (p *plant) measure(ctx context.Context, f *costs) (err error) {
	if _, err := p.load(ctx, f.capacityRate, capacityWarm); err != nil {
		return err
	}
	for _, rate := range []float64{f.capacityRate / lowRate, f.capacityRate} {
		r, err := p.run(ctx, rate, f.capacityFor)
		if err != nil {
			return err
		}
		f.runs = append(f.runs, r)
	}
	if f.topics, err = p.topics(ctx); err != nil {
		return err
	}
	f.tables, err = p.merged(ctx)
	return err
}

// run sends at a rate, and counts until the last event is stored and the server has
// nothing left to merge.
func (p *plant) run(ctx context.Context, rate float64, d time.Duration) (r run, err error) {
	if err := p.stored(ctx); err != nil {
		return r, err
	}
	before, err := p.usage()
	if err != nil {
		return r, err
	}
	if r.report, err = p.load(ctx, rate, d); err != nil {
		return r, err
	}
	for _, ended := range []func(context.Context) error{p.stored, p.quiet} {
		if err := ended(ctx); err != nil {
			return r, err
		}
	}
	after, err := p.usage()
	r.used = after.less(before)
	return r, err
}

// start brings everything up, in the order in which each needs the others.
func (p *plant) start(ctx context.Context, s settings, dir string) (err error) {
	brokers := s.brokers
	if len(brokers) == 0 {
		if p.broker, err = spawn(ctx, coresBoth, job{Role: "broker"}); err != nil {
			return err
		}
		brokers = p.broker.Brokers
	}
	p.kafka = kafkaSettings(brokers)
	if _, err := kafka.EnsureTopics(ctx, p.kafka); err != nil {
		return err
	}
	if p.clickhouse, err = spawn(ctx, coresBoth, job{Role: "clickhouse"}); err != nil {
		return err
	}
	p.tables = config.Default().ClickHouse
	p.tables.Addr = []string{p.clickhouse.ClickHouse}
	if err := schema.Migrate(ctx, p.tables); err != nil {
		return err
	}
	url := "sqlite:" + filepath.Join(dir, "meta.db")
	if err := p.account(ctx, url); err != nil {
		return err
	}
	j := job{Brokers: brokers, ClickHouse: p.clickhouse.ClickHouse, Folder: url}
	j.Role = "sinks"
	if p.sink, err = spawn(ctx, coresBoth, j); err != nil {
		return err
	}
	j.Role = "edge"
	p.edge, err = spawn(ctx, coresBoth, j)
	return err
}

// account makes an organization with websites and a key.
func (p *plant) account(ctx context.Context, url string) error {
	db, err := store.Open(ctx, url, store.Options{})
	if err != nil {
		return err
	}
	defer db.Close()
	if err := db.Migrate(ctx); err != nil {
		return err
	}
	by := audit.ByOperator("bench")
	first := bootstrap.First{
		Organization: "Bench", Website: "Bench 1", Domain: "site-1.example.com", AdminEmail: "bench@example.com",
		AdminName: "Bench", KeyName: "bench",
	}
	a, _, err := bootstrap.Run(ctx, db, by, config.Default().Key.Prefix, first, nil)
	if err != nil {
		return err
	}
	p.key, p.websites = a.APIKey, []string{a.WebsiteID}
	for n := 2; n <= capacityWebsites; n++ {
		first.Website, first.Domain = fmt.Sprint("Bench ", n), fmt.Sprintf("site-%d.example.com", n)
		id, err := bootstrap.Website(ctx, db, by, a.OrganizationID, first)
		if err != nil {
			return err
		}
		p.websites = append(p.websites, id)
	}
	return nil
}

// end stops everything, what was started last first.
func (p *plant) end() error {
	var errs []error
	for _, c := range []*child{p.edge, p.sink, p.clickhouse, p.broker} {
		if c != nil {
			errs = append(errs, c.end())
		}
	}
	return errors.Join(errs...)
}
