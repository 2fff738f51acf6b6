package query

import (
	"context"

	"github.com/millrace/millrace/internal/adapter/clickhouse/query"
	"github.com/millrace/millrace/internal/adapter/store"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/platform/lifecycle"
	"github.com/millrace/millrace/internal/platform/telemetry"
	"github.com/millrace/millrace/internal/tenant/quota"
)

// quotas count what organizations have sent, and tell of it.
type quotas struct {
	service *quota.Service
	counter *quota.Counter
	usage   *query.Usage
}

// newQuotas puts them together. Where a billing service decides, usage is counted
// all the same and nobody has a quota.
func newQuotas(s config.Settings, t *telemetry.Telemetry, db *store.Store, mailer quota.Mailer) *quotas {
	q := &quotas{usage: query.NewUsage(s.ClickHouse)}
	cfg := quota.Config{Default: int64(s.Quota.Default), Off: s.Billing.URL != ""}
	q.counter = quota.NewCounter(cfg, quota.CounterDeps{
		Meter: q.usage, Store: db, Mail: mailer, Log: t.Log, Metrics: t.Registry, PublicURL: s.Query.BaseURL(),
	})
	q.service = quota.NewService(cfg, db, q.usage, nil)
	return q
}

// component counts while it runs.
func (q *quotas) component() lifecycle.Component {
	return lifecycle.Component{
		Name: "quotas", Run: q.counter.Run, Stop: func(context.Context) error { return q.usage.Close() },
	}
}
