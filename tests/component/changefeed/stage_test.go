// Package changefeed_test proves a relay and followers of changes on a broker and a
// store: what arrives, in what order, and what becomes of it when something
// between them fails.
package changefeed_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/millrace/millrace/internal/adapter/kafka"
	"github.com/millrace/millrace/internal/adapter/kafka/kafkatest"
	"github.com/millrace/millrace/internal/adapter/store"
	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/platform/control"
	"github.com/millrace/millrace/internal/testkit"
)

const patient = 30 * time.Second

// memory is a control.Cache that writes down what it is told.
type memory struct {
	mu      sync.Mutex
	changes []control.Change
	forgot  int
	trusted time.Time
}

func (m *memory) Apply(c control.Change) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.changes = append(m.changes, c)
}

func (m *memory) Forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.forgot++
}

func (m *memory) Trust(until time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.trusted = until
}

// told returns the ids of the changes so far, with their epochs.
func (m *memory) told() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	ids := []string{}
	for _, c := range m.changes {
		ids = append(ids, fmt.Sprintf("%s@%d", c.ID, c.Epoch))
	}
	return ids
}

func (m *memory) forgotten() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.forgot
}

// stage is a broker with the topic, and a store.
type stage struct {
	cluster *kfake.Cluster
	kafka   config.Kafka
	db      *store.Store
}

func newStage(t *testing.T) *stage {
	t.Helper()
	s := &stage{db: newStore(t)}
	s.cluster, s.kafka = kafkatest.Cluster(t)
	if _, err := kafka.EnsureTopics(t.Context(), s.kafka); err != nil {
		t.Fatal(err)
	}
	return s
}

func newStore(t *testing.T) *store.Store {
	t.Helper()
	db, err := store.Open(t.Context(), "sqlite:"+filepath.Join(t.TempDir(), "meta.db"), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	if err := db.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return db
}

// announce commits change events.
func (s *stage) announce(t *testing.T, changes ...control.Change) {
	t.Helper()
	if err := s.db.InTx(t.Context(), func(ctx context.Context, tx *store.Store) error {
		for _, c := range changes {
			if err := tx.Announce(ctx, c); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

// process is a follower with a memory.
type process struct {
	*control.Follower
	*memory

	stop func()
}

func (s *stage) follow(t *testing.T, states ...*control.States) *process {
	t.Helper()
	m := &memory{}
	log := testkit.NewLog(t, "follower").Logger()
	f := control.NewFollower(control.FollowerDeps{
		Source: kafka.NewControlSource(s.kafka, "test", log), Caches: []control.Cache{m}, States: states,
		Log: log, Metrics: prometheus.NewRegistry(),
	})
	p := &process{Follower: f, memory: m}
	p.stop = start(t, f.Run)
	return p
}

// relay relays until the test ends or the returned function is called.
func (s *stage) relay(t *testing.T, f *control.Follower, outbox control.Outbox) (stop func()) {
	t.Helper()
	log := testkit.NewLog(t, "relay").Logger()
	producer, err := kafka.NewProducer(s.kafka,
		kafka.ProducerDeps{Client: "test", Deadline: time.Minute, Log: log, Metrics: prometheus.NewRegistry()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
		cancel()
		_ = producer.Close(ctx)
	})
	return start(t, control.NewRelay(control.RelayDeps{
		Outbox: outbox, Publisher: producer, Leases: s.db, Follower: f, Log: log, Metrics: prometheus.NewRegistry(),
	}).Run)
}

// start runs something until the test ends or the returned function is called.
func start(t *testing.T, run func(context.Context) error) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run() = %v", err)
		}
	})
	t.Cleanup(stop)
	return stop
}

// expectTold waits until a process was told of exactly these, in this order.
func (p *process) expectTold(t *testing.T, want ...string) {
	t.Helper()
	testkit.Eventually(t, patient, func() error {
		if got := p.told(); fmt.Sprint(got) != fmt.Sprint(want) {
			return fmt.Errorf("told of %v, want %v", got, want)
		}
		return nil
	})
}

func (p *process) awaitFollowing(t *testing.T) {
	t.Helper()
	testkit.Eventually(t, patient, func() error {
		if !p.Following() {
			return errors.New("changes do not arrive")
		}
		return nil
	})
}

// values reads what stands in the topic.
func (s *stage) values(t *testing.T) []string {
	t.Helper()
	var all []string
	if err := kafka.Tap(t.Context(), s.kafka,
		kafka.TapOptions{Topic: control.Topic, Exit: true, Log: testkit.NewLog(t, "tap").Logger()},
		func(r *kafka.Tapped) error {
			all = append(all, string(r.Value))
			return nil
		}); err != nil {
		t.Fatal(err)
	}
	return all
}

// write puts a value into the topic, past the relay.
func (s *stage) write(t *testing.T, value string) {
	t.Helper()
	producer, err := kafka.NewProducer(s.kafka, kafka.ProducerDeps{
		Client:   "other",
		Deadline: 5 * time.Second,
		Log:      testkit.NewLog(t, "producer").Logger(),
		Metrics:  prometheus.NewRegistry(),
	})
	if err == nil {
		err = producer.Publish(t.Context(),
			[]record.Record{{Topic: control.Topic, Key: []byte("k"), Value: []byte(value), Time: time.Now()}})
	}
	if err == nil {
		err = producer.Close(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
}
