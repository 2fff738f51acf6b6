package kafka

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/millrace/millrace/internal/contract/record"
)

// keepRecords is the largest batch whose memory is kept for the next one.
const keepRecords = 1024

// publication is what one call of Publish has under way. It is reused only when the client has
// called back for every record; one that was given up is left to the garbage
// collector, since the client still reads from it.
type publication struct {
	p       *Producer
	size    int64
	recs    []kgo.Record
	promise func(*kgo.Record, error) // b.finished, made once
	timer   *time.Timer
	done    chan struct{} // receives once, when the last record is finished

	pending atomic.Int64
	state   atomic.Int32
	mu      sync.Mutex
	err     error
}

// The states of a batch; it leaves the first one once.
const (
	publicationWaitedFor int32 = iota
	publicationFinished
	publicationGivenUp
)

func newPublication(p *Producer) *publication {
	b := &publication{p: p, done: make(chan struct{}, 1), timer: time.NewTimer(time.Hour)}
	b.timer.Stop()
	b.promise = b.finished
	return b
}

// produce hands the records to the client.
func (b *publication) produce(recs []record.Record) {
	if cap(b.recs) < len(recs) {
		b.recs = make([]kgo.Record, len(recs))
	}
	b.recs = b.recs[:len(recs)]
	b.pending.Store(int64(len(recs)))
	b.state.Store(publicationWaitedFor)
	for i := range recs {
		r := &recs[i]
		b.recs[i] = kgo.Record{
			Topic: b.p.topic(r.Topic), Key: r.Key, Value: r.Value, Timestamp: r.Time, Headers: clientHeaders(r.Headers),
		}
	}
	for i := range b.recs {
		// Not the request's context: once a record is on its way, cancelling
		// would only make the outcome unknown.
		b.p.client.TryProduce(context.Background(), &b.recs[i], b.promise)
	}
}

// clientHeaders returns the same headers as the client's type, without copying
// them: the compiler rejects the conversion unless both are of one shape, and the
// client only reads.
func clientHeaders(h []record.Header) []kgo.RecordHeader {
	return unsafe.Slice((*kgo.RecordHeader)(unsafe.SliceData(h)), len(h)) //nolint:gosec // see above
}

// finished is called by the client, one record at a time, and must be quick.
func (b *publication) finished(_ *kgo.Record, err error) {
	if err != nil {
		b.p.metrics.errors.WithLabelValues(produceCode(err)).Inc()
		b.mu.Lock()
		if b.err == nil {
			b.err = err
		}
		b.mu.Unlock()
	} else if b.state.Load() == publicationGivenUp {
		b.p.metrics.lateAcks.Inc()
	}
	p, size := b.p, b.size
	if b.pending.Add(-1) == 0 {
		p.buffered.Add(-size)
		if !b.state.CompareAndSwap(publicationWaitedFor, publicationFinished) {
			p.abandoned.Add(-size)
		}
		b.done <- struct{}{}
	}
}

// wait reports whether every record was finished within d.
func (b *publication) wait(d time.Duration) bool {
	b.timer.Reset(d)
	defer b.timer.Stop()
	select {
	case <-b.done:
		return true
	case <-b.timer.C:
		if !b.state.CompareAndSwap(publicationWaitedFor, publicationGivenUp) {
			<-b.done // in the last moment
			return true
		}
		b.p.abandoned.Add(b.size)
		return false
	}
}

func (b *publication) firstError() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.err
}

// release keeps the object for the next publication.
func (b *publication) release() {
	if cap(b.recs) > keepRecords {
		return
	}
	clear(b.recs)
	b.recs, b.err = b.recs[:0], nil
	b.p.publications.Put(b)
}
