package fault

import (
	"errors"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/millrace/millrace/internal/adapter/clickhouse/ledgerstore"
	"github.com/millrace/millrace/internal/adapter/kafka"
	"github.com/millrace/millrace/internal/pipeline/ledger"
	"github.com/millrace/millrace/internal/pipeline/repair"
	"github.com/millrace/millrace/internal/pipeline/sink"
	"github.com/millrace/millrace/internal/testkit"
)

const (
	minute = 60 * 1000
	hour   = 60 * minute
	day    = 24 * hour
)

// Offsets that somebody sets back by hand, under the same epoch, to the beginning or wherever
// a tool's time leads, mostly into a range: the ledger says how the ranges were cut, so the
// server knows their tokens.
func TestOffsetsThatAreSetBackByHandChangeNothing(t *testing.T) {
	t.Parallel()
	for _, age := range []struct {
		name   string
		millis int64
		within bool
	}{{"1 h", hour, false}, {"7 d", 7 * day, false}, {"into ranges", hour, true}} {
		t.Run(age.name, func(t *testing.T) {
			tr := trial{
				fault: "F13 offsets set back", point: age.name + ", same epoch", on: kfakeOnly, few: 1,
				body: func(_ *testing.T, s *stage) {
					s.keepForever()
					s.send(s.aged(s.events(900), age.millis))
					s.store(locks{})
					s.offsets.expectReset()
					s.offline()
					s.setBack(age.within)
					s.send(s.aged(s.events(300), 0))
					s.store(locks{})
					s.judge()
				},
			}
			tr.run(t)
		})
	}
}

// setBack sets each partition's offset to 0, or at random into one of its ranges, as
// kafka-consumer-groups does: without metadata.
func (s *stage) setBack(within bool) {
	s.t.Helper()
	back := map[int32]kadm.Offset{}
	for p := range int32(s.settings.Kafka.Partitions) {
		back[p] = kadm.Offset{Topic: s.topic(), Partition: p, LeaderEpoch: -1}
		ranges := s.query(fmt.Sprintf(
			"SELECT first, last FROM ingest_ledger WHERE partition = %d AND last > first ORDER BY first", p))
		if !within || len(ranges) == 0 {
			continue
		}
		one := ranges[s.rng.IntN(len(ranges))]
		first, err1 := strconv.ParseInt(one[0], 10, 64)
		last, err2 := strconv.ParseInt(one[1], 10, 64)
		if err := errors.Join(err1, err2); err != nil {
			s.t.Fatal(err)
		}
		back[p] = kadm.Offset{
			Topic: s.topic(), Partition: p, At: first + 1 + s.rng.Int64N(last-first), LeaderEpoch: -1,
		}
	}
	if err := s.admin.CommitAllOffsets(s.t.Context(), s.settings.Sink.Group, kadm.Offsets{s.topic(): back}); err != nil {
		s.t.Fatal(err)
	}
}

// A replay on purpose, under a new epoch, stores everything again: FINAL is as it
// was, the days are listed as dirty, and a rebuild makes the rollups exact.
func TestAReplayListsItsDaysAndARebuildMakesThemExact(t *testing.T) {
	t.Parallel()
	for _, age := range []struct {
		name   string
		millis int64
	}{{"1 h", hour}, {"7 d", 7 * day}} {
		t.Run(age.name, func(t *testing.T) {
			tr := trial{
				fault: "F13 offsets set back", point: age.name + ", new epoch", on: kfakeOnly, few: 1,
				body: func(t *testing.T, s *stage) {
					s.keepForever()
					s.send(s.aged(s.events(900), age.millis))
					s.store(locks{})
					s.offsets.expectReset()
					s.offline()
					s.replay()
					s.store(locks{})
					if got, want := s.number("SELECT count() FROM events"), 2*s.acked.unique(); got != want {
						t.Errorf("%d rows without FINAL, want %d: the replay shows nothing", got, want)
					}
					for _, d := range s.query("SELECT DISTINCT owner_id, event_date FROM events WHERE (owner_id, event_date) NOT IN " +
						"(SELECT owner_id, event_date FROM rollup_dirty FINAL WHERE cleared = 0)") {
						t.Errorf("day %s of %s is not listed as dirty", d[1], d[0])
					}
					s.offline()
					s.rebuild()
					v := &s.verdict
					s.count()
					if v.Final != v.Acked || v.Missing != 0 || v.Rollup != v.Acked || v.RollupD != v.Acked || v.WrongRollups != 0 {
						t.Errorf("after the rebuild: %+v", *v)
					}
					if n := s.number("SELECT count() FROM rollup_dirty FINAL WHERE cleared = 0"); n != 0 {
						t.Errorf("%d days are still listed", n)
					}
					v.Base, v.Doubled, v.Gaps, v.Overlaps = v.Final, 0, 0, 0 // stored twice on purpose
				},
			}
			tr.run(t)
		})
	}
}

