package status

import (
	"context"
	"log/slog"
	"sync"

	"github.com/millrace/millrace/internal/adapter/clickhouse"
	"github.com/millrace/millrace/internal/adapter/clickhouse/ledgerstore"
	"github.com/millrace/millrace/internal/adapter/kafka"
	"github.com/millrace/millrace/internal/pipeline/ledger"
	"github.com/millrace/millrace/internal/pipeline/repair"
)

// Ledger is what the ledger says about what was committed, from where the
// reconciler has checked it on.
type Ledger struct {
	// Partitions are those that were looked at.
	Partitions int `json:"partitions"`
	// Gaps are committed offsets without an entry, Overlaps offsets with two, Lost
	// those whose records were deleted from the topic before they were stored.
	Gaps     int64 `json:"gap_offsets"`
	Overlaps int64 `json:"overlap_offsets"`
	Lost     int64 `json:"lost_offsets"`
	// Unchecked are offsets that the reconciler has not come to.
	Unchecked int64 `json:"unchecked_offsets"`
}

// asksAtOnce is how many partitions are asked about at the same time.
const asksAtOnce = 4

func (r *reader) ledger(ctx context.Context) error {
	offsets, err := kafka.NewOffsets(r.Settings.Kafka, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	defer offsets.Close()
	store := ledgerstore.NewStore(r.Settings.ClickHouse)
	defer store.Close() //nolint:errcheck // nothing was written
	if err := clickhouse.Ping(ctx, r.Settings.ClickHouse); err != nil {
		return err
	}
	var all []ledger.Settled
	for _, pipeline := range r.Pipelines {
		settled, err := settled(ctx, offsets, pipeline)
		if err != nil { // of the others it is told all the same
			r.unknown("ledger: topic "+kafka.TopicName(r.Settings.Kafka, pipeline.Topic), err)
			continue
		}
		all = append(all, settled...)
	}
	l, err := survey(ctx, store, all)
	if err != nil {
		return err
	}
	if l.Gaps > 0 {
		r.attend("%d committed offsets are missing from the ledger (docs/runbooks/sink.md#reconciler-gap)", l.Gaps)
	}
	if l.Overlaps > 0 {
		r.attend("%d offsets are in two ledger entries (docs/runbooks/sink.md#overlap)", l.Overlaps)
	}
	r.tell(func(s *Status) { s.Ledger = l })
	return nil
}

// settled returns how far the partitions of a pipeline are committed.
func settled(ctx context.Context, offsets *kafka.Offsets, pipeline repair.Pipeline) (all []ledger.Settled, err error) {
	committed, err := offsets.Committed(ctx, pipeline.Group, pipeline.Topic)
	if err != nil || len(committed) == 0 {
		return nil, err
	}
	id, err := offsets.TopicID(ctx, pipeline.Topic)
	if err != nil {
		return nil, err
	}
	for p, c := range committed {
		state, known, err := ledger.DecodeState(c.Metadata)
		if err == nil && known && state.TopicID == ledger.UUID(id) {
			all = append(all,
				ledger.Settled{Topic: pipeline.Topic, TopicID: id, Partition: p, Epoch: state.Epoch, Next: c.Offset})
		}
	}
	return all, nil
}

// survey looks at the ledger of each partition.
func survey(ctx context.Context, store *ledgerstore.Store, all []ledger.Settled) (*Ledger, error) {
	l := &Ledger{Partitions: len(all)}
	var mu sync.Mutex
	var failed error
	var done sync.WaitGroup
	turns := make(chan struct{}, asksAtOnce)
	for i := range all {
		done.Go(func() {
			turns <- struct{}{}
			defer func() { <-turns }()
			f, err := ledger.Survey(ctx, store, &all[i])
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				failed = err
				return
			}
			l.add(&f, all[i].Next)
		})
	}
	done.Wait()
	return l, failed
}

func (l *Ledger) add(f *ledger.Findings, next int64) {
	for _, g := range f.Gaps {
		l.Gaps += g.Span().Len()
	}
	for _, o := range f.Overlaps {
		l.Overlaps += o.Len()
	}
	for _, o := range f.Lost {
		l.Lost += o.Len()
	}
	l.Unchecked += max(0, next-f.End.Next)
}
