package topics

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/adapter/kafka"
	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/testkit/services"
)

// kcat is another implementation of the client, written by other people: it must
// see what we say is there, and choose the partitions that we choose.
func TestKcatReadsTheTopicAndChoosesTheSamePartitions(t *testing.T) {
	t.Parallel()
	cfg := services.Kafka(t)
	if _, err := kafka.EnsureTopics(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	const websites = 50
	e := newEdge(t, cfg)
	var keys bytes.Buffer
	for n := range websites {
		e.accept(t, websiteID(n), `{"name":"x"}`, 1)
		keys.WriteString(websiteID(n) + ":{}\n")
	}
	run := func(stdin []byte, args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "kcat", append([]string{"-b", cfg.Brokers[0], "-q"}, args...)...)
		cmd.Stdin = bytes.NewReader(stdin)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("kcat %v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	partitions := func(topic string) map[string]string {
		t.Helper()
		found := map[string]string{}
		for line := range strings.Lines(run(nil, "-C", "-t", topic, "-e", "-f", "%k %p\n")) {
			key, partition, _ := strings.Cut(strings.TrimSpace(line), " ")
			found[key] = partition
		}
		return found
	}
	ours := partitions(kafka.TopicName(cfg, record.TopicEvents))
	if len(ours) != websites {
		t.Fatalf("kcat read %d keys, want %d", len(ours), websites)
	}
	other := kafka.TopicName(cfg, record.TopicEventsBackfill)
	run(keys.Bytes(), "-P", "-t", other, "-K", ":", "-X", "partitioner=murmur2_random")
	if diff := cmp.Diff(partitions(other), ours); diff != "" {
		t.Errorf("partitions (-kcat's +ours):\n%s", diff)
	}
}