// aged has events happen, and be received, so long ago.
func (s *stage) aged(all []happening, millis int64) []happening {
	for i := range all {
		all[i].at -= millis
		all[i].received -= millis
	}
	return all
}

// keepForever has the broker keep records whatever their time.
func (s *stage) keepForever() {
	s.t.Helper()
	forever := "-1"
	resp, err := s.admin.AlterTopicConfigs(s.t.Context(),
		[]kadm.AlterConfig{{Op: kadm.SetConfig, Name: "retention.ms", Value: &forever}}, s.topic())
	if err == nil {
		for _, r := range resp {
			err = r.Err
		}
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

// offline waits until the group has no member.
func (s *stage) offline() {
	s.t.Helper()
	testkit.Eventually(s.t, patience, func() error {
		g, err := s.admin.DescribeGroups(s.t.Context(), s.settings.Sink.Group)
		if err != nil {
			return err
		}
		if n := len(g[s.settings.Sink.Group].Members); n > 0 {
			return fmt.Errorf("the group still has %d members: %w", n, errNotYet)
		}
		return nil
	})
}

// tools are what the operator's commands work with.
func (s *stage) tools() (*kafka.Offsets, *ledgerstore.Store, repair.Pipeline) {
	s.t.Helper()
	store := ledgerstore.NewStore(s.clickhouse)
	s.t.Cleanup(func() { store.Close() })
	offsets, err := kafka.NewOffsets(s.settings.Kafka, s.log.Logger())
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(offsets.Close)
	return offsets, store, s.pipeline
}

// replay is `millrace replay --offset 0`.
func (s *stage) replay() {
	s.t.Helper()
	offsets, store, pipeline := s.tools()
	if _, err := repair.Replay(s.t.Context(), repair.ReplayDeps{Groups: offsets, Log: offsets, Store: store},
		repair.ReplayOptions{Pipeline: pipeline}); err != nil {
		s.t.Fatal(err)
	}
}

// rebuild is `millrace rollups rebuild`.
func (s *stage) rebuild() {
	s.t.Helper()
	offsets, store, pipeline := s.tools()
	if _, err := repair.Rebuild(s.t.Context(), repair.RebuildDeps{
		Pipelines: []repair.Pipeline{pipeline}, Groups: offsets, Log: offsets, Store: store, Rollups: store,
		Done: func([]ledger.Listed) {},
	}, false); err != nil {
		s.t.Fatal(err)
	}
}

// horizons say what becomes of an event that is sent again after a time: rows
// without FINAL, with FINAL, and events in the rollups. The window is of an hour,
// in buckets of 5 minutes: what is received early in a bucket is remembered a
// little longer than what is received late in it.
var horizons = []struct {
	name              string
	late              bool  // the first one is received late in its bucket
	after             int64 // milliseconds
	untimed           bool  // the event's time is that of its receipt
	base, final, roll int
}{
	{"at once", false, 0, false, 1, 1, 1},
	{"after 1 minute", false, minute, false, 1, 1, 1},
	{"after 59 minutes", false, 59 * minute, false, 1, 1, 1},
	{"after 59 minutes, late", true, 59 * minute, false, 1, 1, 1},
	{"after 61 minutes", false, 61 * minute, false, 1, 1, 1},
	{"after 61 minutes, late", true, 61 * minute, false, 2, 1, 2},
	{"after 66 minutes", false, 66 * minute, false, 2, 1, 2},
	{"after 25 hours", false, 25 * hour, false, 2, 1, 2},
	{"after 31 days", false, 31 * day, false, 2, 1, 2},
	{"without a time, over midnight, within the hour", true, 30 * minute, true, 1, 1, 1},
	{"without a time, over midnight, after 61 minutes, late", true, 61 * minute, true, 2, 2, 2},
}

func TestADuplicateIsStoppedAsFarAsTheHorizonsSay(t *testing.T) {
	tr := trial{
		fault: "F14 late duplicate", point: "0 s to 31 d", on: kfakeOnly, few: 1, body: func(t *testing.T, s *stage) {
			s.keepForever()
			s.settings.Sink.MaxRows = 1 // one block would collapse what has the same key
			// Midnight is a quarter of an hour away from the first ones, and so is the edge
			// of a bucket, give or take.
			midnight := (time.Now().UnixMilli()/day - 40) * day
			var all []happening
			for i, h := range horizons {
				first := midnight - 15*minute
				if h.late {
					first += 4*minute + 30*1000
				}
				e := happening{
					id: "e" + strconv.Itoa(i), owner: "web_h" + strconv.Itoa(i), visitor: "v", session: "s", name: "n", at: first,
					received: first,
				}
				again := e
				again.received += h.after
				if h.untimed {
					again.at = again.received
				}
				all = append(all, e, again)
			}
			// The log is in the order of receipt.
			for len(all) > 0 {
				at := 0
				for i := range all {
					if all[i].received < all[at].received {
						at = i
					}
				}
				if err := s.publish(t.Context(), all[at:at+1]); err != nil {
					t.Fatal(err)
				}
				all = append(all[:at], all[at+1:]...)
			}
			s.store(locks{})
			for i, h := range horizons {
				where := " WHERE owner_id = 'web_h" + strconv.Itoa(i) + "'"
				got := [4]int{
					s.number("SELECT count() FROM events" + where), s.number("SELECT count() FROM events FINAL" + where),
					s.number("SELECT sum(events) FROM events_15m" + where), s.number("SELECT sum(events) FROM events_1d" + where),
				}
				if want := [4]int{h.base, h.final, h.roll, h.roll}; got != want {
					t.Errorf("sent again %s: rows, rows with FINAL, and both rollups are %v, want %v", h.name, got, want)
				}
			}
			s.verdict.partly = true
			s.verdict.Acked, s.verdict.Final = len(horizons), s.number("SELECT uniqExact(owner_id) FROM events FINAL")
		},
	}
	tr.run(t)
}

// Retention removes what a partition needs next: that partition is halted, the
// ledger says what is gone, and the others go on.
func TestAPartitionWhoseRecordsAreGoneStandsStillAndSaysSo(t *testing.T) {
	tr := trial{
		fault: "F23 records gone", point: "below the committed offset", on: kfakeOnly, few: 1,
		body: func(t *testing.T, s *stage) {
			s.send(s.events(400))
			s.store(locks{})
			before, err := s.committed(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			s.send(s.events(800))
			ends, err := s.ends(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			lost := int32(s.rng.IntN(s.settings.Kafka.Partitions))
			start := before[lost].At + 1 + s.rng.Int64N(ends[lost]-before[lost].At-1)
			if err := s.fake.DeleteRecords(s.topic(), lost, start); err != nil {
				t.Fatal(err)
			}
			one := s.startSink(watched{})
			label := strconv.Itoa(int(lost))
			testkit.Eventually(t, patience, func() error {
				if one.metric("millrace_sink_halted", "partition", label, "reason", string(sink.HaltRetention)) != 1 {
					return errNotYet
				}
				return nil
			})
			var others []int32
			for p := range ends {
				if p != lost {
					others = append(others, p)
				}
			}
			s.drained(others...)
			s.send(s.events(200))
			s.drained(others...)
			one.stop()
			after, err := s.committed(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if after[lost].At != before[lost].At {
				t.Errorf("the partition went from %d to %d, and should stand still", before[lost].At, after[lost].At)
			}
			gap := s.query("SELECT first, last, skipped FROM ingest_ledger WHERE kind = 'gap' AND partition = " + label)
			want := []string{
				strconv.FormatInt(before[lost].At, 10), strconv.FormatInt(start-1, 10),
				strconv.FormatInt(start-before[lost].At, 10),
			}
			if len(gap) != 1 || fmt.Sprint(gap[0]) != fmt.Sprint(want) {
				t.Errorf("the ledger has the gaps %v, want one, %v", gap, want)
			}
			if n := s.number("SELECT count() FROM events WHERE _partition = " + label + " AND _offset >= " + want[0]); n != 0 {
				t.Errorf("%d rows were stored behind the gap", n)
			}
			s.verdict = verdict{partly: true}
		},
	}
	tr.run(t)
}
