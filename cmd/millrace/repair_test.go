package main

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/pipeline/ledger"
	"github.com/millrace/millrace/internal/pipeline/repair"
	teststage "github.com/millrace/millrace/tests/harness/stage"
)

// several are n events of two owners over two days, in two partitions.
func several(n int) []sent {
	noon := time.Now().UTC().Truncate(24 * time.Hour).Add(-12 * time.Hour)
	var all []sent
	for i := range n {
		all = append(all, sent{
			ID: fmt.Sprint("e", i), Owner: fmt.Sprint("web_", i%2), Partition: int32(i % 2),
			At: noon.AddDate(0, 0, -(i / 2 % 2)), Received: time.Now().Add(time.Duration(i) * time.Millisecond),
		})
	}
	return all
}

// TestAReplayDoublesNothingOnceItsDaysAreRebuilt is an offset reset far outside of
// every window: the base stays as it is, the rollups' days are listed before they
// differ, and are right after the rebuild.
func TestAReplayDoublesNothingOnceItsDaysAreRebuilt(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.Produce(t, several(40)...)
	s.Store(t)
	s.Holds(t, 40, 40, 40, 40, 0)

	const partition = `(?m)^%d +20 +0 +20 +0 +2\n`
	dry := fmt.Sprintf(partition, 0) + fmt.Sprintf(partition, 1)[len("(?m)^"):]
	s.must(t, "replay --topic events.v1 --offset 0 --partitions 0,1 --dry-run",
		dry+`nothing was changed; 4 owner days would be listed as dirty\n$`)
	s.Holds(t, 40, 40, 40, 40, 0)
	s.must(t, "replay --topic events.v1 --offset 0 --partitions 0,1", dry+`done; 4 owner days are listed as dirty`)
	s.rejected(t, "replay --topic events.v1 --offset 0 --partitions 0,1", `^every partition is already at this offset`)
	s.Holds(t, 40, 40, 40, 40, 4)
	committed, err := s.Offsets.Committed(t.Context(), s.Sink.Group, record.TopicEvents)
	if err != nil {
		t.Fatal(err)
	}
	id, _, err := s.Offsets.Describe(t.Context(), record.TopicEvents)
	if err != nil {
		t.Fatal(err)
	}
	want := repair.Committed{Offset: 0, Metadata: `{"v":1,"t":"` + ledger.UUID(id) + `","e":2}`}
	if diff := cmp.Diff(want, committed[1]); diff != "" {
		t.Errorf("committed (-want +got):\n%s", diff)
	}

	s.rejected(t, "rollups rebuild",
		`partition [01] of events\.v1 is at offset 0, but records up to offset 19 are already stored. Start the sinks`)
	s.Store(t)
	s.Holds(t, teststage.Merging, 40, 80, 80, 4)
	s.must(t, "rollups dirty", `(?m)^web_0 +20\S+ +replay +0 +0 +0 +20\S+Z\n(.*\n){3}$`)
	s.must(t, "rollups rebuild --dry-run", `^4 days would be rebuilt:\n`)
	s.Holds(t, teststage.Merging, 40, 80, 80, 4)
	s.must(t, "rollups rebuild", `(?m)^all 4 dirty days were rebuilt\n$`)
	s.Holds(t, teststage.Merging, 40, 40, 40, 0)
	s.must(t, "rollups rebuild", `^no day is dirty\n$`)
	s.must(t, "rollups dirty", `^no day is dirty\n$`)

	s.Produce(t, sent{ID: "after"})
	s.Store(t)
	s.Holds(t, teststage.Merging, 41, 41, 41, 0)
}

func TestAReplayOfATimeBeginsAtItsFirstRecord(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	noon := time.Now().UTC().Truncate(24 * time.Hour).Add(-12 * time.Hour) // yesterday's: all records are of one day
	for i := range 10 {
		s.Produce(t, sent{ID: fmt.Sprint("e", i), Received: noon.Add(time.Duration(i) * time.Minute)})
	}
	s.Store(t)
	s.must(t, "replay --topic events.v1 --dry-run --from "+noon.Add(6*time.Minute).Format(time.RFC3339),
		`(?m)^0 +10 +6 +4 +0 +1\nnothing`)
	s.rejected(t, "replay --topic events.v1 --from 5m", `^every partition is already at this offset`)
}

func TestRepairsAreRejectedWhileASinkIsThere(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.Produce(t, several(4)...)
	stop := s.Start(t)
	s.CaughtUp(t)
	s.Run(t,
		"INSERT INTO rollup_dirty (owner_id, event_date, reason) SELECT owner_id, event_date, 'over' FROM events LIMIT 1")
	const rejection = `^the consumer group millrace-sink has 1 active members \(millrace-sink\S* at 127\.0\.0\.1\): stop the sinks first`
	for _, line := range []string{
		"rollups rebuild", "rollups rebuild --dry-run", "replay --topic events.v1 --offset 0",
		"replay --topic events.v1 --offset 0 --dry-run",
	} {
		s.rejected(t, line, rejection)
	}
	stop()
	s.must(t, "rollups rebuild", `all 1 dirty days were rebuilt`)
	s.Holds(t, 4, 4, 4, 4, 0)
}

