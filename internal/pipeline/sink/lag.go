package sink

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"time"
)

const (
	// endsEvery is how often it is asked where the logs end, of partitions that are owned.
	endsEvery = 30 * time.Second
	// endsKnown is for how long the response counts. Once it is older, nobody knows whether
	// something waits.
	endsKnown = 2 * endsEvery
	// endsTimeout bounds what is asked at a time.
	endsTimeout = 10 * time.Second
	// receiptsAtOnce is how many partitions are asked at the same time when their next record
	// was received: each brings a batch.
	receiptsAtOnce = 4
)

// tail is what is known of a partition's log aside from deliveries. What cannot be fetched is not
// delivered, nor is what comes to a partition that is halted, and yet both are behind. Times are in
// Unix milliseconds.
type tail struct {
	begun    int64 // when the partition was taken over
	end      int64 // of the log, when it was last asked for
	asked    int64 // when that was; 0: never
	current  int64 // when the log last ended where all is settled; 0: it never did
	waiting  int64 // the offset of a record that was not in hand when the end was last asked for; -1: none
	lookedUp int64 // the offset of a record that was not in hand; -1: none
	received int64 // when that one was
}

// lag returns how many records up to the end of the log are not settled, -1 where nobody knows, and
// since when the oldest of them waits, in Unix milliseconds; 0 when there is none.
//
// Where it is not in hand, nor was looked up, it waits since the receipt of the one before it, or
// since the log ended there, or since the partition was taken over. So it does also where nobody
// can tell that nothing waits: it is never 0 because something cannot be read.
func (w *worker) lag(now int64) (records, since int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	behind := max(w.logEnd, w.tail.end) - w.settled.next
	records = max(0, behind)
	unknown := now-w.tail.asked > endsKnown.Milliseconds()
	elsewhere := behind < 0 && w.haltReason != "" // the log was cut, or is that of another topic
	if records == 0 && (unknown || elsewhere) {
		records = -1
	}
	if since = w.inHandSince(); since > 0 || records == 0 {
		return records, since
	}
	if w.tail.lookedUp == w.settled.next {
		return records, w.tail.received
	}
	return records, cmp.Or(max(w.settled.received, w.tail.current), w.tail.begun)
}

// inHandSince returns when the oldest record in hand was received; 0 when there is none, or nobody
// knows. mu is held.
func (w *worker) inHandSince() int64 {
	switch {
	case w.inFlight > 1:
		return w.inFlight
	case w.open.Len() > 0:
		return max(0, w.open.At(0).ReceivedAt)
	}
	return 0
}

// endsAt is told where the log ended at some time.
func (w *worker) endsAt(end, asked int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tail.end, w.tail.asked = end, asked
	// More may have been settled since it was asked; but of a partition that is halted nothing is.
	if end == w.settled.next || end < w.settled.next && w.haltReason == "" {
		w.tail.current = asked
	}
}

// unread returns the offset of the record that comes next, if its receipt has to be looked up: it is
// in the log and not in hand. While a partition is read that does not last, so it is looked up only
// for one that is halted, or the second time.
func (w *worker) unread() (offset int64, halted, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	next, halted := w.settled.next, w.haltReason != ""
	if w.tail.end <= next || w.inHandSince() > 0 {
		w.tail.waiting = -1
		return 0, halted, false
	}
	again := w.tail.waiting == next
	w.tail.waiting = next
	return next, halted, (halted || again) && w.tail.lookedUp != next
}

// receivedAt is told when the record at an offset was received, or the first one after it.
func (w *worker) receivedAt(offset, received int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tail.lookedUp, w.tail.received = offset, received
}

// watch looks where the logs end, until ctx ends: every now and then, and at once when partitions
// come or one is halted.
func (s *Sink) watch(ctx context.Context) {
	tick := time.NewTicker(endsEvery)
	defer tick.Stop()
	for failed := false; ; {
		select {
		case <-s.looks:
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		err := s.look(ctx)
		if err != nil && !failed && ctx.Err() == nil { // the lag tells of it as long as it lasts
			s.deps.Log.LogAttrs(ctx, slog.LevelWarn, "looking up partition end offsets failed", slog.Any("error", err))
		}
		failed = err != nil
	}
}

// lookSoon has the ends looked at without waiting for their time.
func (c *common) lookSoon() {
	select {
	case c.looks <- struct{}{}:
	default:
	}
}

// look asks where the logs of all partitions end, and since when what comes next waits.
func (s *Sink) look(ctx context.Context) error {
	workers := s.owned()
	if len(workers) == 0 {
		return nil
	}
	all := make([]Partition, 0, len(workers))
	for _, w := range workers {
		all = append(all, w.partition)
	}
	asked := time.Now().UnixMilli()
	var ends map[Partition]int64
	err := withTimeout(ctx, endsTimeout, func(ctx context.Context) (err error) {
		ends, err = s.deps.Reader.Ends(ctx, all)
		return err
	})
	for _, w := range workers {
		if end, ok := ends[w.partition]; ok {
			w.endsAt(end, asked)
		}
	}
	s.lookUpReceipts(ctx, workers)
	return err
}

// lookUpReceipts looks up since when records wait that are not in hand, first those of partitions that
// are halted: of another one, the broker may well not respond. What it does not get is asked for in
// the next look.
func (s *Sink) lookUpReceipts(ctx context.Context, workers []*worker) {
	type lookup struct {
		worker *worker
		offset int64
	}
	var first, then []lookup
	for _, w := range workers {
		switch offset, halted, ok := w.unread(); {
		case ok && halted:
			first = append(first, lookup{w, offset})
		case ok:
			then = append(then, lookup{w, offset})
		}
	}
	ctx, cancel := context.WithTimeout(ctx, endsTimeout)
	defer cancel()
	places := make(semaphore, receiptsAtOnce)
	var all sync.WaitGroup
	defer all.Wait()
	for _, l := range append(first, then...) {
		if places.acquire(ctx, nil) != nil {
			return
		}
		all.Go(func() {
			defer places.release()
			if received, err := s.deps.Reader.ReceivedAt(ctx, l.worker.partition, l.offset); err == nil {
				l.worker.receivedAt(l.offset, received)
			}
		})
	}
}
