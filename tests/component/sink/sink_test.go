// Package sink_test proves the sink on a broker and a real ClickHouse: what kills,
// lost responses, moving partitions and malformed records leave behind.
package sink_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/ch-go/proto"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/millrace/millrace/internal/adapter/clickhouse"
	"github.com/millrace/millrace/internal/adapter/clickhouse/clickhousetest"
	"github.com/millrace/millrace/internal/adapter/clickhouse/insert"
	"github.com/millrace/millrace/internal/adapter/clickhouse/ledgerstore"
	"github.com/millrace/millrace/internal/adapter/clickhouse/schema"
	"github.com/millrace/millrace/internal/adapter/kafka"
	"github.com/millrace/millrace/internal/adapter/kafka/kafkatest"
	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/pipeline/deadletter"
	"github.com/millrace/millrace/internal/pipeline/sink"
	"github.com/millrace/millrace/internal/platform/config"
)

func TestMain(m *testing.M) { clickhousetest.Main(m) }

var errKilled = errors.New("killed by the test")

// stage is a broker and a ClickHouse of the test's own.
type stage struct {
	kafka      config.Kafka
	clickhouse config.ClickHouse
	sink       config.Sink
	client     *kgo.Client
	cluster    *kfake.Cluster
}

func newStage(t *testing.T) *stage {
	t.Helper()
	return newStageOf(t, kafkatest.Partitions)
}

// newStageOf is newStage with so many partitions of each topic.
func newStageOf(t *testing.T, partitions int) *stage {
	t.Helper()
	s := &stage{clickhouse: clickhousetest.Migrated(t, schema.Migrate), sink: config.Default().Sink}
	s.cluster, s.kafka = kafkatest.Cluster(t)
	s.kafka.Partitions = partitions
	s.sink.MaxRows, s.sink.MaxWait = 700, 20*time.Millisecond
	s.sink.Session, s.sink.Rebalance, s.sink.InsertTimeout = 6*time.Second, 20*time.Second, 8*time.Second
	if _, err := kafka.EnsureTopics(t.Context(), s.kafka); err != nil {
		t.Fatal(err)
	}
	var err error
	if s.client, err = kgo.NewClient(kgo.SeedBrokers(s.kafka.Brokers...)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.client.Close)
	return s
}

// produce publishes one record per id.
func (s *stage) produce(t *testing.T, ids ...string) {
	t.Helper()
	received := time.Now().UnixMilli()
	records := make([]*kgo.Record, len(ids))
	for i, id := range ids {
		website := "web_" + strconv.Itoa(len(id)+int(id[len(id)-1])%7)
		e := record.Event{
			Version: 1, ID: []byte(id), Organization: []byte("org_1"), Website: []byte(website), Owner: []byte(website),
			Type: []byte(record.TypeCustom), Name: []byte("n"), TimeMillis: received, ReceivedAt: received,
		}
		header := func(key, value string) kgo.RecordHeader { return kgo.RecordHeader{Key: key, Value: []byte(value)} }
		records[i] = &kgo.Record{
			Topic: kafka.TopicName(s.kafka, record.TopicEvents), Key: e.Owner, Value: record.AppendEvent(nil, &e),
			Headers: []kgo.RecordHeader{
				header(record.HeaderSchema, record.TopicEvents), header(record.HeaderType, record.TypeCustom),
				header(record.HeaderWebsite, website), header(record.HeaderOrganization, "org_1"),
				header(record.HeaderReceivedAt, strconv.FormatInt(received, 10)), header(record.HeaderRequestID, "r"),
				header(record.HeaderEventHash, record.HashOf(e.Owner, e.ID).Hex()),
			},
		}
	}
	if err := s.client.ProduceSync(t.Context(), records...).FirstErr(); err != nil {
		t.Error(err) // not Fatal: some tests produce beside the test's own goroutine
	}
}

// start runs a sink with the given inserter, or the real one; stop ends it, wait
// returns what Run returned.
func (s *stage) start(t *testing.T, inserter sink.Inserter) (stop func(), wait func() error) {
	t.Helper()
	return s.startWith(t, inserter, prometheus.NewRegistry())
}

