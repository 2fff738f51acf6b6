package kafka

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/millrace/millrace/internal/pipeline/sink"
	"github.com/millrace/millrace/internal/pipeline/sink/buffer"
)

const (
	// fetchMaxBytes bounds what one broker sends at a time, fetchPartitionBytes
	// one partition's share of it, both compressed: a partition that is far
	// behind takes its turn like the others.
	fetchMaxBytes       = 4 << 20
	fetchPartitionBytes = 1 << 20
	// fetchMaxWait is how long a broker may wait for records before it answers.
	fetchMaxWait = 500 * time.Millisecond
	// fetchLook is how often partitions are looked at without a cause.
	fetchLook = time.Second
	// quietFails are not told of: a leader moves, and then it is found again. What goes on to fail
	// is told of as long as it does, where a whole broker fails after as many again.
	quietFails = 5
	// unfetchedAfter is how long a partition cannot be fetched before it counts: leaders move
	// within seconds.
	unfetchedAfter = 10 * time.Second
	// rangeFails is how often in a row a broker has to say that it does not have an offset, or
	// has another log before it, or to send a batch that is not as it was written: one that has
	// just become the leader may be behind for a moment, and what was damaged on the way is not
	// the next time.
	rangeFails = 3
)

// fetcher keeps the record batches of partitions, as brokers send them, in a bounded
// memory until they are asked for. Each broker has one request under way at most, which
// asks for all partitions that it leads and that are not paused. Who leads is the client's
// knowledge.
//
// What a paused partition has stays, unless others that are not paused could not be
// fetched for lack of room. It is safe for concurrent use.
type fetcher struct {
	client  *kgo.Client            // set before run
	metrics kgo.HookFetchBatchRead // nil tells nobody
	limit   int64                  // bytes of batches
	wake    chan struct{}
	ready   chan struct{}
	ended   sync.WaitGroup

	mu        sync.Mutex
	streams   map[sink.Partition]*stream
	order     []*stream // of delivery, round and round
	turn      int
	brokers   map[int32]*brokerState
	held      int64 // bytes of all streams
	asked     int64 // bytes that requests under way may bring
	dropped   int64 // bytes that were fetched and dropped
	responses int64
	refreshed time.Time
	failures  []failure
}

// brokerState is what is known of one broker.
type brokerState struct {
	busy  bool
	fails int
	retry time.Time
}

// failure is what a broker says of a partition that does not pass by itself soon.
type failure struct {
	partition sink.Partition
	err       error
}

func newFetcher(limit int64) *fetcher {
	return &fetcher{
		limit: limit, wake: make(chan struct{}, 1), ready: make(chan struct{}, 1),
		streams: map[sink.Partition]*stream{}, brokers: map[int32]*brokerState{},
	}
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// begin has a partition fetched from a place on. What is there of it is dropped.
func (f *fetcher) begin(p sink.Partition, topic string, id [16]byte, at mark) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.remove(p)
	s := &stream{partition: p, topic: topic, id: id, from: at, next: at}
	f.streams[p] = s
	f.order = append(f.order, s)
	signal(f.wake)
}

// stop drops a partition.
func (f *fetcher) stop(p sink.Partition) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.remove(p)
}

func (f *fetcher) remove(p sink.Partition) {
	s := f.streams[p]
	if s == nil {
		return
	}
	f.held -= s.forget()
	s.failed = true
	delete(f.streams, p)
	f.order = slices.DeleteFunc(f.order, func(o *stream) bool { return o == s })
	signal(f.wake)
}

// pause has a partition neither fetched nor delivered, or both again.
func (f *fetcher) pause(p sink.Partition, paused bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if s := f.streams[p]; s != nil {
		s.paused = paused
	}
	signal(f.wake)
	signal(f.ready)
}

