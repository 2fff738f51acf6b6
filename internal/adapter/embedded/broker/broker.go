// Package broker runs a Kafka broker inside this process, for standalone mode.
//
// It promises the real wire protocol on one loopback address, so that any Kafka
// client can tap it; records that are on disk when they are acknowledged; and
// topics, group offsets and a cluster id that survive a restart and a kill -9.
//
// It is one node without replication, made for development, demonstrations and
// data that one can send again (docs/adr/0005-kfake-as-embedded-broker.md). It
// rejects addresses that another machine could reach, creates no topic because a
// client asks about it, and expects to be alone on its folder.
package broker

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"time"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/millrace/millrace/internal/adapter/embedded/loopback"
)

// settingListen is the setting that errors name.
const settingListen = "MILLRACE_EMBEDDED_KAFKA_LISTEN"

// portWait covers the moment between a killed predecessor's end and that of its
// socket.
const portWait = time.Second

// Config says where the broker listens and keeps its records.
type Config struct {
	// Listen is a loopback address, host:port; port 0 takes a free one.
	Listen string
	// DataDir holds the records. It is made when missing.
	DataDir string
	// Log is told what goes wrong; required.
	Log *slog.Logger
}

// Broker is a running broker. Its methods are safe for concurrent use.
type Broker struct {
	cluster *kfake.Cluster
	addr    string
}

// Start runs a broker on what its folder holds; when it returns, clients can
// connect.
func Start(ctx context.Context, cfg Config) (*Broker, error) {
	addr, err := loopback.Resolve(ctx, cfg.Listen, settingListen)
	if err != nil {
		return nil, err
	}
	if err := loopback.Free(ctx, addr, settingListen, portWait); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(cfg.DataDir, 0o700); err != nil {
		return nil, fmt.Errorf("creating the folder of the embedded Kafka broker: %w", err)
	}
	var lc net.ListenConfig
	cluster, err := kfake.NewCluster(
		kfake.NumBrokers(1),
		// The broker tells clients the address that it listens on.
		kfake.ListenFn(func(network, _ string) (net.Listener, error) { return lc.Listen(ctx, network, addr) }),
		kfake.DataDir(cfg.DataDir),
		kfake.SyncWrites(),
		// Taken at the first start only; later the folder's own id holds.
		kfake.ClusterID(uuid.NewString()),
		kfake.WithLogger(logger{cfg.Log}),
	)
	if err != nil {
		return nil, fmt.Errorf("starting the embedded Kafka broker: %w", err)
	}
	return &Broker{cluster: cluster, addr: addr}, nil
}

// Addr is the address that clients connect to.
func (b *Broker) Addr() string { return b.addr }

// Close writes what is left to write and stops the broker. It may be called more
// than once.
func (b *Broker) Close() error {
	b.cluster.Close()
	return nil
}
