package control

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/platform/lease"
)

// Outbox is where changes wait to be published. What it gives is committed.
type Outbox interface {
	// Pending returns the oldest changes that are not published yet.
	Pending(ctx context.Context, atMost int) ([]Posted, error)
	// Relayed takes published rows out and notes the highest.
	Relayed(ctx context.Context, seqs []int64) error
	ControlHead(ctx context.Context) (Head, error)
	// RaiseEpoch begins an epoch, unless it has begun.
	RaiseEpoch(ctx context.Context, to int64) error
}

// Publisher sends records.
type Publisher interface {
	// Publish returns nil once all in-sync replicas have every record. It should
	// be patient: what it gives up may still be stored, and is sent again. After an
	// error the records' memory still belongs to it.
	Publish(ctx context.Context, recs []record.Record) error
}

// Times of the relay. An outbox is looked into often, as it is mostly empty and
// small; a change is in the topic some milliseconds after it was found.
const (
	lookEvery      = 100 * time.Millisecond
	retryPause     = 500 * time.Millisecond // after a failure of the store or of Kafka
	heartbeatEvery = 1500 * time.Millisecond
	relayBatch     = 500 // changes published at a time
)

// RelayDeps are the parts of a Relay; all are required.
type RelayDeps struct {
	Outbox    Outbox
	Publisher Publisher
	Leases    lease.Store
	// Follower knows what stands in the topic.
	Follower *Follower
	Log      *slog.Logger
	Metrics  prometheus.Registerer
}

// Relay publishes what was announced. Of several relays on one store one works
// at a time; that two may overlap for a moment does no harm, as readers know old
// change events by their version.
type Relay struct {
	deps    RelayDeps
	lease   *lease.Lease
	metrics relayMetrics
	failing bool // the last step failed, which was logged

	head        Head
	heartbeatAt time.Time // when the last heartbeat was published
}

// NewRelay returns a Relay that does nothing before Run.
func NewRelay(deps RelayDeps) *Relay {
	r := &Relay{deps: deps, lease: lease.New("control-relay", deps.Leases, deps.Log)}
	r.metrics = newRelayMetrics(deps.Metrics, r.lease.Held)
	return r
}

// Run relays until ctx ends, whenever no other relay does.
func (r *Relay) Run(ctx context.Context) error {
	r.lease.Run(ctx, r.relay)
	return nil
}

func (r *Relay) relay(ctx context.Context) {
	begun := false
	for {
		pause := lookEvery
		var more bool
		var err error
		if !begun {
			begun, err = r.begin(ctx)
		}
		if begun && err == nil {
			more, err = r.step(ctx)
		}
		switch {
		case err != nil:
			r.noteFailure(ctx, err)
			pause = retryPause
		case begun:
			r.noteSuccess(ctx)
		}
		if more && err == nil {
			pause = 0
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return
		}
	}
}

// begin finds out whether the store was put back since the topic was written to;
// false as long as nobody knows what stands in the topic. The topic never claims
// more than the store has noted, so a store that is behind its topic has lost
// what it noted. Its versions come again, and a new epoch tells them apart.
func (r *Relay) begin(ctx context.Context) (bool, error) {
	seen, known := r.deps.Follower.Head()
	if !known {
		return false, nil
	}
	head, err := r.deps.Outbox.ControlHead(ctx)
	if err != nil {
		return false, err
	}
	if head.behind(seen) {
		head.Epoch = seen.Epoch + 1
		r.deps.Log.LogAttrs(ctx, slog.LevelWarn,
			"metadata store was restored to an earlier state, starting a new epoch",
			slog.Int64("epoch", head.Epoch))
		if err := r.deps.Outbox.RaiseEpoch(ctx, head.Epoch); err != nil {
			return false, err
		}
	}
	r.head, r.heartbeatAt = head, time.Time{}
	return true, nil
}

// step publishes what is pending, and a heartbeat when it is time and nothing is.
// more says that the outbox may hold more.
func (r *Relay) step(ctx context.Context) (more bool, err error) {
	start := time.Now()
	pending, err := r.deps.Outbox.Pending(ctx, relayBatch)
	if err != nil {
		return false, err
	}
	r.metrics.pending.Set(float64(len(pending)))
	if len(pending) > 0 {
		return len(pending) == relayBatch, r.publish(ctx, pending)
	}
	if start.Sub(r.heartbeatAt) < heartbeatEvery {
		return false, nil
	}
	rec, err := encode(Change{Kind: heartbeat, At: start}, r.head, start)
	if err != nil {
		return false, err
	}
	if err := r.send(ctx, []record.Record{rec}); err != nil {
		return false, fmt.Errorf("publishing a heartbeat: %w", err)
	}
	r.heartbeatAt = start
	return false, nil
}

func (r *Relay) publish(ctx context.Context, pending []Posted) error {
	recs, seqs := make([]record.Record, 0, len(pending)), make([]int64, 0, len(pending))
	for i := range pending {
		p := &pending[i]
		rec, err := encode(p.Change, r.head, time.Now())
		if err != nil {
			// Only a State that is no JSON can do this. Whoever holds the record
			// must hear of it all the same.
			r.deps.Log.LogAttrs(ctx, slog.LevelError, "change event state is not valid JSON, publishing without it",
				slog.Any("error", err))
			p.State = ""
			if rec, err = encode(p.Change, r.head, time.Now()); err != nil {
				return err
			}
		}
		recs, seqs = append(recs, rec), append(seqs, p.Seq)
	}
	if err := r.send(ctx, recs); err != nil {
		return fmt.Errorf("publishing %d changes: %w", len(recs), err)
	}
	if err := r.deps.Outbox.Relayed(ctx, seqs); err != nil {
		return err // they are published again, which does no harm
	}
	for _, seq := range seqs {
		r.head.Relayed = max(r.head.Relayed, seq)
	}
	r.metrics.published.Add(float64(len(recs)))
	return nil
}

// send publishes, and leaves when ctx ends: the records may be stored then or
// not.
func (r *Relay) send(ctx context.Context, recs []record.Record) error {
	done := make(chan error, 1)
	go func() { done <- r.deps.Publisher.Publish(ctx, recs) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (r *Relay) noteFailure(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	r.metrics.failures.Inc()
	if !r.failing {
		r.failing = true
		r.deps.Log.LogAttrs(ctx, slog.LevelWarn, "publishing change events failed, they wait in the outbox",
			slog.Any("error", err))
	}
}

func (r *Relay) noteSuccess(ctx context.Context) {
	if r.failing {
		r.failing = false
		r.deps.Log.LogAttrs(ctx, slog.LevelInfo, "publishing change events works again")
	}
}
