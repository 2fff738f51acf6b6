package fault

import (
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/adapter/clickhouse/clickhousetest"
	"github.com/millrace/millrace/internal/adapter/clickhouse/schema"
	"github.com/millrace/millrace/internal/adapter/embedded/chserver"
	"github.com/millrace/millrace/internal/pipeline/sink"
	"github.com/millrace/millrace/internal/testkit"
	"github.com/millrace/millrace/tests/fault/faultproxy"
)

const (
	// intoEvents picks the requests that insert into the base table.
	intoEvents = `INSERT INTO "events"`
	// intoLedger picks those into the ledger.
	intoLedger = `INSERT INTO "ingest_ledger"`
	// endOfStream is how the server's native protocol ends a response.
	endOfStream = 5
)

// The server stores a block, the response is lost, and the block is sent again: it
// has to be ignored in the base table and in both rollups. The count of ignored
// blocks is the server's, for all its databases; so this runs alone.
func TestLostResponsesAreAskedForAgainAndIgnored(t *testing.T) {
	tr := trial{
		fault: "F6 answer lost", point: "after the insert", on: realToo(), few: 1, alone: true,
		body: func(t *testing.T, s *stage) {
			// An insert that takes too long on a busy machine would be sent again too, and
			// ignored, and counted.
			k := &s.settings.Sink
			k.InsertTimeout, k.Rebalance, k.Session = 20*time.Second, 60*time.Second, 30*time.Second
			each := s.ignoredBy()
			before := s.number(ignored)
			s.proxy.Set(
				faultproxy.Rule{Kind: faultproxy.DropResponse, Match: intoEvents, Ends: endOfStream, Times: 3 + s.rng.IntN(4)})
			s.send(s.events(fullBacklog))
			one := s.startSink(watched{})
			s.drained()
			n := s.proxy.Strikes()
			s.send(s.events(300))
			s.drained()
			one.stop()
			if n == 0 {
				t.Fatal("no answer was lost; the test shows nothing")
			}
			if got := s.number(ignored) - before; each == 0 || got != n*each {
				t.Errorf("the server counts %d ignored blocks after %d lost answers, want %d for each", got, n, each)
			}
			s.judge()
		},
	}
	tr.run(t)
}

// ignoredBy returns by how much the server's count of ignored blocks rises for one
// block that is inserted twice: the base table and the rollups each count.
func (s *stage) ignoredBy() int {
	s.t.Helper()
	other := clickhousetest.Migrated(s.t, schema.Migrate)
	before := 0
	for range 2 {
		before = s.number(ignored)
		if err := execute(s.t.Context(), other, `INSERT INTO events (owner_id, event_date, event_id, session_id) SETTINGS insert_deduplication_token = 'twice' SELECT 'a', '2026-01-01', 'x', 's'`); err != nil {
			s.t.Fatal(err)
		}
	}
	return s.number(ignored) - before
}

// ignored is what the server has counted since its start.
const ignored = "SELECT toInt64(ifNull((SELECT value FROM system.events WHERE event = 'DuplicatedInsertedBlocks'), 0))"

// Whatever the network does to inserts and their responses, the table is exact.
func TestANetworkThatFailsInEveryWayChangesNothing(t *testing.T) {
	t.Parallel()
	for _, r := range []faultproxy.Rule{
		{Kind: faultproxy.CutRequest, Match: intoEvents, Bytes: 3000, Times: 4},
		{Kind: faultproxy.CutRequest, Match: intoLedger, Times: 3},
		{Kind: faultproxy.CutResponse, Match: intoEvents, Bytes: 10, Times: 4},
		{Kind: faultproxy.HalfClose, Match: intoEvents, Bytes: 2000, Times: 3},
		{Kind: faultproxy.DropResponse, Match: intoLedger, Ends: endOfStream, Times: 4},
		{Kind: faultproxy.Delay, Delay: 20 * time.Millisecond},
	} {
		point := r.Kind.String()
		if strings.Contains(r.Match, "ledger") {
			point += ", ledger"
		}
		t.Run(point, func(t *testing.T) {
			tr := trial{fault: "F6 network", point: point, on: kfakeOnly, few: 1, body: func(t *testing.T, s *stage) {
				r := r
				if r.Bytes > 0 {
					r.Bytes = 1 + s.rng.Int64N(2*r.Bytes)
				}
				s.send(s.events(600))
				s.proxy.Set(r)
				one := s.startSink(watched{})
				s.drained()
				if r.Times > 0 && s.proxy.Strikes() == 0 {
					// A slow machine's inserts may all be shorter than what passes of each. A
					// connection keeps to the rule that it was picked by.
					r.Bytes = 1
					s.proxy.Set(r)
					s.proxy.Cut()
					s.send(s.events(300))
					s.drained()
				}
				if r.Times > 0 && s.proxy.Strikes() == 0 {
					t.Error("nothing was struck; the test shows nothing")
				}
				one.stop()
				s.judge()
			}}
			tr.run(t)
		})
	}
}

