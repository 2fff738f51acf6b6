package doctor

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/adapter/kafka"
	"github.com/millrace/millrace/internal/adapter/kafka/kafkatest"
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
	if !seeds.dials(t.Context(), "kafka.reach", "kafka.brokers", found.Brokers, "", "") ||
		len(seeds.findings) != 1 || seeds.findings[0].Level != Warn {
		t.Errorf("of an address to begin at it says %+v", seeds.findings)
	}
}
