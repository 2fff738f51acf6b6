package kafka_test

import (
	"sync/atomic"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/millrace/millrace/internal/adapter/kafka"
	"github.com/millrace/millrace/internal/adapter/kafka/kafkatest"
)

// Whoever asks all brokers waits for the one that is gone.
func TestOneBrokerIsAskedForItsVersion(t *testing.T) {
	t.Parallel()
	cluster, cfg := kafkatest.Cluster(t, kfake.NumBrokers(3))
	var asked atomic.Int64
	cluster.ControlKey(int16(kmsg.ApiVersions), func(r kmsg.Request) (kmsg.Response, error, bool) {
		cluster.KeepControl()
		v, ok := r.(*kmsg.ApiVersionsRequest)
		if ok && (v.ClientSoftwareName == "kadm" || v.ClientSoftwareVersion == "inspect") { // not as a connection begins
			asked.Add(1)
		}
		return nil, nil, false
	})
	found, err := kafka.Inspect(t.Context(), cfg)
	if err != nil || found.Version != "" || asked.Load() != 1 {
		t.Errorf("%d of 3 brokers were asked, version %q of the embedded broker, %v", asked.Load(), found.Version, err)
	}
}