// startWith is start with the registry of the sink's metrics.
func (s *stage) startWith(
	t *testing.T, inserter sink.Inserter, registry *prometheus.Registry,
) (stop func(), wait func() error) {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	consumer, err := kafka.NewConsumer(s.kafka, s.sink, []string{record.TopicEvents},
		kafka.ConsumerDeps{Client: "sink", Log: log, Metrics: registry})
	if err != nil {
		t.Fatal(err)
	}
	if inserter == nil {
		inserter = s.inserter(t)
	}
	ledger := ledgerstore.NewLedger(s.clickhouse)
	t.Cleanup(func() { ledger.Close() })
	snk, err := sink.New(s.sink, sink.Deps{
		Log: log, Metrics: registry, Source: consumer, Reader: consumer, Inserter: inserter, DeadLetters: consumer,
		Ledger: ledger,
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- snk.Run(ctx) }()
	return cancel, sync.OnceValue(func() error { return <-done })
}

func (s *stage) inserter(t *testing.T) *insert.Inserter {
	t.Helper()
	i := insert.NewInserter(s.clickhouse, "")
	t.Cleanup(func() { i.Close() })
	return i
}

// lag returns how many records have no committed offset after them.
func (s *stage) lag(t *testing.T) int64 {
	t.Helper()
	admin := kadm.NewClient(s.client)
	ends, err := admin.ListEndOffsets(t.Context(), kafka.TopicName(s.kafka, record.TopicEvents))
	if err != nil {
		t.Fatal(err)
	}
	committed, err := admin.FetchOffsets(t.Context(), s.sink.Group)
	if err != nil && !errors.Is(err, kerr.GroupIDNotFound) {
		t.Fatal(err)
	}
	var lag int64
	ends.Each(func(end kadm.ListedOffset) {
		lag += end.Offset
		if o, ok := committed.Lookup(end.Topic, end.Partition); ok {
			lag -= max(0, o.At)
		}
	})
	return lag
}

func (s *stage) drained(t *testing.T) {
	t.Helper()
	eventually(t, func() bool { return s.lag(t) == 0 })
}

// eventually polls a condition for as long as a test may take.
func eventually(t *testing.T, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	limit := time.NewTimer(time.Minute)
	defer limit.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-limit.C:
			t.Fatal("it did not come true within a minute")
		}
	}
}

// count returns a number from the database. It waits for a server that is too busy to
// answer.
func (s *stage) count(t *testing.T, what string) uint64 {
	t.Helper()
	var n proto.ColUInt64
	eventually(t, func() bool {
		n.Reset()
		client, err := clickhouse.Dial(t.Context(), s.clickhouse)
		if err != nil {
			return false
		}
		defer client.Close()
		return client.Do(t.Context(), ch.Query{
			Body: "SELECT toUInt64(ifNull(" + what + ", 0)) AS n", Result: proto.Results{{Name: "n", Data: &n}},
		}) == nil
	})
	return n.Row(0)
}

// lethal is an inserter during which, now and then, the sink is killed, before
// the insert, or after it with the response lost.
type lethal struct {
	sink.Inserter

	kill  atomic.Pointer[context.CancelFunc]
	after atomic.Int64 // inserts until then
	lost  bool
}

func (l *lethal) Insert(ctx context.Context, b sink.Block, token string) error {
	if l.after.Add(-1) != 0 {
		return l.Inserter.Insert(ctx, b, token)
	}
	var err error
	if l.lost {
		err = l.Inserter.Insert(ctx, b, token)
	}
	(*l.kill.Load())()
	<-ctx.Done() // the budget of nothing has passed
	return errors.Join(errKilled, err)
}

// It runs alone, because it may take the others' server down.
func TestKillsLoseAndDoubleNothing(t *testing.T) {
	const events, kills = 20_000, 6
	s := newStage(t)
	s.sink.DrainBudget = time.Nanosecond
	rng := rand.New(rand.NewPCG(1, 2))

	var ids []string
	for i := range events {
		ids = append(ids, fmt.Sprint("event-", i))
		if rng.IntN(20) == 0 { // 5 % resent
			ids = append(ids, ids[rng.IntN(len(ids))])
		}
	}
	for at := 0; at < len(ids); at += 1000 {
		s.produce(t, ids[at:min(at+1000, len(ids))]...)
	}

	for n := range kills {
		l := &lethal{Inserter: s.inserter(t), lost: n%2 == 0}
		l.after.Store(int64(2 + rng.IntN(3)))
		ready := make(chan struct{})
		l.kill.Store(new(context.CancelFunc(func() { <-ready })))
		stop, wait := s.start(t, l)
		l.kill.Store(new(context.CancelFunc(stop)))
		close(ready)
		if err := wait(); err != nil {
			t.Fatal(err)
		}
	}
	if s.lag(t) == 0 {
		t.Fatal("nothing was left to do when the last kill came; the test shows nothing")
	}
	stop, wait := s.start(t, nil)
	s.drained(t)
	stop()
	if err := wait(); err != nil {
		t.Fatal(err)
	}
	s.exact(t, events)
}

