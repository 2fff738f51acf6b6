package inspect

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/ch-go/proto"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/adapter/clickhouse"
	"github.com/millrace/millrace/internal/platform/config"
)

// Times of looking at a server. What is exported is never older than twice the
// first, and nothing is exported of a server that does not answer: an alert shall
// not go by what was true once.
const (
	healthEvery = 15 * time.Second
	healthTime  = 10 * time.Second
)

// Health tells what a server says about itself: parts, disks, merges, replicas,
// and what became of inserts. It is a prometheus.Collector; Run keeps it up to
// date. With several addresses it tells of the server that it is connected to.
type Health struct {
	*clickhouse.Pool
	log   *slog.Logger
	last  atomic.Pointer[[]reading]
	quiet bool // the last look failed, which was logged
}

// reading is one figure that a server told.
type reading struct {
	of     *figure
	server string
	label  string // "" for a figure without one
	value  float64
}

// NewHealth returns a Health of the servers of cfg, registered; it opens no
// connection.
func NewHealth(cfg config.ClickHouse, log *slog.Logger, reg prometheus.Registerer) *Health {
	h := &Health{Pool: clickhouse.NewPool(cfg), log: log}
	reg.MustRegister(h)
	return h
}

// Run looks at the server until ctx ends.
func (h *Health) Run(ctx context.Context) error {
	tick := time.NewTicker(healthEvery)
	defer tick.Stop()
	for {
		h.look(ctx)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

func (h *Health) look(ctx context.Context) {
	limited, cancel := context.WithTimeout(ctx, healthTime)
	defer cancel()
	readings, err := h.read(limited)
	if ctx.Err() != nil {
		return
	}
	if err == nil {
		h.last.Store(&readings)
	} else {
		h.last.Store(nil)
	}
	if err != nil && !h.quiet {
		h.log.LogAttrs(ctx, slog.LevelWarn, "ClickHouse health check failed", slog.Any("error", err))
	}
	h.quiet = err != nil
}

// read asks for all figures at once.
func (h *Health) read(ctx context.Context) (readings []reading, err error) {
	var servers, names, labels proto.ColStr
	var values proto.ColFloat64
	err = h.Use(ctx, func(c *clickhouse.Client) error {
		return c.Do(ctx, ch.Query{
			Body: healthStatement,
			Result: proto.Results{
				{Name: "server", Data: &servers},
				{Name: "what", Data: &names},
				{Name: "which", Data: &labels},
				{Name: "reads", Data: &values},
			},
			OnResult: func(context.Context, proto.Block) error {
				for i := range values {
					if f := figureNamed(names.Row(i)); f != nil {
						readings = append(readings, reading{f, servers.Row(i), labels.Row(i), values[i]})
					}
				}
				return nil
			},
		})
	})
	if err != nil {
		return nil, fmt.Errorf("reading the system tables: %w", err)
	}
	return readings, nil
}

// Describe implements prometheus.Collector.
func (h *Health) Describe(ch chan<- *prometheus.Desc) {
	ch <- healthUp
	for i := range figures {
		ch <- figures[i].desc
	}
}

// Collect implements prometheus.Collector.
func (h *Health) Collect(ch chan<- prometheus.Metric) {
	last := h.last.Load()
	if last == nil {
		ch <- prometheus.MustNewConstMetric(healthUp, prometheus.GaugeValue, 0)
		return
	}
	ch <- prometheus.MustNewConstMetric(healthUp, prometheus.GaugeValue, 1)
	for _, r := range *last {
		labels := []string{r.server}
		if r.of.label != "" {
			labels = append(labels, r.label)
		}
		ch <- prometheus.MustNewConstMetric(r.of.desc, r.of.kind, r.value, labels...)
	}
}
