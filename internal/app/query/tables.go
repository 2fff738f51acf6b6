package query

import (
	"errors"

	"github.com/millrace/millrace/internal/adapter/clickhouse/query"
	"github.com/millrace/millrace/internal/analytics"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/platform/telemetry"
)

// resultsOfRequest is how many times the largest result those of one request may have
// together.
const resultsOfRequest = 2

// tables is what answers from the tables of ClickHouse, by connections of their own.
type tables struct {
	runner   *query.Runner
	versions *query.Versions
	dirty    *query.DirtyDays
	rows     *query.Exporter
	clicks   *query.LinkClicks
	engine   *analytics.Engine
}

// newTables connects to nothing.
func newTables(s config.Settings, t *telemetry.Telemetry) *tables {
	all := &tables{
		runner: query.NewRunner(s.ClickHouse, query.RunnerConfig{
			Connections: s.Query.Slots, MaxTime: s.Query.Deadline,
			MaxMemoryBytes: int64(s.Query.MaxMemory), MaxRows: int64(s.Query.MaxRows), MaxResultBytes: int64(s.Query.MaxResult),
		}),
		versions: query.NewVersions(s.ClickHouse), dirty: query.NewDirtyDays(s.ClickHouse),
		rows: query.NewExporter(s.ClickHouse), clicks: query.NewLinkClicks(s.ClickHouse),
	}
	all.engine = analytics.NewEngine(analytics.Config{
		Slots: s.Query.Slots, OwnerSlots: s.Query.WebsiteSlots, Queue: s.Query.Queue, OwnerQueue: s.Query.WebsiteQueue,
		MaxTime: min(s.Query.MaxTime, s.Query.Deadline), MaxResultBytes: resultsOfRequest * s.Query.MaxResult,
		CacheBytes: int64(s.Query.CacheMemory),
	}, analytics.Deps{
		Log: t.Log, Metrics: t.Registry, Tracer: t.Tracer, Runner: all.runner, Versions: all.versions,
	})
	return all
}

// close ends the engine, then what it asks.
func (all *tables) close() error {
	all.engine.Close()
	all.runner.Close()
	return errors.Join(all.rows.Close(), all.versions.Close(), all.dirty.Close(), all.clicks.Close())
}
