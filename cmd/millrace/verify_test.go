package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/millrace/millrace/internal/adapter/kafka"
	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/pipeline/verify"
	"github.com/millrace/millrace/internal/testkit"
)

// verified runs millrace verify --json.
func (s *stage) verified(t *testing.T, line string) (verify.Report, error) {
	t.Helper()
	out, err := s.millrace(t, "verify --json "+line)
	var r verify.Report
	if out != "" {
		if err := json.Unmarshal([]byte(out), &r); err != nil {
			t.Fatalf("reading %s: %v", out, err)
		}
	}
	return r, err
}

// finds runs millrace verify and compares its totals and examples.
func (s *stage) finds(t *testing.T, want verify.Day, examples ...string) {
	t.Helper()
	r, err := s.verified(t, "")
	same := want.Missing+want.Unexpected+want.Rollups == 0
	if same != (err == nil) {
		t.Errorf("millrace verify ends with %v", err)
	}
	if coded, ok := errors.AsType[failedError](err); ok {
		t.Errorf("it ends with code %d: %v", coded.ExitCode(), err)
	}
	want.Date = "total"
	if diff := cmp.Diff(want, r.Total); diff != "" {
		t.Errorf("total (-want +got):\n%s", diff)
	}
	var got []string
	for _, e := range r.Examples {
		got = append(got, fmt.Sprintf("%s %s/%d/%d %s: %s", e.Kind, e.Topic, e.Partition, e.Offset, e.Owner, e.Why))
	}
	inOrder(got)
	inOrder(examples)
	if diff := cmp.Diff(examples, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("examples (-want +got):\n%s", diff)
	}
}

// inOrder sorts examples of one kind that follow each other: a table's rows have no order.
func inOrder(examples []string) {
	kind := func(i int) string {
		k, _, _ := strings.Cut(examples[i], " ")
		return k
	}
	for first, i := 0, 1; i <= len(examples); i++ {
		if i == len(examples) || kind(i) != kind(first) {
			slices.Sort(examples[first:i])
			first = i
		}
	}
}

// aDay is 40 events, each twice, and one that is none.
func aDay(t *testing.T) *stage {
	t.Helper()
	s := newStage(t)
	s.Produce(t, several(40)...)
	s.Produce(t, several(40)...)
	s.Produce(t, sent{ID: "no event", Partition: 2, Broken: true})
	s.Store(t)
	return s
}

var whole = verify.Day{InTopic: 81, Distinct: 41, InBase: 40, DeadLettered: 1}

func TestWhatWasStoredWholeVerifies(t *testing.T) {
	t.Parallel()
	s := aDay(t)
	s.finds(t, whole)
	s.must(t, "verify", `(?m)^ +DAY +IN TOPIC(.*\n)+ +total +81 +41 +40 +0 +0 +0 +1 +0 +0 *\n$`)
}

// deed is what somebody does to a table by hand, and what is found of it.
type deed struct {
	name     string
	sql      []string
	want     func(*verify.Day)
	examples []string
}

