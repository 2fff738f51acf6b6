package sink_test

import (
	"log/slog"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/adapter/kafka"
	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/pipeline/ledger"
	"github.com/millrace/millrace/internal/pipeline/repair"
	"github.com/millrace/millrace/internal/pipeline/sink"
)

// A sink is killed behind its plan, and before another takes it over an unclean election
// gives the partition a leader that lacked the plan's last records. Others were appended at
// their offsets. The plan's tokens would drop them where the first sink's insert came through,
// and the commit would skip them for good.
func TestAPlanIsNotCarriedOutWithTheRecordsOfAnotherLog(t *testing.T) {
	t.Parallel()
	for _, lost := range []bool{false, true} {
		s := newStageOf(t, 1)
		before := s.ledBy(t, "a", "b")
		after := s.ledBy(t, "c", "d")
		if before == after {
			t.Fatal("a new leader has the epoch of the one before")
		}
		madeOf := after
		if lost { // c and d were others then
			madeOf = before
		}
		s.commitPlan(t, [2]int64{0, 3}, madeOf)
		registry := prometheus.NewRegistry()
		stop, wait := s.startWith(t, nil, registry)
		if lost {
			eventually(t, func() bool { return haltedFor(t, registry) == string(sink.HaltTruncated) })
		} else {
			s.drained(t)
		}
		stop()
		if err := wait(); err != nil {
			t.Error(err)
		}
		stored, want := s.count(t, "(SELECT count() FROM events)"), map[bool]uint64{false: 4, true: 0}[lost]
		if stored != want {
			t.Errorf("lost %v: %d events are stored, want %d", lost, stored, want)
		}
	}
}

// ledBy appends events to the first partition, makes its leader another one afterwards, and
// returns the epoch that the events have.
func (s *stage) ledBy(t *testing.T, ids ...string) (epoch int32) {
	t.Helper()
	epoch = s.cluster.PartitionInfo(record.TopicEvents, 0).Epoch
	s.produce(t, ids...)
	// to the same broker, which is another term
	if err := s.cluster.MoveTopicPartition(record.TopicEvents, 0, 0); err != nil {
		t.Fatal(err)
	}
	return epoch
}

// commitPlan commits an open plan of the first partition.
func (s *stage) commitPlan(t *testing.T, span [2]int64, leader int32) {
	t.Helper()
	offsets, err := kafka.NewOffsets(s.kafka, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer offsets.Close()
	id, _, err := offsets.Describe(t.Context(), record.TopicEvents)
	if err != nil {
		t.Fatal(err)
	}
	state := ledger.NewState(id, 1)
	state.Plan, state.PlanLeader = &span, &leader
	metadata, err := state.Encode()
	if err != nil {
		t.Fatal(err)
	}
	to := map[int32]repair.Committed{0: {Offset: span[0], Metadata: metadata}}
	if err := offsets.Commit(t.Context(), s.sink.Group, record.TopicEvents, to); err != nil {
		t.Fatal(err)
	}
}

// haltedFor is why a partition is halted; empty while none is.
func haltedFor(t *testing.T, from prometheus.Gatherer) (reason string) {
	t.Helper()
	families, err := from.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() != "millrace_sink_halted" {
			continue
		}
		for _, label := range f.GetMetric()[0].GetLabel() {
			if label.GetName() == "reason" {
				reason = label.GetValue()
			}
		}
	}
	return reason
}