// exact checks that base, without FINAL, and both rollups have each event once.
func (s *stage) exact(t *testing.T, events uint64) {
	t.Helper()
	for what, query := range map[string]string{
		"rows":             "(SELECT count() FROM events)",
		"distinct ids":     "(SELECT uniqExact(event_id) FROM events)",
		"in 15 minutes":    "(SELECT sum(events) FROM events_15m)",
		"in days":          "(SELECT sum(events) FROM events_1d)",
		"stored, ledgered": "(SELECT toUInt64(sum(stored)) FROM ingest_ledger)",
	} {
		if got := s.count(t, query); got != events {
			t.Errorf("%d %s, want %d", got, what, events)
		}
	}
}

func TestALostResponseDoublesNothingEvenWithoutFinal(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	stop, wait := s.start(t, &forgetful{Inserter: s.inserter(t)})
	for n := range 5 {
		s.produce(t, fmt.Sprint("a", n), fmt.Sprint("b", n), "again")
	}
	s.drained(t)
	stop()
	if err := wait(); err != nil {
		t.Fatal(err)
	}
	s.exact(t, 11)
}

// forgetful loses the response of every other insert.
type forgetful struct {
	sink.Inserter

	n atomic.Int64
}

func (f *forgetful) Insert(ctx context.Context, b sink.Block, token string) error {
	err := f.Inserter.Insert(ctx, b, token)
	if err == nil && f.n.Add(1)%2 == 1 {
		return &sink.InsertError{Class: sink.ClassNetwork, Err: errors.New("the answer was lost")}
	}
	return err
}

// Members come and go; those that stay go on, and nothing is lost or doubled.
func TestPartitionsMoveBetweenSinksWithoutLoss(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	const events = 6000
	produced := make(chan struct{})
	go func() {
		defer close(produced)
		for n := 0; n < events; n += 200 {
			ids := make([]string, 200)
			for i := range ids {
				ids[i] = fmt.Sprint("moving-", n+i)
			}
			s.produce(t, ids...)
		}
	}()
	stay, wait := s.start(t, nil)
	for range 3 {
		before := s.count(t, "(SELECT count() FROM events)")
		leave, left := s.start(t, nil)
		eventually(t, func() bool {
			return s.count(t, "(SELECT count() FROM events)") > before || s.lag(t) == 0
		})
		leave()
		if err := left(); err != nil {
			t.Fatal(err)
		}
	}
	<-produced
	s.drained(t)
	stay()
	if err := wait(); err != nil {
		t.Fatal(err)
	}
	s.exact(t, events)
}

func TestADeadLetterKeepsTheRecordAndSaysWhere(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	bad := &kgo.Record{
		Topic: kafka.TopicName(s.kafka, record.TopicEvents), Partition: 0, Key: []byte("web_1"), Value: []byte("no json"),
		Headers: []kgo.RecordHeader{{Key: "x", Value: []byte("kept")}},
	}
	if err := s.client.ProduceSync(t.Context(), bad).FirstErr(); err != nil {
		t.Fatal(err)
	}
	s.produce(t, "good")
	stop, wait := s.start(t, nil)
	s.drained(t)
	stop()
	if err := wait(); err != nil {
		t.Fatal(err)
	}
	if got := s.count(t, "(SELECT count() FROM events)"); got != 1 {
		t.Errorf("%d rows, want the good one", got)
	}

	reader, err := kgo.NewClient(kgo.SeedBrokers(s.kafka.Brokers...),
		kgo.ConsumeTopics(kafka.TopicName(s.kafka, record.TopicEvents+kafka.DeadLetterSuffix)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(reader.Close)
	letters := reader.PollFetches(t.Context()).Records()
	if len(letters) != 1 || string(letters[0].Value) != "no json" || string(letters[0].Key) != "web_1" {
		t.Fatalf("dead letters: %v", letters)
	}
	got := map[string]string{}
	for _, h := range letters[0].Headers {
		got[h.Key] = string(h.Value)
	}
	for key, want := range map[string]string{
		"x": "kept", deadletter.HeaderReason: string(deadletter.ReasonHeaders), deadletter.HeaderTopic: record.TopicEvents,
		deadletter.HeaderPartition: strconv.Itoa(int(bad.Partition)),
		deadletter.HeaderOffset:    strconv.FormatInt(bad.Offset, 10),
	} {
		if got[key] != want {
			t.Errorf("header %s is %q, want %q", key, got[key], want)
		}
	}
}