// deeds are such as do not touch each other, of the same kind together.
func deeds() map[string][]deed {
	today := time.Now().UTC().Format(time.DateOnly)
	unexpected := func(d *verify.Day) { d.Unexpected++ }
	inconsistent := func(d *verify.Day) { d.Rollups++ }
	return map[string][]deed{
		"rows are gone": {{
			"a row is deleted",
			[]string{"DELETE FROM events WHERE _partition = 1 AND _offset = 3"},
			func(d *verify.Day) { d.InBase, d.Missing, d.Rollups = 39, 1, 1 },
			[]string{
				"missing events.v1/1/3 web_1: neither a row nor a dead letter exists for it",
				"rollup /0/0 web_1: 9 events, 10 in the 15-minute rollup, 10 in the daily rollup",
			},
		}},
		"rows are added": {
			{
				"a row of nothing but an owner is inserted",
				[]string{"INSERT INTO events (owner_id, event_date) VALUES ('web_9', '" + today + "')"},
				unexpected,
				[]string{`unexpected /0/0 web_9: "" is not a topic of this table`},
			},
			{
				"a row that says when it was received is inserted",
				[]string{"INSERT INTO events (owner_id, event_date, received_at, _topic, _partition, _offset) VALUES ('web_9', " +
					"'2020-01-01', now64(3), 'events.v1', 1, 1000)"},
				unexpected,
				[]string{"unexpected events.v1/1/1000 web_9: its partition ends before this offset"},
			},
			{
				"a partition that is not there",
				[]string{"INSERT INTO events (owner_id, event_date, event_key, received_at, _topic, _partition, _offset) VALUES " +
					"('web_9', '2020-01-01', 1, now64(3), 'events.v1', 77, 1)"},
				unexpected,
				[]string{"unexpected events.v1/77/1 web_9: the topic has no partition with this number"},
			},
			{
				"a row is copied to another name",
				[]string{"INSERT INTO events SELECT * REPLACE ('other' AS name) FROM events WHERE _partition = 1 AND _offset = 3"},
				unexpected,
				[]string{"unexpected events.v1/1/3 web_1: the record at this position is another event"},
			},
			{
				"a row is copied to another day",
				[]string{"INSERT INTO events SELECT * REPLACE (toDate('2020-01-01') AS event_date) FROM events WHERE _partition " +
					"= 1 AND _offset = 5"},
				unexpected,
				[]string{"unexpected events.v1/1/5 web_1: the record at this position is another event"},
			},
			{
				"a row is copied to another event and place",
				[]string{"INSERT INTO events SELECT * REPLACE (7 AS event_key, 0 AS _partition) FROM (SELECT * FROM events " +
					"WHERE _partition = 1 AND _offset = 7)"},
				unexpected,
				[]string{"unexpected events.v1/0/7 web_1: the record at this position is another event"},
			},
		},
		"rollups are changed": {
			{
				"a row of a rollup is deleted",
				[]string{"DELETE FROM events_1d WHERE owner_id = 'web_0' AND event_date = (SELECT max(event_date) FROM events)"},
				inconsistent,
				[]string{"rollup /0/0 web_0: 10 events, 10 in the 15-minute rollup, 0 in the daily rollup"},
			},
			{
				"a rollup counts an owner whom nobody knows",
				[]string{"INSERT INTO events_1d SELECT 'web_9', toDate('" + today +
					"'), 'n', toUInt64(3), uniqState('a'), uniqState('a')"},
				inconsistent,
				[]string{"rollup /0/0 web_9: 0 events, 0 in the 15-minute rollup, 3 in the daily rollup"},
			},
		},
		"what is excluded is gone": {{
			"a day that is excluded is deleted",
			[]string{
				"INSERT INTO exclusions (owner_id, from_date, to_date, reason) SELECT 'web_1', min(event_date), " +
					"max(event_date), 'asked for' FROM events",
				"DELETE FROM events WHERE owner_id = 'web_1'", "DELETE FROM events_1d WHERE owner_id = 'web_1'",
				"DELETE FROM events_15m WHERE owner_id = 'web_1'",
				"DELETE FROM traffic_15m WHERE owner_id = 'web_1'", "DELETE FROM traffic_1d WHERE owner_id = 'web_1'",
				"DELETE FROM sessions_15m WHERE owner_id = 'web_1'",
				"DELETE FROM views_1d WHERE owner_id = 'web_1'", "DELETE FROM custom_15m WHERE owner_id = 'web_1'",
			},
			func(d *verify.Day) { d.InBase, d.Excluded, d.Distinct = 20, 40, 61 },
			nil,
		}},
	}
}

// Deeds of a kind are done at one stage; in the quiet tier each also at one of its own.
func TestVerifyFindsWhatWasDoneByHand(t *testing.T) {
	t.Parallel()
	for name, all := range deeds() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			findsWhatWasDone(t, all...)
		})
		if len(all) == 1 || !testkit.Strict() {
			continue
		}
		for _, alone := range all {
			t.Run(alone.name, func(t *testing.T) {
				t.Parallel()
				findsWhatWasDone(t, alone)
			})
		}
	}
}

func findsWhatWasDone(t *testing.T, all ...deed) {
	t.Helper()
	s := aDay(t)
	want := whole
	var examples []string
	for _, d := range all {
		for _, sql := range d.sql {
			s.Run(t, sql)
		}
		d.want(&want)
		examples = append(examples, d.examples...)
	}
	s.finds(t, want, examples...)
}