// ownServer gives the stage a ClickHouse of its own, which may be killed.
func (s *stage) ownServer() (dir string) {
	s.t.Helper()
	dir = testkit.ShortDir(s.t)
	server, err := chserver.Start(s.t.Context(), chserver.Config{
		Listen: "127.0.0.1:0", HTTPListen: "127.0.0.1:0", Dir: dir, Log: slog.New(slog.NewTextHandler(s.log, nil)),
	})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { server.Close() })
	s.clickhouse.Addr, s.clickhouse.Database = []string{server.Addr()}, "default"
	if err := schema.Migrate(s.t.Context(), s.clickhouse); err != nil {
		s.t.Fatal(err)
	}
	s.keepRows()
	s.proxy = faultproxy.Start(s.t, server.Addr())
	s.settings.ClickHouse.Addr, s.settings.ClickHouse.Database = []string{s.proxy.Addr()}, "default"
	return dir
}

// A server that is killed in the middle of an insert has lost nothing that it
// acknowledged, and what it had not, the sink still has.
func TestAServerThatIsKilledInTheMiddleOfAnInsertLosesNothing(t *testing.T) {
	tr := trial{
		fault: "F7 ClickHouse killed", point: "mid-insert", on: realToo(), few: 1, body: func(t *testing.T, s *stage) {
			dir := s.ownServer()
			s.send(s.events(fullBacklog))
			killed := make(chan time.Time, 1)
			s.proxy.SetFunc(
				faultproxy.Rule{Kind: faultproxy.CutRequest, Match: intoEvents, Bytes: int64(1000 + s.rng.IntN(5000)), Times: 1},
				func() {
					killServer(s, dir)
					killed <- time.Now()
				})
			one := s.startSink(watched{})
			var at time.Time
			select {
			case at = <-killed:
			case <-time.After(patience):
				t.Fatal("no insert came")
			}
			s.send(s.events(fullBacklog))
			s.drained()
			s.took = time.Since(at)
			s.mend(one.stop)
			s.judge()
		},
	}
	tr.run(t)
}

// mend waits until all days are listed as dirty on which a rollup differs from the base, stops
// everything and has those days rebuilt, as the runbook says; it returns how many. A ClickHouse
// that is killed between noting an insert's token in a rollup's table and naming the part has
// lost that part.
func (s *stage) mend(stops ...func()) (rebuilt int) {
	s.t.Helper()
	const others = "(owner_id, event_date) NOT IN (SELECT owner_id, event_date " + schema.FromDirtyDays + ")"
	testkit.Eventually(s.t, 2*patience, func() error {
		base := s.number("SELECT count() FROM events FINAL WHERE " + others)
		for _, rollup := range []string{"events_15m", "events_1d"} {
			if n := s.number("SELECT sum(events) FROM " + rollup + " WHERE " + others); n != base {
				return fmt.Errorf("%s has %d events of days that are not listed, the base %d: %w", rollup, n, base, errNotYet)
			}
		}
		return nil
	})
	for _, stop := range stops {
		stop()
	}
	if rebuilt = s.number("SELECT count() " + schema.FromDirtyDays); rebuilt > 0 {
		s.offline()
		s.rebuild()
	}
	return rebuilt
}

func killServer(s *stage, dir string) {
	text, err := os.ReadFile(filepath.Join(dir, "pid"))
	if err != nil {
		s.t.Error(err)
		return
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		s.t.Error(err)
		return
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		s.t.Errorf("killing ClickHouse: %v", err)
	}
}

