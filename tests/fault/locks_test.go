package fault

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/millrace/millrace/internal/adapter/kafka"
	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/pipeline/sink/sinktest"
	"github.com/millrace/millrace/internal/testkit"
)

// none of the sink's locks.
var none = locks{WithoutPlan: true, WithoutFence: true, WithoutWindow: true, WithoutInsertToken: true}

// lockTests say for each lock what it alone is good for: the fault that it stops
// while all others are off, and that gets through once it is off too.
var lockTests = []struct {
	lock string
	run  func(s *stage, on bool)
	// rows is what tells of doubles: the base table as it is, or read with FINAL
	// where it has a key to read it by.
	rows func(s *stage, on bool) int
}{
	{
		"idempotent producer: an acknowledgement is lost", func(s *stage, on bool) {
			s.plainTable()
			s.loseAcks(on)
			s.store(none)
		},
		(*stage).plainRows,
	},
	{
		"plan and token: a sink is killed after its insert", func(s *stage, on bool) {
			s.plainTable()
			left := none
			left.WithoutPlan, left.WithoutInsertToken = !on, !on
			s.send(s.different(200))
			s.store(left) // so that each partition has a committed offset
			s.send(s.different(900))
			s.settings.Sink.Session = 4 * time.Second // the group waits for the dead one so long
			s.spawnSink(order{Deed: doKill, At: sinktest.FailpointInserted, Nth: 2, Locks: left}).killed()
			s.store(left)
		},
		(*stage).plainRows,
	},
	{
		"eventId window: an event is sent twice", func(s *stage, on bool) {
			s.plainTable()
			left := none
			left.WithoutWindow = !on
			all := s.different(500)
			s.send(all)
			s.send(all)
			s.store(left)
		},
		(*stage).plainRows,
	},
	{
		"table key: an event is sent twice, too late for the window", func(s *stage, on bool) {
			if !on {
				s.plainTable()
			}
			all := s.different(500)
			s.send(all)
			s.send(all)
			s.store(none)
		},
		func(s *stage, on bool) int {
			if on {
				return s.number("SELECT count() FROM events FINAL")
			}
			return s.plainRows(on)
		},
	},
}

func TestEachLockAloneStopsItsFaultAndNothingElseDoes(t *testing.T) {
	t.Parallel()
	leaveOutWhenShort(t)
	testkit.OnlyStrict(t, "without the other locks")
	for _, l := range lockTests {
		t.Run(l.lock, func(t *testing.T) {
			tr := trial{fault: "F26 one lock alone", point: l.lock, on: kfakeOnly, few: 1, body: func(t *testing.T, s *stage) {
				l.run(s, true)
				v := &s.verdict
				v.partly = true
				v.Acked, v.Base = s.acked.unique(), l.rows(s, true)
				v.Doubled = v.Base - v.Acked
				if v.Base != v.Acked {
					t.Errorf("%d rows with this lock alone, want %d", v.Base, v.Acked)
				}

				off := newStage(t, s.seed)
				l.run(off, false)
				if got, want := l.rows(off, false), off.acked.unique(); got <= want {
					t.Errorf("%d rows of %d events without any lock: the fault shows nothing", got, want)
				}
			}}
			tr.run(t)
		})
	}
}

// different makes n events, each sent once only.
func (s *stage) different(n int) []happening {
	seen := map[key]bool{}
	var all []happening
	for len(all) < n {
		for _, h := range s.events(n - len(all)) {
			if k := (key{h.owner, h.id}); !seen[k] {
				seen[k] = true
				all = append(all, h)
			}
		}
	}
	return all
}

// store has a sink with the given locks taken away store everything.
func (s *stage) store(left locks) {
	s.t.Helper()
	// An insert that is given up on a busy machine would be stored twice without the
	// lock that is about that.
	k := &s.settings.Sink
	k.InsertTimeout, k.Rebalance, k.Session = 20*time.Second, 60*time.Second, 10*time.Second
	one := s.startSink(watched{locks: left})
	s.drained()
	one.stop()
}

func (s *stage) plainRows(bool) int {
	s.t.Helper()
	return s.number("SELECT count() FROM events")
}

// plainTable recreates the base table without the key that collapses rows.
func (s *stage) plainTable() {
	s.t.Helper()
	ddl := func(name string) string {
		return s.query("SELECT create_table_query FROM system.tables WHERE database = currentDatabase() AND name = '" + name +
			"'")[0][0]
	}
	base, m15, d1 := ddl("events"), ddl("events_15m_mv"), ddl("events_1d_mv")
	for _, sql := range []string{"DROP VIEW events_15m_mv", "DROP VIEW events_1d_mv", "DROP TABLE events SYNC"} {
		s.exec(sql)
	}
	const replacing = "ReplacingMergeTree(received_at_inv)"
	if !strings.Contains(base, replacing) {
		s.t.Fatalf("the base table's engine is not %s: %s", replacing, base)
	}
	for _, sql := range []string{strings.Replace(base, replacing, "MergeTree", 1), m15, d1} {
		s.exec(sql)
	}
}

// loseAcks publishes events while the broker appends batches and does not say so.
func (s *stage) loseAcks(idempotent bool) {
	s.t.Helper()
	publish := s.forgetful
	if idempotent {
		publish = s.edgeProducer()
	}
	all := s.different(300)
	for from := 0; from < len(all); from += 50 {
		s.fake.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Err: kerr.NotEnoughReplicasAfterAppend})
		batch := all[from : from+50]
		records := make([]record.Record, len(batch))
		for i, h := range batch {
			r := s.record(h)
			records[i] = record.Record{Topic: record.TopicEvents, Key: r.Key, Value: r.Value, Time: time.Now()}
			for _, each := range r.Headers {
				records[i].Headers = append(records[i].Headers, record.Header{Key: each.Key, Value: each.Value})
			}
		}
		if err := publish(s.t.Context(), records); err != nil {
			s.t.Fatal(err)
		}
		s.acked.add(batch)
	}
}

// edgeProducer publishes as edges do.
func (s *stage) edgeProducer() func(context.Context, []record.Record) error {
	s.t.Helper()
	p, err := kafka.NewProducer(s.settings.Kafka, kafka.ProducerDeps{
		Client: "edge", Deadline: patience, Log: s.log.Logger(), Metrics: prometheus.NewRegistry(),
	})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(s.t.Context()), patience)
		defer cancel()
		if err := p.Close(ctx); err != nil {
			s.t.Error(err)
		}
	})
	return p.Publish
}

// forgetful publishes by a client of which the broker does not know what it has appended.
func (s *stage) forgetful(ctx context.Context, records []record.Record) error {
	client, err := kgo.NewClient(
		kgo.SeedBrokers(s.settings.Kafka.Brokers...), kgo.RequiredAcks(kgo.AllISRAcks()), kgo.DisableIdempotentWrite(),
		kgo.RecordPartitioner(kgo.StickyKeyPartitioner(nil)), kgo.RecordDeliveryTimeout(patience),
	)
	if err != nil {
		return err
	}
	defer client.Close()
	all := make([]*kgo.Record, len(records))
	for i := range records {
		r := &records[i]
		all[i] = &kgo.Record{Topic: kafka.TopicName(s.settings.Kafka, r.Topic), Key: r.Key, Value: r.Value, Timestamp: r.Time}
		for _, h := range r.Headers {
			all[i].Headers = append(all[i].Headers, kgo.RecordHeader{Key: h.Key, Value: h.Value})
		}
	}
	return client.ProduceSync(ctx, all...).FirstErr()
}