func TestTwoPipelinesShareATable(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.Produce(t, several(20)...)
	s.Store(t)
	old := several(30)
	for i := range old {
		old[i].Topic = record.TopicEventsBackfill
	}
	s.Produce(t, old...) // 20 of them are there already
	stop := s.StartPipeline(t, record.TopicEventsBackfill, kafka.BackfillGroup(s.Sink.Group))
	s.CaughtUpPipeline(t, record.TopicEventsBackfill, kafka.BackfillGroup(s.Sink.Group))
	stop()
	s.Run(t,
		"INSERT INTO rollup_dirty (owner_id, event_date, reason) SELECT DISTINCT owner_id, event_date, 'over' FROM events")
	s.must(t, "rollups rebuild", "were rebuilt")
	r, err := s.verified(t, "")
	if err != nil || r.Total.InTopic != 50 || r.Total.Missing != 0 || r.Total.InBase != 30 {
		t.Errorf("both: %+v, %v", r.Total, err)
	}
	r, err = s.verified(t, "--topic events.backfill.v1")
	if err != nil || r.Total.InTopic != 30 || r.Total.InBase != 10 {
		t.Errorf("the backfill alone: %+v, %v", r.Total, err)
	}
}

func TestWhatIsUnderWayIsNoDifference(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.Produce(t, several(20)...)
	s.Store(t)
	s.Produce(t, several(40)[20:]...) // nobody stores them
	s.finds(t, verify.Day{InTopic: 20, Distinct: 20, InBase: 20})
	// One of them is in the table already, and its offset is not committed.
	s.Run(t, "INSERT INTO events SELECT * REPLACE (12 AS _offset, 5 AS event_key) FROM (SELECT * FROM events WHERE "+
		"_partition = 0 LIMIT 1)")
	r, err := s.verified(t, "")
	if err != nil || r.Total.Unexpected != 0 {
		t.Errorf("%+v, %v", r.Total, err)
	}
}

func TestATimeIsVerifiedByItself(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	now := time.Now().Truncate(time.Minute)
	for i := range 10 {
		s.Produce(t, sent{ID: fmt.Sprint("e", i), Received: now.Add(time.Duration(i-20) * time.Minute)})
	}
	s.Produce(t, sent{ID: "e2", Received: now.Add(-8 * time.Minute)}) // its first copy came before the time
	s.Store(t)
	at := func(ago time.Duration) string { return now.Add(-ago).UTC().Format(time.RFC3339) }
	r, err := s.verified(t, "--since "+at(16*time.Minute)+" --until "+at(7*time.Minute))
	if err != nil || r.Total.InTopic != 7 || r.Total.InBase != 6 {
		t.Errorf("%+v, %v", r.Total, err)
	}
}

func TestVerifySaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	for line, want := range map[string]string{
		"--topic events":                        `--topic is "events"; it must be one of events.v1, events.backfill.v1, vitals.v1, errors.v1, identities.v1, ingestion.v1, clicks.v1, exposures.v1`,
		"--since soon":                          `--since must be a duration such as 10m or a time`,
		"--until soon":                          `--until must be a duration such as 10m or a time`,
		"--since 2026-01-02 --until 2026-01-01": "--since must be before --until",
		"--clickhouse.addr=127.0.0.1:1":         "connecting to ClickHouse",
	} {
		_, _, err := millrace(t, append(s.flags("verify"), strings.Fields(line)...)...)
		coded, ok := errors.AsType[failedError](err)
		if !ok || coded.ExitCode() != 2 || !strings.Contains(err.Error(), want) {
			t.Errorf("millrace verify %s: the error is %v, want %q and code 2", line, err, want)
		}
	}
}

func TestWhatWasNotComparedIsPrinted(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	r := verify.Report{Unsettled: []verify.Unsettled{
		{Topic: record.TopicEvents, Partition: 0, From: 7, Records: 2},
		{Topic: record.TopicEvents, Partition: 3, From: 150, Records: 40},
		{Topic: record.TopicVitals, Partition: 1, From: 0, Records: 1},
	}}
	if err := (&verifyFlags{}).print(&out, &r); err != nil {
		t.Fatal(err)
	}
	_, got, _ := strings.Cut(out.String(), "not compared")
	const want = ": up to 42 unsettled records of events.v1, in 2 partitions; most of them, 40, in " +
		"partition 3 from offset 150 on\nnot compared: up to 1 unsettled records of vitals.v1, in 1 partitions; " +
		"most of them, 1, in partition 1 from offset 0 on\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