// fullOutage is an outage for which the rate of catching up is promised.
const fullOutage = 10 * time.Minute

// ClickHouse is away while events keep coming: the sink keeps its partitions,
// holds no more than its budget, and writes nothing off.
func TestWhileClickHouseIsAwayTheSinkKeepsItsPartitionsAndItsBudget(t *testing.T) {
	tr := trial{
		fault: "F8 ClickHouse away", point: "under load", on: kfakeOnly, few: 1, waits: true,
		body: func(t *testing.T, s *stage) {
			away, rate := 5*time.Second, 100
			if !exacting() {
				away, rate = 2*time.Second, 250 // as many events
			}
			if s.seed == 1 && thorough() {
				away = *outageFlag
			}
			k := &s.settings.Sink
			k.Session, k.Rebalance, k.InsertTimeout = 30*time.Second, time.Minute, 5*time.Second
			k.MaxMemory, k.MaxRows = 8<<20, 2000
			s.send(s.events(300))
			one := s.startSink(watched{})
			s.drained()
			generation := s.fake.GroupInfo(k.Group).Epoch

			s.proxy.Set(faultproxy.Rule{Kind: faultproxy.Refuse})
			var most float64
			tick := time.NewTicker(100 * time.Millisecond)
			defer tick.Stop()
			before, since := s.acked.records, time.Now()
			for time.Since(since) < away {
				s.send(s.events(rate))
				most = max(most, one.metric("millrace_sink_memory_bytes"))
				<-tick.C
			}
			behind, sent := s.acked.records-before, time.Since(since)
			catchUp := func() {
				s.proxy.Clear()
				back := time.Now()
				s.drained()
				s.took = time.Since(back)
			}
			if away >= fullOutage {
				quietly(catchUp)
			} else {
				catchUp()
			}
			live, caughtUp := float64(behind)/sent.Seconds(), float64(behind)/s.took.Seconds()
			// After a shorter one, the pause before the next attempt is most of it.
			if away >= fullOutage && caughtUp < 3*live {
				t.Errorf("%.0f records a second were caught up with, while %.0f came: want 3 times as many", caughtUp, live)
			}
			if got := s.fake.GroupInfo(k.Group).Epoch; got != generation {
				t.Errorf("the group is at generation %d, and was at %d before the outage", got, generation)
			}
			if limit := one.metric("millrace_sink_memory_limit_bytes"); most > limit {
				t.Errorf("the sink held %.0f bytes, its budget is %.0f", most, limit)
			}
			t.Logf(
				"away for %s: %d records were sent, %.1f MB of %.1f MB were held, all stored after another %s, %.1f times as fast",
				away, behind, most/1e6, one.metric("millrace_sink_memory_limit_bytes")/1e6,
				s.took.Round(time.Millisecond), caughtUp/live)
			one.stop()
			s.judge()
		},
	}
	tr.run(t)
}

// exact is what the target of a view has to have for the sink to start.
const exact = "SETTINGS non_replicated_deduplication_window = 300000, fsync_after_insert = 1, fsync_part_directory = 1"

// rejections make the server reject inserts with its own errors, each in a way that
// heals.
var rejections = []struct {
	point string
	class sink.Class // of the failed attempts
	make  []string
	heal  []string
}{
	{
		"too many parts", sink.ClassBusy,
		[]string{"ALTER TABLE events MODIFY SETTING parts_to_delay_insert = 1, parts_to_throw_insert = 2"},
		[]string{"ALTER TABLE events RESET SETTING parts_to_delay_insert, parts_to_throw_insert"},
	},
	{
		"memory limit", sink.ClassMemory,
		[]string{
			"CREATE TABLE greedy (n UInt64) ENGINE = MergeTree ORDER BY n " + exact,
			"CREATE MATERIALIZED VIEW greedy_mv TO greedy AS SELECT length(replicate(toFixedString(event_id, 16000000), " +
				"range(300))) AS n FROM (SELECT event_id FROM events LIMIT 1)",
		},
		[]string{"DROP VIEW greedy_mv"},
	},
	{
		"no space", sink.ClassDisk,
		[]string{
			"CREATE TABLE full (n UInt64) ENGINE = MergeTree ORDER BY n " + exact,
			"CREATE MATERIALIZED VIEW full_mv TO full AS SELECT throwIf(event_id != '', 'no space', toInt16(243)) AS n FROM " +
				"events SETTINGS allow_custom_error_code_in_throwif = 1",
		},
		[]string{"DROP VIEW full_mv"},
	},
	{
		"table away", sink.ClassSchema,
		[]string{"RENAME TABLE ingest_ledger TO elsewhere"},
		[]string{"RENAME TABLE elsewhere TO ingest_ledger"},
	},
}

