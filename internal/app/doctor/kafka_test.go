package doctor

import (
	"context"
	"net"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/adapter/kafka"
	"github.com/millrace/millrace/internal/adapter/kafka/kafkatest"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/testkit"
)

// Whoever leads a partition has nobody that bridges it, unlike the addresses at which clients begin.
func TestABrokerThatCannotBeReachedIsAFailure(t *testing.T) {
	t.Parallel()
	_, cfg := kafkatest.Cluster(t)
	if _, err := kafka.EnsureTopics(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	found, err := kafka.Inspect(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	partitions := 0
	for _, topic := range found.Topics {
		partitions += topic.Partitions
	}
	if diff := cmp.Diff(map[string]int{found.Brokers[0]: partitions}, found.Leads); diff != "" || partitions == 0 {
		t.Errorf("partitions that brokers lead (-want +got):\n%s", diff)
	}
	var well notebook
	if well.advertised(t.Context(), &found); len(well.findings) > 0 {
		t.Errorf("of brokers that can be reached it says %+v", well.findings)
	}
	closed := testkit.FreeAddr(t)
	found.Leads[closed], found.Brokers = 3, append(found.Brokers, closed)
	var ill notebook
	ill.advertised(t.Context(), &found)
	r := &Report{Findings: ill.findings}
	if r.Worst() != Fail || !strings.Contains(r.Findings[0].What, closed+" (") ||
		!strings.Contains(r.Findings[0].What, "leads 3 partitions") {
		t.Errorf("of a broker that cannot be reached it says %+v", r.Findings)
	}
	var seeds notebook
	reached := seeds.dials(t.Context(), "kafka.reach", "kafka.brokers", found.Brokers, "", "")
	if !slices.Equal(reached, found.Brokers[:1]) || len(seeds.findings) != 1 || seeds.findings[0].Level != Warn {
		t.Errorf("of an address to begin at it says %+v, and goes on at %q", seeds.findings, reached)
	}
}

// A machine that is gone rejects nothing.
func TestSilentAddressesLeaveTimeForTheOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		connect := func(ctx context.Context, addr string) (net.Conn, error) {
			ctx, cancel := context.WithTimeout(ctx, dialTimeout)
			defer cancel()
			if addr != "well:9092" {
				<-ctx.Done()
			}
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			conn, other := net.Pipe()
			other.Close()
			return conn, nil
		}
		silent := unreachable(ctx, []string{"a:9092", "b:9092", "c:9092", "d:9092", "well:9092"}, connect)
		if _, ok := silent["well:9092"]; ok || len(silent) != 4 {
			t.Errorf("these do not answer: %v", silent)
		}
	})
}

// What brokers told until somebody took all the time, or rejected a question, is told.
func TestBrokersThatDoNotAnswerEverythingAreNotCalledAnotherServer(t *testing.T) {
	t.Parallel()
	cluster, cfg := kafkatest.Cluster(t)
	kafkatest.WithholdGroups(cluster)
	o := Options{Settings: config.Default(), Roles: Roles, Now: time.Now}
	o.Settings.Kafka = cfg
	var n notebook
	lookAtKafka(t.Context(), &o, &n)
	if len(n.findings) != 1 || n.findings[0].Check != "kafka.reach" || n.findings[0].Level != Fail ||
		!strings.Contains(n.findings[0].What, "a metadata request failed") {
		t.Errorf("it says %+v", n.findings)
	}
}
