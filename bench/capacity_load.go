package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/millrace/millrace/internal/adapter/load"
	"github.com/millrace/millrace/internal/app/daemon"
	"github.com/millrace/millrace/internal/app/edge"
	appsink "github.com/millrace/millrace/internal/app/sink"
	"github.com/millrace/millrace/internal/pipeline/traffic"
	"github.com/millrace/millrace/internal/platform/config"
)

// serveEdge and serveSinks run the daemons, as their programs do.
func serveEdge(ctx context.Context, j job, say func(result) error) error {
	s := j.daemon()
	if err := freeAddr(&s.Ingest.Listen); err != nil {
		return err
	}
	return daemon.Run(ctx, edge.Component, s, os.Stderr, edge.Alone, func() { say(result{Addr: s.Ingest.Listen}) })
}

func serveSinks(ctx context.Context, j job, say func(result) error) error {
	return daemon.Run(ctx, appsink.Component, j.daemon(), os.Stderr, appsink.Components, func() { say(result{}) })
}

// daemon are the settings of one: the defaults, without limits of rate.
func (j job) daemon() config.Settings {
	s := config.Default()
	s.Kafka, s.ClickHouse.Addr, s.Store.URL = kafkaSettings(j.Brokers), []string{j.ClickHouse}, config.Secret(j.Folder)
	s.Limits.Enabled, s.Log.Level, s.Admin.Listen = false, "error", ""
	return s
}

// load sends what `millrace load events` sends, for a time.
func (p *plant) load(ctx context.Context, rate float64, d time.Duration) (*load.Report, error) {
	sites := make([]traffic.Site, len(p.websites))
	for i, id := range p.websites {
		sites[i] = traffic.Site{ID: id, Host: fmt.Sprintf("site-%d.example.com", i+1)}
	}
	world := traffic.NewWorld(traffic.Config{Seed: 1, Run: traffic.RunAt(time.Now()), Sites: sites, Bots: 0.03})
	work := &load.Events{URL: "http://" + p.edge.Addr, Key: p.key, Requests: world.Requests(0, traffic.Mix{
		Batch: capacityBatch, Duplicates: 0.01, Disorder: 0.05, Late: 0.02,
	})}
	send, closeAll := load.HTTP(capacityConnections)
	defer closeAll()
	r, err := load.Drive(ctx,
		load.Options{Rate: rate, Duration: d, Connections: capacityConnections, Timeout: time.Minute}, work, send)
	if err == nil && r.Accepted == 0 {
		err = fmt.Errorf("nothing was accepted: %v %s", r.Statuses, r.FirstError)
	}
	return r, err
}

// stored returns when everything in the topics is committed.
func (p *plant) stored(ctx context.Context) error {
	return p.until(ctx, func() (bool, error) {
		behind := int64(0)
		err := admin(p.kafka.Brokers, func(adm *kadm.Client) error {
			lags, err := adm.Lag(ctx)
			if err != nil {
				return err
			}
			lags.Each(func(l kadm.DescribedGroupLag) { behind += l.Lag.Total() })
			return lags.Error()
		})
		return behind == 0, err
	})
}
