package sinktest

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/millrace/millrace/internal/pipeline/ledger"
	"github.com/millrace/millrace/internal/pipeline/sink"
)

// Watch returns the parts of a sink that tells reached where it has got to; nil tells nobody.
// What is to be wrapped otherwise is so before: a lock that is taken away still has its points.
func Watch(d sink.Deps, reached Reached) sink.Deps {
	if reached == nil {
		return d
	}
	w := &watch{reached: reached, topics: map[string]string{}}
	d.Source = watchedSource{d.Source, w}
	d.Inserter = watchedInserter{d.Inserter, w}
	d.Ledger = watchedLedger{d.Ledger, w}
	return d
}

// watch tells of the points. Tokens name topics by their UUID.
type watch struct {
	reached Reached

	mu     sync.Mutex
	topics map[string]string
}

func (w *watch) knows(assigned []sink.Assignment) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, a := range assigned {
		w.topics[ledger.UUID(a.TopicID)] = a.Partition.Topic
	}
}

// partition returns the partition that an insert token names:
// <epoch>:<topic uuid>:<partition>:…
func (w *watch) partition(insertToken string) sink.Partition {
	parts := strings.SplitN(insertToken, ":", 4)
	if len(parts) < 4 {
		return sink.Partition{}
	}
	index, err := strconv.ParseInt(parts[2], 10, 32)
	if err != nil {
		return sink.Partition{}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return sink.Partition{Topic: w.topics[parts[1]], Index: int32(index)}
}

type watchedSource struct {
	sink.Source

	watch *watch
}

// Open implements sink.Source.
func (s watchedSource) Open(ctx context.Context, listener sink.RebalanceListener) error {
	return s.Source.Open(ctx, watchedListener{listener, s.watch})
}

// Poll implements sink.Source.
func (s watchedSource) Poll(ctx context.Context, maxBytes int64, deliver func(sink.Delivery)) error {
	return s.Source.Poll(ctx, maxBytes, func(b sink.Delivery) {
		deliver(b)
		s.watch.reached(FailpointPolled, b.Partition)
	})
}

// Commit implements sink.Source.
func (s watchedSource) Commit(
	ctx context.Context, p sink.Partition, session sink.Session, progress sink.Progress,
) error {
	if err := s.Source.Commit(ctx, p, session, progress); err != nil {
		return err
	}
	at := FailpointCommitted
	if state, _, err := ledger.DecodeState(progress.Metadata); err == nil && state.Plan != nil {
		at = FailpointPlanned
	}
	s.watch.reached(at, p)
	return nil
}

type watchedListener struct {
	sink.RebalanceListener

	watch *watch
}

// Assigned implements sink.RebalanceListener.
func (o watchedListener) Assigned(ctx context.Context, assigned []sink.Assignment) {
	o.watch.knows(assigned)
	o.RebalanceListener.Assigned(ctx, assigned)
}

// Revoked implements sink.RebalanceListener.
func (o watchedListener) Revoked(ctx context.Context, revoked []sink.Partition) {
	for _, p := range revoked {
		o.watch.reached(FailpointRevoking, p)
	}
	o.RebalanceListener.Revoked(ctx, revoked)
}

type watchedInserter struct {
	sink.Inserter

	watch *watch
}

// Insert implements sink.Inserter.
func (i watchedInserter) Insert(ctx context.Context, b sink.Block, insertToken string) error {
	i.watch.reached(FailpointInserting, i.watch.partition(insertToken))
	return i.Inserter.Insert(ctx, b, insertToken)
}

type watchedLedger struct {
	sink.Ledger

	watch *watch
}

func (l watchedLedger) Write(ctx context.Context, e *ledger.Entry, insertToken string) error {
	if e.Kind != ledger.EntryRange {
		return l.Ledger.Write(ctx, e, insertToken)
	}
	p := sink.Partition{Topic: e.Topic, Index: e.Partition}
	begun := time.Now()
	l.watch.reached(FailpointInserted, p)
	ctx, cancel := later(ctx, time.Since(begun))
	defer cancel()
	if err := l.Ledger.Write(ctx, e, insertToken); err != nil {
		return err
	}
	l.watch.reached(FailpointRecorded, p)
	return nil
}

// later moves the deadline of an attempt that was held up before it began. A cancellation
// counts as it did.
func later(ctx context.Context, by time.Duration) (context.Context, context.CancelFunc) {
	deadline, ok := ctx.Deadline()
	if !ok || errors.Is(ctx.Err(), context.Canceled) {
		return ctx, func() {}
	}
	moved, cancel := context.WithDeadline(context.WithoutCancel(ctx), deadline.Add(by))
	stop := context.AfterFunc(ctx, func() {
		if errors.Is(ctx.Err(), context.Canceled) {
			cancel()
		}
	})
	return moved, func() {
		stop()
		cancel()
	}
}
