package kafka

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/millrace/millrace/internal/adapter/kafka/kafkatest"
	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/testkit"
)

var errBroken = errors.New("the connection is broken")

// outcomes collects what becomes of records.
type outcomes struct {
	mu   sync.Mutex
	good int
	bad  []error
}

func (o *outcomes) done(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err == nil {
		o.good++
		return
	}
	o.bad = append(o.bad, err)
}

// are waits until so many records are done, each way.
func (o *outcomes) are(t *testing.T, good, bad int) {
	t.Helper()
	testkit.Eventually(t, time.Minute, func() error {
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.good != good || len(o.bad) != bad {
			return fmt.Errorf("%d are stored and %d are not, want %d and %d: %v", o.good, len(o.bad), good, bad, o.bad)
		}
		return nil
	})
}

func newSender(t *testing.T, cfg config.Kafka) *Sender {
	t.Helper()
	s, err := NewSender(cfg,
		SenderDeps{Client: "test", Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close(t.Context()) })
	return s
}

// clickRecords makes records of a few links, numbered in their values.
func clickRecords(n int) []record.Record {
	recs := make([]record.Record, n)
	for i := range recs {
		recs[i] = record.Record{
			Topic: record.TopicClicks, Key: fmt.Appendf(nil, "lnk_%d", i%7), Value: fmt.Appendf(nil, "%06d", i),
			Time:    time.Now().Truncate(time.Millisecond),
			Headers: []record.Header{{Key: "schema", Value: []byte("clicks.v1")}},
		}
	}
	return recs
}

// inTopic reads all that is in the topic of clicks, by key.
func inTopic(t *testing.T, cfg config.Kafka, n int) map[string][]string {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(cfg.Brokers...), kgo.ConsumeTopics(TopicName(cfg, record.TopicClicks)))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	got := map[string][]string{}
	for read := 0; read < n; {
		client.PollFetches(t.Context()).EachRecord(func(r *kgo.Record) {
			got[string(r.Key)] = append(got[string(r.Key)], string(r.Value))
			read++
		})
	}
	return got
}

// byKey is what inTopic is to find, in order and each once.
func byKey(recs []record.Record) map[string][]string {
	all := map[string][]string{}
	for i := range recs {
		all[string(recs[i].Key)] = append(all[string(recs[i].Key)], string(recs[i].Value))
	}
	return all
}

func TestWhatIsSentIsInTheTopicOnceAndInOrderWhateverBrokersAnswer(t *testing.T) {
	t.Parallel()
	fault := func(err *kerr.Error, times int) kfake.Fault {
		return kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Topic: record.TopicClicks, Err: err, Count: times}
	}
	for name, tc := range map[string]struct {
		faults []kfake.Fault
		breaks int // connections that end without a response
	}{
		"all is well": {},
		"refusals that pass": {
			faults: []kfake.Fault{fault(kerr.NotEnoughReplicas, 20), fault(kerr.NotLeaderForPartition, 5)},
		},
		"lost answers": {faults: []kfake.Fault{fault(kerr.NotEnoughReplicasAfterAppend, 5)}},
		"no answers":   {breaks: 8},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, cfg := kafkatest.Cluster(t, kfake.SeedTopics(kafkatest.Partitions, record.TopicClicks))
			c.Fault(tc.faults...)
			c.ControlKey(int16(kmsg.Produce), func(kmsg.Request) (kmsg.Response, error, bool) {
				c.KeepControl()
				tc.breaks--
				return nil, errBroken, tc.breaks >= 0
			})
			s, recs := newSender(t, cfg), clickRecords(500)
			var o outcomes
			for i := range recs {
				s.Send(&recs[i], o.done)
			}
			o.are(t, len(recs), 0)
			if diff := cmp.Diff(byKey(recs), inTopic(t, cfg, len(recs))); diff != "" {
				t.Errorf("(-sent +read):\n%s", diff)
			}
			if got := inClicks(c); got != int64(len(recs)) {
				t.Errorf("the topic has %d records, want %d", got, len(recs))
			}
		})
	}
}

// inClicks counts the records of the topic.
func inClicks(c *kfake.Cluster) (n int64) {
	for _, p := range c.PartitionInfos(record.TopicClicks) {
		n += p.HighWatermark
	}
	return n
}

// What is sent before the topic is there waits for it.
func TestASenderWaitsForItsTopic(t *testing.T) {
	t.Parallel()
	_, cfg := kafkatest.Cluster(t)
	cfg.TopicPrefix = "acme."
	s, recs := newSender(t, cfg), clickRecords(50)
	var o outcomes
	for i := range recs {
		s.Send(&recs[i], o.done)
	}
	if _, err := EnsureTopics(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	o.are(t, len(recs), 0)
	if diff := cmp.Diff(byKey(recs), inTopic(t, cfg, len(recs))); diff != "" {
		t.Errorf("(-sent +read):\n%s", diff)
	}
}

// A rejection that brokers may take back is waited out, however long the client would wait.
func TestARecordThatTheClientGivesUpIsSentAgain(t *testing.T) {
	t.Parallel()
	c, cfg := kafkatest.Cluster(t, kfake.SeedTopics(kafkatest.Partitions, record.TopicClicks))
	c.Fault(
		kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Topic: record.TopicClicks, Err: kerr.TopicAuthorizationFailed, Count: 4})
	s, recs := newSender(t, cfg), clickRecords(20)
	var o outcomes
	for i := range recs {
		s.Send(&recs[i], o.done)
	}
	o.are(t, len(recs), 0)
	if got := inClicks(c); got != int64(len(recs)) {
		t.Errorf("the topic has %d records, want %d", got, len(recs))
	}
}

func TestWhatBrokersRejectForGoodIsGivenUp(t *testing.T) {
	t.Parallel()
	c, cfg := kafkatest.Cluster(t, kfake.SeedTopics(kafkatest.Partitions, record.TopicClicks))
	c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Topic: record.TopicClicks, Err: kerr.MessageTooLarge, Count: -1})
	s, recs := newSender(t, cfg), clickRecords(20)
	var o outcomes
	for i := range recs {
		s.Send(&recs[i], o.done)
	}
	o.are(t, 0, len(recs))
}

func TestClosingASenderEndsWhatIsOnItsWay(t *testing.T) {
	t.Parallel()
	_, cfg := kafkatest.Cluster(t) // without the topic
	s, recs := newSender(t, cfg), clickRecords(20)
	var o outcomes
	for i := range recs {
		s.Send(&recs[i], o.done)
	}
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	o.are(t, 0, len(recs))
	s.Send(&recs[0], o.done)
	o.are(t, 0, len(recs)+1)
}
