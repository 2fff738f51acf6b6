package status

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/adapter/kafka"
	"github.com/millrace/millrace/internal/adapter/kafka/kafkatest"
	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/pipeline/repair"
	"github.com/millrace/millrace/internal/platform/config"
)

// A daemon that does not respond keeps no other from being told of: here the first one responds when
// the second one has.
func TestDaemonsAreAskedSideBySide(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{})
	patient := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		select {
		case <-asked:
		case <-req.Context().Done():
		}
	}))
	defer patient.Close()
	second := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		if req.URL.Path == "/metrics" {
			close(asked)
		}
	}))
	defer second.Close()
	addr := func(s *httptest.Server) string { return strings.TrimPrefix(s.URL, "http://") }
	r := &reader{Options: Options{Admins: []string{addr(patient), addr(second)}}, status: &Status{}}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second) // as all of it
	defer cancel()
	if err := r.daemons(ctx); err != nil || len(r.status.Daemons) != 2 {
		t.Errorf("told of %+v, %v", r.status.Daemons, err)
	}
	if transport, ok := direct.Transport.(*http.Transport); !ok || transport.Proxy != nil {
		t.Error("daemons are asked through the proxy that the environment names")
	}
}

// What brokers do not tell of a partition is unknown; the others, and the other topics, are told of.
func TestAPartitionThatCannotBeAskedAboutHidesNoOther(t *testing.T) {
	t.Parallel()
	cluster, cfg := kafkatest.Cluster(t)
	if _, err := kafka.EnsureTopics(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	kafkatest.WithholdOffsets(cluster, record.TopicClicks, 1)
	r := &reader{
		Options: Options{
			Settings:  config.Settings{Kafka: cfg},
			Pipelines: []repair.Pipeline{{Topic: record.TopicClicks, Group: "c"}, {Topic: record.TopicEvents, Group: "e"}},
		},
		status: &Status{},
	}
	if err := r.kafka(t.Context()); err != nil {
		t.Fatal(err)
	}
	var told []string
	for _, topic := range r.status.Kafka.Topics {
		told = append(told, topic.Name)
	}
	if diff := cmp.Diff([]string{record.TopicClicks, record.TopicEvents}, told); diff != "" {
		t.Errorf("topics (-want +got):\n%s", diff)
	}
	missing := "1 of 4 partitions of " + record.TopicClicks
	if unknown := r.status.Unknown; len(unknown) != 1 || !strings.Contains(unknown[0], missing) {
		t.Errorf("unknown is %q, want %s", unknown, missing)
	}
}
