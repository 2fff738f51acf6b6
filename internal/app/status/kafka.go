package status

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/millrace/millrace/internal/adapter/kafka"
	"github.com/millrace/millrace/internal/pipeline/ledger"
	"github.com/millrace/millrace/internal/pipeline/repair"
	"github.com/millrace/millrace/internal/pipeline/sink/dedup"
)

// Kafka is how brokers, topics and the groups that read them are.
type Kafka struct {
	Version string  `json:"version"`
	Brokers int     `json:"brokers"`
	Topics  []Topic `json:"topics"`
}

// Topic is a topic that sinks store, and how far they are.
type Topic struct {
	Name       string `json:"name"`
	Partitions int    `json:"partitions"`
	Replicas   int    `json:"replicas"`
	Held       int64  `json:"records_held"`
	// Members are the sinks that read it.
	Members int   `json:"sinks"`
	Lag     int64 `json:"lag_records"`
	// LagSeconds is the age of the oldest record that is not stored.
	LagSeconds Seconds `json:"lag_seconds"`
	// OpenPlans are ranges that were begun, OldestPlan the age of the oldest record of
	// one.
	OpenPlans  int     `json:"open_plans"`
	OldestPlan Seconds `json:"oldest_plan_seconds"`
	// Coverage is how far back event ids are remembered, in the partition that
	// remembers least; 0 where nothing was stored.
	Coverage Seconds `json:"window_coverage_seconds"`
}

// What calls for attention.
const (
	lagLimit  = time.Minute
	planLimit = 2 * time.Minute
	slack     = 10 * time.Minute // of a window, which is kept in buckets
)

func (r *reader) kafka(ctx context.Context) error {
	found, err := kafka.Inspect(ctx, r.Settings.Kafka)
	if err != nil {
		return err
	}
	offsets, err := kafka.NewOffsets(r.Settings.Kafka, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	defer offsets.Close()
	k := &Kafka{Version: found.Version, Brokers: len(found.Brokers)}
	topics := make([]*Topic, len(r.Pipelines))
	var all sync.WaitGroup
	for i, pipeline := range r.Pipelines {
		have, ok := found.Topics[pipeline.Topic]
		if !ok {
			r.attend("topic %s is missing; run \"millrace topics create\"", kafka.TopicName(r.Settings.Kafka, pipeline.Topic))
			continue
		}
		if have.Leaderless > 0 {
			r.attend("%d partitions of %s have no leader", have.Leaderless, pipeline.Topic)
		}
		topics[i] = &Topic{
			Name: kafka.TopicName(r.Settings.Kafka, pipeline.Topic), Partitions: have.Partitions, Replicas: have.Replicas,
		}
		all.Go(func() { r.pipeline(ctx, offsets, pipeline, topics[i]) })
	}
	all.Wait()
	for _, t := range topics {
		if t != nil {
			k.Topics = append(k.Topics, *t)
		}
	}
	r.tell(func(s *Status) { s.Kafka = k })
	return nil
}

// pipeline finds out how far the sinks of a topic are. What brokers do not tell of it is unknown, and
// left out of the sums.
func (r *reader) pipeline(ctx context.Context, offsets *kafka.Offsets, pipeline repair.Pipeline, t *Topic) {
	unknown := func(what string, err error) {
		if err != nil {
			r.unknown("Kafka: "+what+" of "+t.Name, err)
		}
	}
	bounds, err := r.held(ctx, offsets, pipeline.Topic)
	unknown(fmt.Sprintf("%d of %d partitions", t.Partitions-len(bounds), t.Partitions), err)
	for _, b := range bounds {
		t.Held += b.End - b.Start
	}
	committed, err := offsets.Committed(ctx, pipeline.Group, pipeline.Topic)
	if unknown("the offsets", err); err != nil {
		return // all that is held would pass for what waits
	}
	members, err := offsets.Members(ctx, pipeline.Group)
	if unknown("the sinks", err); err != nil {
		return
	}
	t.Members = len(members)
	waiting, planned := map[int32]int64{}, map[int32]bool{}
	now := time.Now()
	for p, b := range bounds {
		at := b.Start
		if c, ok := committed[p]; ok {
			at = max(at, c.Offset)
			planned[p] = t.read(c, now)
		}
		if at < b.End {
			t.Lag += b.End - at
			waiting[p] = at
		}
	}
	times, err := offsets.Times(ctx, pipeline.Topic, waiting)
	unknown("the age of what waits", err)
	for p, received := range times {
		age := seconds(now.Sub(received))
		t.LagSeconds = max(t.LagSeconds, age)
		if planned[p] {
			t.OldestPlan = max(t.OldestPlan, age)
		}
	}
	r.judge(t)
}

// held asks what is in a topic, for half of the time that is left: a broker that is away would take
// all of it, and the rest would not be told either.
func (r *reader) held(ctx context.Context, offsets *kafka.Offsets, topic string) (map[int32]repair.Bounds, error) {
	if end, ok := ctx.Deadline(); ok {
		limited, cancel := context.WithTimeout(ctx, time.Until(end)/2)
		defer cancel()
		ctx = limited
	}
	return offsets.Held(ctx, topic)
}

// read takes what was committed beside an offset into account and reports whether
// a plan is open.
func (t *Topic) read(c repair.Committed, now time.Time) bool {
	state, known, err := ledger.DecodeState(c.Metadata)
	if err != nil || !known {
		return false
	}
	if state.LowWatermark > 0 {
		if covered := seconds(now.Sub(time.UnixMilli(dedup.LowWatermarkMillis(state.LowWatermark)))); t.Coverage == 0 ||
			covered < t.Coverage {
			t.Coverage = covered
		}
	}
	if state.Plan != nil {
		t.OpenPlans++
	}
	return state.Plan != nil
}

func (r *reader) judge(t *Topic) {
	if lag := t.LagSeconds.Duration(); lag > lagLimit {
		r.attend("%s: %d records are not stored yet, the oldest for %s (docs/runbooks/sink.md#lag)",
			t.Name, t.Lag, lag.Round(time.Second))
	}
	if t.Lag > 0 && t.Members == 0 {
		r.attend("%s: %d records are not stored yet, and no sink reads them", t.Name, t.Lag)
	}
	if age := t.OldestPlan.Duration(); age > planLimit {
		r.attend("%s: a plan has been open for up to %s (docs/runbooks/sink.md#oldest-plan)", t.Name, age.Round(time.Second))
	}
	if covered := t.Coverage.Duration(); covered > 0 && covered+slack < r.Settings.Sink.Window {
		r.attend("%s: event ids are remembered for %s, but sink.window is %s (docs/runbooks/sink.md#window-coverage)",
			t.Name, covered.Round(time.Minute), r.Settings.Sink.Window)
	}
}