// TestAnOpenPlanKeepsItsDays shows what a rebuild beside an open plan would do:
// the plan's insert reached the base and not the rollups, and is made again.
func TestAnOpenPlanKeepsItsDays(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.Produce(t, several(20)...)
	s.Store(t)
	id, _, err := s.Offsets.Describe(t.Context(), record.TopicEvents)
	if err != nil {
		t.Fatal(err)
	}
	state := ledger.NewState(id, 1)
	state.Plan = &[2]int64{10, 14}
	metadata, err := state.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Offsets.Commit(t.Context(), s.Sink.Group, record.TopicEvents,
		map[int32]repair.Committed{0: {Offset: 10, Metadata: metadata}}); err != nil {
		t.Fatal(err)
	}
	s.Run(t,
		"INSERT INTO rollup_dirty (owner_id, event_date, reason) SELECT owner_id, event_date, 'over' FROM events LIMIT 1")
	s.rejected(t, "rollups rebuild",
		`^partition 0 of events\.v1 has an open plan, offsets 10 to 14: start the sinks and let them finish, then stop them$`)
	s.Produce(t, several(30)[20:]...)
	s.Store(t)
	s.must(t, "rollups rebuild", `all 1 dirty days were rebuilt`)
	s.Holds(t, 30, 30, 30, 30, 0)
}

func TestAReplayListsTheDaysOfAnOpenPlanToo(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.Produce(t, several(20)...)
	id, _, err := s.Offsets.Describe(t.Context(), record.TopicEvents)
	if err != nil {
		t.Fatal(err)
	}
	state := ledger.NewState(id, 1)
	state.Plan = &[2]int64{5, 9}
	metadata, err := state.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Offsets.Commit(t.Context(), s.Sink.Group, record.TopicEvents,
		map[int32]repair.Committed{0: {Offset: 5, Metadata: metadata}}); err != nil {
		t.Fatal(err)
	}
	s.must(t, "replay --topic events.v1 --offset 4 --partitions 0 --dry-run", `(?m)^0 +5 +4 +6 +0 +2\n`)
}

func TestAPartitionGoesOnBehindWhatIsGone(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.Produce(t, several(40)...)
	s.Store(t)
	s.Produce(t, sent{ID: "lost"}, sent{ID: "lost too"}, sent{ID: "kept"})
	s.rejected(t, "replay --topic events.v1 --partitions 0 --offset 22", `^partition 0 of events\.v1 is at offset 20: continuing at 22 would lose 2 offsets that were never stored; use --skip to lose them$`)
	s.must(t, "replay --topic events.v1 --partitions 0 --offset 22 --skip --dry-run",
		`(?m)^0 +20 +22 +0 +2 +0\nnothing was changed`)
	s.must(t, "replay --topic events.v1 --partitions 0 --offset 22 --skip", `(?m)^0 +20 +22 +0 +2 +0\ndone; 0 owner days`)
	s.Store(t)
	s.Holds(t, 41, 41, 41, 41, 0)
	if got := s.Count(t,
		"(SELECT sum(skipped) FROM ingest_ledger WHERE kind = 'gap' AND first = 20 AND last = 21)"); got != 2 {
		t.Errorf("the ledger counts %d lost offsets, want 2", got)
	}
	s.must(t, "rollups rebuild", `^no day is dirty`)
}

func TestAReplaySaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.Produce(t, several(10)...)
	s.Store(t)
	for line, want := range map[string]string{
		"--offset 1":                                    `^--topic is ""; it must be one of events\.v1, events\.backfill\.v1, vitals\.v1, errors\.v1, identities\.v1, ingestion\.v1, clicks\.v1, exposures\.v1$`,
		"--topic events.v1":                             `^either --offset or --from is required$`,
		"--topic events.v1 --offset 1 --from 1h":        `^either --offset or --from is required$`,
		"--topic events.v1 --offset -1":                 `^--offset must not be negative$`,
		"--topic events.v1 --from soon":                 `^--from must be a duration .*, not "soon"$`,
		"--topic events.v1 --offset 6 --partitions 0":   `^partition 0 of events\.v1 ends at offset 5, before 6$`,
		"--topic events.v1 --offset 1 --partitions 9":   `^topic events\.v1 has no partition 9, only 0 to 3$`,
		"--topic events.v1 --offset 1 --partitions -1":  `^--partitions: -1 is not a partition$`,
		"--topic events.backfill.v1 --offset 0":         `^every partition is already at this offset`,
		"--topic events.v1 --offset 5 --partitions 0,1": `^every partition is already at this offset`,
	} {
		s.rejected(t, "replay "+line, want)
	}
}
