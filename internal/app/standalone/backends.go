package standalone

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/millrace/millrace/internal/adapter/embedded/broker"
	"github.com/millrace/millrace/internal/adapter/embedded/chlibrary"
	"github.com/millrace/millrace/internal/adapter/embedded/chserver"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/platform/lifecycle"
)

// Topics of a laptop, where the settings do not say. Each partition is inserted by
// itself, a second's worth at a time, and most of what such an insert costs does not
// depend on its rows: on two cores, two partitions are stored half as fast again as
// four, and one sink keeps up with both.
const (
	partitions  = 2
	replication = 1
)

// backends are the embedded servers that run; one that the settings replace is
// nil.
type backends struct {
	// settings name every backend: those that were given, and the embedded ones.
	settings   config.Settings
	broker     *broker.Broker
	clickhouse *chserver.Server
}

// startBackends resolves each backend and starts those that are embedded.
func startBackends(
	ctx context.Context, s config.Settings, f *folder, log *slog.Logger, notify func(string),
) (*backends, error) {
	b := &backends{settings: s}
	err := b.startKafka(ctx, f, log, notify)
	if err == nil {
		err = b.startClickHouse(ctx, f, log, notify)
	}
	if err != nil {
		return nil, errors.Join(err, b.Close())
	}
	if !s.Store.IsSet() {
		b.settings.Store.URL = config.Secret("sqlite:" + f.path(storeFile))
	}
	return b, nil
}

func (b *backends) startKafka(ctx context.Context, f *folder, log *slog.Logger, notify func(string)) (err error) {
	k := &b.settings.Kafka
	if k.Partitions == 0 {
		k.Partitions = partitions
	}
	if k.Replication == 0 {
		k.Replication = replication
	}
	if len(k.Brokers) > 0 {
		return nil
	}
	notify("starting Kafka")
	b.broker, err = broker.Start(ctx, broker.Config{
		Listen: b.settings.Embedded.Kafka.Listen, DataDir: f.path(kafkaDir), Log: log,
	})
	if err != nil {
		return err
	}
	k.Brokers = []string{b.broker.Addr()}
	return nil
}

func (b *backends) startClickHouse(ctx context.Context, f *folder, log *slog.Logger, notify func(string)) (err error) {
	if len(b.settings.ClickHouse.Addr) > 0 {
		return nil
	}
	e := b.settings.Embedded.ClickHouse
	cfg := chserver.Config{
		Listen: e.Listen, HTTPListen: e.HTTP.Listen, Dir: f.path(clickHouseDir),
		Binary: e.Binary, Library: e.Library, Log: log, Notify: notify,
	}
	err = chserver.Available(cfg)
	if errors.Is(err, chlibrary.ErrMissing) {
		cfg.Library, err = fetch(ctx, notify)
	}
	if err != nil {
		return err
	}
	b.clickhouse, err = chserver.Start(ctx, cfg)
	if err != nil {
		return err
	}
	b.settings.ClickHouse.Addr = []string{b.clickhouse.Addr()}
	return nil
}

// fetch installs the library where later starts find it.
func fetch(ctx context.Context, notify func(string)) (string, error) {
	dir, err := chlibrary.Folder()
	if err != nil {
		return "", err
	}
	return chlibrary.Install(ctx, dir, notify)
}

// component ends the process when the embedded ClickHouse cannot be kept running.
func (b *backends) component() lifecycle.Component {
	return lifecycle.Component{
		Name: "embedded backends",
		Run: func(ctx context.Context) error {
			var failed <-chan error // never, when there is none
			if b.clickhouse != nil {
				failed = b.clickhouse.Failed()
			}
			select {
			case <-ctx.Done():
				return nil
			case err := <-failed:
				return err
			}
		},
	}
}

// httpAddr is the embedded ClickHouse's HTTP address; empty when there is none.
func (b *backends) httpAddr() string {
	if b.clickhouse == nil {
		return ""
	}
	return b.clickhouse.HTTPAddr()
}

// Close stops the embedded servers.
func (b *backends) Close() error {
	var errs []error
	if b.clickhouse != nil {
		errs = append(errs, b.clickhouse.Close())
	}
	if b.broker != nil {
		errs = append(errs, b.broker.Close())
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("stopping the embedded servers: %w", err)
	}
	return nil
}
