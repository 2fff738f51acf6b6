package harness

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/adapter/clickhouse/clickhousetest"
	"github.com/millrace/millrace/internal/adapter/clickhouse/schema"
	"github.com/millrace/millrace/internal/adapter/kafka"
	"github.com/millrace/millrace/internal/adapter/kafka/kafkatest"
	"github.com/millrace/millrace/internal/app/daemon"
	"github.com/millrace/millrace/internal/app/edge"
	"github.com/millrace/millrace/internal/app/query"
	"github.com/millrace/millrace/internal/app/sink"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/testkit"
	"github.com/millrace/millrace/internal/testkit/nameserver"
)

// startInProcess runs the daemons' components in this process.
func (s *System) startInProcess(tb testing.TB, opts Options) {
	tb.Helper()
	if len(opts.Settings) > 0 || opts.OwnServers {
		tb.Fatal("an in-process system takes no settings and no servers")
	}
	_, s.Kafka = kafkatest.Cluster(tb)
	s.ClickHouse = clickhousetest.Migrated(tb, schema.Migrate)
	s.StoreURL = "sqlite:" + filepath.Join(testkit.ShortDir(tb), "meta.db")
	s.Fixture = Seed(tb, s.StoreURL)
	if _, err := kafka.EnsureTopics(tb.Context(), s.Kafka); err != nil {
		tb.Fatal(err)
	}
	settings := config.Default()
	settings.Kafka, settings.ClickHouse, settings.Store.URL = s.Kafka, s.ClickHouse, config.Secret(s.StoreURL)
	settings.Admin.Listen, settings.Limits, settings.Ingest.Deadline = "", testkit.WideLimits(), patience
	settings.Log.Format = "text"
	settings.Security.Contact = securityContact
	if opts.Verbose {
		settings.Log.Level, settings.Log.Access = "debug", true
	}
	settings.Ingest.Listen, settings.Query.Listen = testkit.FreeAddr(tb), testkit.FreeAddr(tb)
	settings.Link.Listen = testkit.FreeAddr(tb)
	s.IngestURL, s.QueryURL = "http://"+settings.Ingest.Listen, "http://"+settings.Query.Listen
	s.LinkURL = "http://" + settings.Link.Listen
	s.DNS = nameserver.Start(tb)
	settings.Domains.Resolver = s.DNS.Addr
	for _, d := range []struct {
		role  Role
		parts daemon.Components
	}{{Edge, edge.Components}, {Sink, sink.Components}, {Query, query.Components}} {
		s.logs = append(s.logs, run(tb, d.role, settings, d.parts))
	}
}

// Log returns what the daemons of an InProcess system have logged so far.
func (s *System) Log() string {
	var b strings.Builder
	for _, log := range s.logs {
		b.WriteString(log.String())
	}
	return b.String()
}

// StartSink runs a sink in this process from the topics of a broker into a
// database of its own, until the test ends. The System can be asked what it
// stores, and has nothing else.
func StartSink(tb testing.TB, cfg config.Kafka) *System {
	tb.Helper()
	s := &System{Mode: InProcess, Kafka: cfg, ClickHouse: clickhousetest.Database(tb)}
	if err := schema.Migrate(tb.Context(), s.ClickHouse); err != nil {
		tb.Fatal(err)
	}
	settings := config.Default()
	settings.Kafka, settings.ClickHouse, settings.Admin.Listen = s.Kafka, s.ClickHouse, ""
	settings.Sink.Group = cfg.TopicPrefix + "sink"
	run(tb, Sink, settings, sink.Components)
	return s
}

// run runs a daemon until the test ends and returns its log when it is ready.
func run(tb testing.TB, role Role, settings config.Settings, parts daemon.Components) *testkit.Log {
	tb.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(tb.Context()))
	log := testkit.NewLog(tb, string(role))
	ready, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- daemon.Run(ctx, string(role), settings, log, parts, func() { close(ready) })
	}()
	timeout := time.NewTimer(readyTimeout)
	defer timeout.Stop()
	select {
	case <-ready:
	case err := <-ended:
		cancel()
		tb.Fatalf("%s ended while starting: %v\n%s", role, err, log)
	case <-timeout.C:
		cancel()
		tb.Fatalf("%s is not ready after %s\n%s", role, readyTimeout, log)
	}
	tb.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			tb.Errorf("stopping %s: %v", role, err)
		}
	})
	return log
}