// run fetches until ctx ends.
func (f *fetcher) run(ctx context.Context) {
	timer := time.NewTimer(fetchLook)
	defer timer.Stop()
	for ctx.Err() == nil {
		timer.Reset(f.ask(ctx, time.Now()))
		select {
		case <-f.wake:
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	f.ended.Wait()
}

// ask sends a request to each broker that has none and all of whose partitions want
// more; else those that do would wait for it. It returns how long there is to wait.
func (f *fetcher) ask(ctx context.Context, now time.Time) (wait time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	leaders, wait := f.leaders(now)
	share := min(fetchMaxBytes, f.limit/int64(max(1, len(leaders))))
	for leader, asks := range leaders {
		b := f.broker(leader)
		if b.busy || slices.ContainsFunc(asks, func(a ask) bool { return a.stream.bytes > fetchPartitionBytes/2 }) {
			continue
		}
		if later := b.retry.Sub(now); later > 0 {
			wait = min(wait, later)
			continue
		}
		if f.room() < share/4 && !f.makeRoom(share) {
			continue
		}
		most := min(share, f.room())
		slices.SortFunc(asks, func(a, b ask) int { return cmp.Compare(a.stream.served, b.stream.served) })
		b.busy = true
		f.asked += most
		f.ended.Go(func() { f.fetch(ctx, leader, asks, most) })
	}
	return wait
}

func (f *fetcher) broker(id int32) *brokerState {
	b := f.brokers[id]
	if b == nil {
		b = &brokerState{}
		f.brokers[id] = b
	}
	return b
}

// leaders returns the partitions to ask for, by their leader.
func (f *fetcher) leaders(now time.Time) (leaders map[int32][]ask, wait time.Duration) {
	leaders, wait = map[int32][]ask{}, fetchLook
	for _, s := range f.order {
		if s.paused || s.failed {
			continue
		}
		if later := s.retry.Sub(now); later > 0 {
			wait = min(wait, later)
			continue
		}
		leader, epoch, err := f.client.PartitionLeader(s.topic, s.partition.Index)
		if err != nil || leader < 0 {
			f.rejected(s, cmp.Or(err, error(kerr.LeaderNotAvailable)), now)
			wait = min(wait, max(0, s.retry.Sub(now)))
			continue
		}
		leaders[leader] = append(leaders[leader], ask{s, s.next, epoch})
	}
	return leaders, wait
}

// makeRoom drops what paused partitions have, the largest first, where nothing else
// frees memory: what can be delivered soon is.
func (f *fetcher) makeRoom(share int64) bool {
	if slices.ContainsFunc(f.order, (*stream).deliverable) {
		return false
	}
	paused := slices.DeleteFunc(slices.Clone(f.order), func(s *stream) bool { return !s.paused || s.taken })
	slices.SortFunc(paused, func(a, b *stream) int { return cmp.Compare(b.bytes, a.bytes) })
	for _, s := range paused {
		if f.room() >= share {
			break
		}
		freed := s.forget()
		f.held -= freed
		f.dropped += freed
	}
	return f.room() >= share/4
}

// room returns how many bytes may be asked for.
func (f *fetcher) room() int64 { return f.limit - f.held - f.asked }

// rejected notes that a partition could not be fetched, and has it tried again later.
func (f *fetcher) rejected(s *stream, err error, now time.Time) {
	s.unfetched(now)
	s.fails++
	s.retry = now.Add(backoff(s.fails))
	before := s.lacks
	s.lacks = 0
	switch {
	case errors.Is(err, kerr.OffsetOutOfRange), errors.Is(err, sink.ErrTruncated):
		s.lacks = before + 1
		s.failed = s.lacks >= rangeFails
	case errors.Is(err, buffer.ErrUnreadable):
		s.lacks = before + 1
		s.failed = s.lacks >= rangeFails && len(s.batches) == 0 // what is before it is delivered first
	case kerr.IsRetriable(err) && s.fails <= quietFails:
		f.refresh(now)
	default:
		f.refresh(now)
		f.report(s, err)
	}
	if s.failed {
		f.report(s, err)
	}
}

func (f *fetcher) report(s *stream, err error) {
	f.failures = append(f.failures, failure{s.partition, err})
	signal(f.ready)
}

// refresh has the client look up leaders, not more often than it is of use.
func (f *fetcher) refresh(now time.Time) {
	if now.Sub(f.refreshed) >= metadataMinAge/4 {
		f.refreshed = now
		f.client.ForceMetadataRefresh()
	}
}
