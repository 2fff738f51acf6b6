package fault

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/millrace/millrace/internal/adapter/clickhouse/clickhousetest"
	"github.com/millrace/millrace/internal/adapter/clickhouse/schema"
	"github.com/millrace/millrace/internal/adapter/kafka"
	"github.com/millrace/millrace/internal/adapter/kafka/kafkatest"
	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/pipeline/repair"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/testkit"
	"github.com/millrace/millrace/tests/fault/faultproxy"
)

const (
	// patience is how long anything may take on a busy machine; a lag, to fall at all.
	patience = 3 * time.Minute
	// session is the shortest that groups allow: a dead member is found so soon.
	session = time.Second
	// rangeRows is about how many records the ranges have.
	rangeRows = 240
)

// stage is what one run of a fault has for itself: topics on a broker, a database
// behind a proxy, a producer, and the memory of what was acknowledged.
type stage struct {
	t     *testing.T
	seed  uint64
	rng   *rand.Rand
	began time.Time

	fake       *kfake.Cluster // nil on real Kafka
	clickhouse config.ClickHouse
	proxy      *faultproxy.Proxy
	settings   config.Settings // of sinks; ClickHouse is the proxy
	pipeline   repair.Pipeline // what is counted, and the group that stores it
	client     *kgo.Client
	admin      *kadm.Client
	offsets    *watch
	log        *testkit.Log

	acked   ledgerOfAcks
	verdict verdict
	took    time.Duration           // of what the fault is about, such as a restart
	kept    []map[int32]kadm.Offset // that were committed while a soak runs, the latest last
	maker   maker
}

// newStage is that of events, with kfake.
func newStage(t *testing.T, seed uint64) *stage {
	t.Helper()
	return newStageOf(t, seed, nil, record.TopicEvents)
}

