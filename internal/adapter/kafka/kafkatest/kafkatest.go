// Package kafkatest gives a test a Kafka cluster of its own: a broker that speaks
// the real protocol inside the test's process and keeps its records in memory.
package kafkatest

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/millrace/millrace/internal/platform/config"
)

// Partitions and Replication are what the returned settings create topics with.
const (
	Partitions  = 4
	Replication = 1
)

// Cluster starts a cluster of one broker without topics, which ends with the
// test, and returns it with the settings to reach it. Options are added to the
// defaults: kfake.SeedTopics to begin with topics, kfake.NumBrokers for more
// brokers. The cluster's Control functions answer requests in its place, to let
// a test see how we cope with failures.
func Cluster(tb testing.TB, opts ...kfake.Opt) (*kfake.Cluster, config.Kafka) {
	tb.Helper()
	cluster, err := kfake.NewCluster(append([]kfake.Opt{
		kfake.NumBrokers(1),
		kfake.DefaultNumPartitions(Partitions),
	}, opts...)...)
	if err != nil {
		tb.Fatalf("starting a Kafka cluster: %v", err)
	}
	tb.Cleanup(cluster.Close)

	cfg := config.Default().Kafka
	cfg.Brokers = cluster.ListenAddrs()
	cfg.Partitions, cfg.Replication = Partitions, Replication
	return cluster, cfg
}

// WithholdOffsets has the cluster reject whoever asks where a partition begins or ends, from now on.
func WithholdOffsets(cluster *kfake.Cluster, topic string, partition int32) {
	cluster.Fault(kfake.Fault{
		Keys: []kmsg.Key{kmsg.ListOffsets}, Topic: topic, Partitions: []int32{partition}, Err: kerr.InvalidRequest, Count: -1,
	})
}

// WithholdGroups has the cluster reject whoever asks what a group is, from now on.
func WithholdGroups(cluster *kfake.Cluster) {
	cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.DescribeGroups}, Err: kerr.InvalidRequest, Count: -1})
}

// Secured is Cluster with users, who sign in with the mechanism plain and the
// password "secret", and an authorizer. The user of the returned settings is
// "admin", who may do everything; the others may do what ACLs allow them.
func Secured(tb testing.TB, others ...string) config.Kafka {
	tb.Helper()
	const admin, password, method = "admin", "secret", "PLAIN"
	opts := []kfake.Opt{kfake.EnableSASL(), kfake.EnableACLs(), kfake.Superuser(method, admin, password)}
	for _, name := range others {
		opts = append(opts, kfake.User(method, name, password))
	}
	_, cfg := Cluster(tb, opts...)
	cfg.SASL = config.KafkaSASL{Mechanism: "plain", User: admin, Password: password}
	return cfg
}
