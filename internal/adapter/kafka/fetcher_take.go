package kafka

import (
	"context"

	"github.com/twmb/franz-go/pkg/kgo"
)

// taken is a batch to be delivered.
type taken struct {
	*packed

	stream *stream
	from   int64 // the first offset of it that was not delivered
	end    int64
}

// take returns the next batch, of one partition after the other. It stays until it is
// done with.
func (f *fetcher) take() (taken, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for range f.order {
		f.turn = (f.turn + 1) % len(f.order)
		if s := f.order[f.turn]; s.deliverable() {
			s.taken = true
			return taken{s.batches[0], s, s.from.offset, s.end}, true
		}
	}
	return taken{}, false
}

// done says that a batch was delivered up to an offset, or as a whole.
func (f *fetcher) done(t *taken, next int64, whole bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := t.stream
	s.taken = false
	if f.streams[s.partition] != s {
		return
	}
	s.delivered(t.batch, next)
	if whole {
		f.held -= s.pop()
		signal(f.wake)
	}
}

// fail says that a batch cannot be read: nothing more comes of its partition.
func (f *fetcher) fail(t *taken, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := t.stream
	s.taken = false
	if f.streams[s.partition] == s {
		s.failed = true
		f.held -= s.forget()
		f.report(s, err)
	}
}

// wait returns when there is something to deliver or to report, or when ctx ends.
func (f *fetcher) wait(ctx context.Context) {
	for !f.hasSomething() {
		select {
		case <-f.ready:
		case <-ctx.Done():
			return
		}
	}
}

func (f *fetcher) hasSomething() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.failures) > 0 {
		return true
	}
	for _, s := range f.order {
		if s.deliverable() {
			return true
		}
	}
	return false
}

// failed returns what went wrong since it was last asked.
func (f *fetcher) failed() []failure {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := f.failures
	f.failures = nil
	return all
}

// tell counts a batch in the client's metrics, as the client does for what it fetches.
func (f *fetcher) tell(t *taken, h *batchHeader, unpacked int) {
	if f.metrics == nil {
		return
	}
	broker, s := kgo.BrokerMetadata{NodeID: t.broker}, t.stream
	f.metrics.OnFetchBatchRead(broker, s.topic, s.partition.Index, kgo.FetchBatchMetrics{
		NumRecords: h.records, UncompressedBytes: unpacked, CompressedBytes: len(t.batch) - batchHeaderSize,
		CompressionType: uint8(h.codec()),
	})
}
