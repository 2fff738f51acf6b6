package main

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	teststage "github.com/millrace/millrace/tests/harness/stage"
)

// grown is how many partitions the topic of the tests gets.
const grown = 16

// resent are events of several owners, each in the partition that its owner has
// when there are so many.
func (s *stage) resent(partitions int) []sent {
	noon := time.Now().UTC().Truncate(24 * time.Hour).Add(-12 * time.Hour)
	var all []sent
	for i := range 24 {
		e := sent{ID: fmt.Sprint("e", i), Owner: fmt.Sprint("web_", i%6), At: noon}
		e.Partition = s.Offsets.PartitionOf(e.Owner, partitions)
		all = append(all, e)
	}
	return all
}

// TestATopicGrowsAndNothingCountsTwice sends everything once before a topic grows
// and once after: owners that move are stored twice, and at no moment counted so.
func TestATopicGrowsAndNothingCountsTwice(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.Produce(t, s.resent(4)[:18]...)
	s.Store(t)
	s.Produce(t, s.resent(4)[18:]...) // these wait to be stored
	moving := map[string]bool{}
	for _, e := range s.resent(4) {
		if e.Partition != s.Offsets.PartitionOf(e.Owner, grown) {
			moving[e.Owner] = true
		}
	}
	if len(moving) == 0 || len(moving) == 6 {
		t.Fatalf("%d of 6 owners move: the test shows nothing", len(moving))
	}
	s.rejected(t, "topics grow --topic events.v1 --partitions 4", `has 4 partitions; the new number must be larger`)
	s.rejected(t, "topics grow --topic control.v1 --partitions 4", `--topic is "control.v1"; it must be one of events.v1`)
	line := fmt.Sprintf("topics grow --topic events.v1 --partitions %d", grown)
	s.must(t, line+" --dry-run", fmt.Sprintf(
		`^nothing was changed; events\.v1 would grow from 4 to %d partitions, and %d owner days would be listed`, grown,
		len(moving)))
	s.Holds(t, 18, 18, 18, 18, 0)
	s.must(t, line, fmt.Sprintf(`^events\.v1 now has %d partitions instead of 4; %d owner days are listed as dirty\n`,
		grown, len(moving)))
	s.Reconnect(t)
	s.Produce(t, s.resent(grown)...)
	s.Store(t)

	twice := uint64(24 + 4*len(moving))
	s.Holds(t, teststage.Merging, 24, twice, twice, uint64(len(moving)))
	if diff := cmp.Diff(uint64(0),
		s.Count(t, `(SELECT count() FROM (SELECT owner_id, sum(events) AS n FROM events_1d GROUP BY owner_id HAVING n != 4)
WHERE owner_id NOT IN (SELECT owner_id FROM rollup_dirty FINAL WHERE cleared = 0))`)); diff != "" {
		t.Errorf("owners whose rollups are wrong and used (-want +got):\n%s", diff)
	}
	s.must(t, "rollups rebuild", fmt.Sprintf(`all %d dirty days were rebuilt`, len(moving)))
	s.Holds(t, teststage.Merging, 24, 24, 24, 0)
	s.Produce(t, s.resent(grown)...) // the windows of the new partitions know them
	s.Store(t)
	s.Holds(t, teststage.Merging, 24, 24, 24, 0)
	if _, err := s.millrace(t, "verify"); err != nil {
		t.Errorf("millrace verify: %v", err)
	}
}