// newStageOf takes the brokers that apache names, or kfake without it, and a topic,
// events.v1, clicks.v1 or exposures.v1, whose pipeline alone has sinks.
func newStageOf(t *testing.T, seed uint64, apache func(testing.TB) config.Kafka, topic string) *stage {
	t.Helper()
	s := &stage{
		t: t, seed: seed, rng: rand.New(rand.NewPCG(seed, 4)), began: time.Now(),
		clickhouse: clickhousetest.Migrated(t, schema.Migrate), settings: config.Default(), log: testkit.NewLog(t, "sinks"),
	}
	s.maker = maker{rng: s.rng, prefix: "e"}
	t.Cleanup(func() {
		if t.Failed() {
			if *keepLogsFlag != "" {
				os.WriteFile(filepath.Join(*keepLogsFlag, strings.ReplaceAll(t.Name(), "/", "_")+".log"),
					[]byte(s.log.String()), 0o600)
			}
			t.Logf("seed %d; to run it again: go test ./tests/fault -run '%s' -seed %d", seed, pattern(t.Name()), seed)
		}
	})
	if apache != nil {
		s.settings.Kafka = apache(t)
	} else {
		s.fake, s.settings.Kafka = kafkatest.Cluster(t, kfake.GroupMinSessionTimeout(session))
	}
	if _, err := kafka.EnsureTopics(t.Context(), s.settings.Kafka); err != nil {
		t.Fatal(err)
	}
	// A merge would hide rows that were stored twice.
	s.keepRows()
	s.proxy = faultproxy.Start(t, s.clickhouse.Addr[0])
	s.settings.ClickHouse = s.clickhouse
	s.settings.ClickHouse.Addr = []string{s.proxy.Addr()}
	s.settings.ClickHouse.DialTimeout = time.Second
	s.settings.Limits = testkit.WideLimits()
	s.settings.Admin.Listen, s.settings.Log.Format, s.settings.Log.Level = "", "text", "debug"
	k := &s.settings.Sink
	k.Group = s.settings.Kafka.TopicPrefix + "sink"
	k.MaxRows, k.MaxWait = rangeRows, 30*time.Millisecond
	if !exacting() { // an insert into ten tables costs the server a tenth of a second, however small
		k.MaxWait = 200 * time.Millisecond
	}
	// Far more than an insert takes, as in production: on a busy machine those of all trials
	// would end unfinished, be sent again together, and so keep it busy.
	k.Session, k.Rebalance, k.InsertTimeout = session, 25*time.Second, 10*time.Second
	k.DrainBudget = 10 * time.Second
	s.pipeline, k.Lanes = repair.Pipeline{Topic: topic, Group: k.Group}, []string{"live"}
	switch topic {
	case record.TopicClicks:
		s.pipeline.Group, k.Lanes = kafka.ClickGroup(k.Group), []string{"clicks"}
	case record.TopicExposures:
		s.pipeline.Group, k.Lanes = kafka.ExposureGroup(k.Group), []string{"exposures"}
	}

	opts, err := kafka.ClientOptions(s.settings.Kafka, "fault", s.log.Logger(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if s.client, err = kgo.NewClient(opts...); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.client.Close)
	s.admin = kadm.NewClient(s.client)
	s.offsets = startWatch(t, s)
	return s
}

// keepRows keeps the rows of the base tables as they were inserted, also after the
// server has started again.
func (s *stage) keepRows() {
	s.t.Helper()
	for _, table := range []string{"events", "clicks", "flag_exposures"} {
		testkit.Eventually(s.t, patience, func() error {
			return execute(s.t.Context(), s.clickhouse, "ALTER TABLE "+table+
				" MODIFY SETTING max_bytes_to_merge_at_max_space_in_pool = 1, max_bytes_to_merge_at_min_space_in_pool = 1")
		})
	}
}

// topic is the name on the broker of the topic that is counted.
func (s *stage) topic() string { return kafka.TopicName(s.settings.Kafka, s.pipeline.Topic) }

// committed returns the committed offset of each partition of the topic; -1
// where there is none.
func (s *stage) committed(ctx context.Context) (map[int32]kadm.Offset, error) {
	all, err := s.admin.FetchOffsets(ctx, s.pipeline.Group)
	if err != nil && !errors.Is(err, kerr.GroupIDNotFound) {
		return nil, fmt.Errorf("reading committed offsets: %w", err)
	}
	got := map[int32]kadm.Offset{}
	for p := range int32(s.settings.Kafka.Partitions) {
		got[p] = kadm.Offset{At: -1}
		if o, ok := all.Lookup(s.topic(), p); ok && o.Err == nil {
			got[p] = o.Offset
		}
	}
	return got, nil
}

// ends returns the offset after the last record of each partition.
func (s *stage) ends(ctx context.Context) (map[int32]int64, error) {
	listed, err := s.admin.ListEndOffsets(ctx, s.topic())
	if err == nil {
		err = listed.Error()
	}
	if err != nil {
		return nil, fmt.Errorf("reading the ends of the log: %w", err)
	}
	got := map[int32]int64{}
	listed.Each(func(o kadm.ListedOffset) { got[o.Partition] = o.Offset })
	return got, nil
}

// lag returns how many records of the given partitions, or of all, are not committed,
// and an error that names one of them unless there are none.
func (s *stage) lag(ctx context.Context, only ...int32) (int64, error) {
	ends, err := s.ends(ctx)
	if err != nil {
		return 0, err
	}
	committed, err := s.committed(ctx)
	if err != nil {
		return 0, err
	}
	lag := int64(0)
	for p, end := range ends {
		if len(only) > 0 && !slices.Contains(only, p) {
			continue
		}
		if at := max(0, committed[p].At); at < end {
			lag += end - at
			err = fmt.Errorf("partition %d is committed up to %d of %d: %s", p, at, end, committed[p].Metadata)
		}
	}
	return lag, err
}

// drained waits until everything that was produced is stored and committed: as long as
// the lag falls. How long that takes in all is a matter of how much there was, and of
// how many trials share the server.
func (s *stage) drained(only ...int32) {
	s.t.Helper()
	least, fell := int64(math.MaxInt64), time.Now()
	testkit.Eventually(s.t, time.Hour, func() error {
		lag, err := s.lag(s.t.Context(), only...)
		switch {
		case err == nil:
		case lag > 0 && lag < least:
			least, fell = lag, time.Now()
		case time.Since(fell) > patience:
			s.t.Fatalf("the lag has not fallen for %s: %v", patience, err)
		}
		return err
	})
}

// pattern makes the name of a test one that -run picks it by.
func pattern(name string) string {
	parts := strings.Split(name, "/")
	for i, p := range parts {
		if strings.HasPrefix(p, "seed_") {
			return strings.Join(parts[:i], "/")
		}
		parts[i] = "^" + p + "$"
	}
	return strings.Join(parts, "/")
}