// What the server rejects for now is sent again until it is taken; nothing is
// written off, nothing is doubled by what a rejected insert had done already.
func TestWhatTheServerRejectsForNowIsStoredOnceItCan(t *testing.T) {
	t.Parallel()
	for _, r := range rejections {
		t.Run(r.point, func(t *testing.T) {
			tr := trial{fault: "F9 server refuses", point: r.point, on: kfakeOnly, few: 1, body: func(t *testing.T, s *stage) {
				s.send(s.events(600))
				one := s.startSink(watched{})
				s.drained()
				for _, sql := range r.make {
					s.exec(sql)
				}
				s.send(s.events(600))
				testkit.Eventually(t, patience, func() error {
					if n := one.metric("millrace_sink_retries_total", "class", string(r.class)); n < 3 {
						return fmt.Errorf("%.0f attempts failed with class %s, want 3: %w", n, r.class, errNotYet)
					}
					return nil
				})
				for _, sql := range r.heal {
					s.exec(sql)
				}
				s.drained()
				one.stop()
				s.judge()
			}}
			tr.run(t)
		})
	}
}

// A view that throws leaves the base stored and its own target without the rows;
// the same insert again heals it and doubles nothing else.
func TestAViewThatThrowsNowAndThenIsWholeInTheEnd(t *testing.T) {
	tr := trial{
		fault: "F10 view throws", point: "1 of 5 inserts", on: kfakeOnly, few: 1, body: func(t *testing.T, s *stage) {
			s.exec("CREATE TABLE flaky (event_id String) ENGINE = MergeTree ORDER BY event_id " + exact)
			flaky := func(throws string) string {
				return "SELECT event_id FROM events WHERE NOT throwIf(" + throws + ")"
			}
			s.exec("CREATE MATERIALIZED VIEW flaky_mv TO flaky AS " + flaky("randConstant() % 5 = 0"))
			s.send(s.events(1500))
			one := s.startSink(watched{})
			s.drained()
			failed := one.metric("millrace_sink_retries_total", "step", "insert")
			if failed == 0 { // chance has decided so at each insert
				s.exec("ALTER TABLE flaky_mv MODIFY QUERY " + flaky("1"))
				s.send(s.events(300))
				testkit.Eventually(t, patience, func() error {
					if one.metric("millrace_sink_retries_total", "step", "insert") == 0 {
						return errNotYet
					}
					return nil
				})
				s.exec("ALTER TABLE flaky_mv MODIFY QUERY " + flaky("0"))
				s.drained()
			}
			one.stop()
			if got, want := s.number("SELECT count() FROM flaky"), s.acked.unique(); got != want {
				t.Errorf("the view's target has %d rows, want %d", got, want)
			}
			s.judge()
		},
	}
	tr.run(t)
}

var errNotYet = errors.New("not yet")

// load sends events at a steady rate until it is ended.
func (s *stage) load(perTick int) (end func()) {
	every := 20 * time.Millisecond
	if !exacting() {
		every = 100 * time.Millisecond
	}
	stop := make(chan struct{})
	// Of its own, so that the test's schedule stays that of its seed.
	m := maker{rng: rand.New(rand.NewPCG(s.seed, 5)), prefix: "l"}
	var done sync.WaitGroup
	done.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			if err := s.publish(s.t.Context(), m.events(perTick)); err != nil {
				s.t.Error(err)
				return
			}
			select {
			case <-tick.C:
			case <-stop:
				return
			}
		}
	})
	return sync.OnceFunc(func() { close(stop); done.Wait() })
}
