package click

import (
	"context"
	"errors"
	"net/netip"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/pipeline/sendqueue"
)

// brokers stand in for Kafka: they acknowledge at once, or keep what they get while they
// are away.
type brokers struct {
	mu      sync.Mutex
	away    bool
	rejects error
	waiting []func(error)
	held    []string // ids of the clicks, in the order in which they came
}

func (b *brokers) Send(r *record.Record, done func(error)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var d record.Decoder
	var e record.Event
	if err := d.DecodeEvent(r.Value, &e); err != nil {
		done(err)
		return
	}
	b.held = append(b.held, string(e.Click.RuleID))
	if b.away {
		b.waiting = append(b.waiting, done)
		return
	}
	done(b.rejects)
}

// respond lets brokers answer from now on, with what they reject clicks with; nil takes them.
func (b *brokers) respond(rejects error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.away, b.rejects = false, rejects
	for _, done := range b.waiting {
		done(rejects)
	}
	b.waiting = nil
}

func (b *brokers) got() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]string{}, b.held...)
}

// scene is a queue in front of brokers.
type scene struct {
	*Queue

	brokers *brokers
	end     func() error
}

// newScene starts a queue; its end is part of the test.
func newScene(t *testing.T, away bool, bytes int) *scene {
	t.Helper()
	s := &scene{brokers: &brokers{away: away}}
	s.Queue = newQueue(s.brokers, bytes)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	s.end = sync.OnceValue(func() error {
		cancel()
		return <-done
	})
	t.Cleanup(func() { _ = s.end() })
	return s
}

// named is a click that a test recognises.
func named(name string) *Click {
	c := anyClick()
	c.RuleID = name
	return c
}

func (s *scene) counts(t *testing.T, published, noRoomed, buffered int64) {
	t.Helper()
	want := map[string]float64{
		"published": float64(published), "buffer_full": float64(noRoomed), "buffered": float64(buffered),
	}
	got := map[string]float64{
		"published":   testutil.ToFloat64(s.metrics.fates[sendqueue.Published]),
		"buffer_full": testutil.ToFloat64(s.metrics.fates[sendqueue.Full]),
		"buffered":    float64(s.queue.Len()),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("clicks (-want +got):\n%s", diff)
	}
}

func TestAClickIsHandedOverWithinASecondInOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, false, 1<<20)
		begin := time.Now()
		for _, name := range []string{"a", "b", "c"} {
			s.Take(named(name))
		}
		if len(s.brokers.got()) > 0 {
			t.Error("Take hands over itself")
		}
		time.Sleep(gather) //nolint:forbidigo // fake time
		synctest.Wait()
		if diff := cmp.Diff([]string{"a", "b", "c"}, s.brokers.got()); diff != "" || time.Since(begin) >= time.Second {
			t.Errorf("after %s (-want +got):\n%s", time.Since(begin), diff)
		}
		s.counts(t, 3, 0, 0)
		_ = s.end()
	})
}

func TestClicksWaitWhileBrokersAreAwayUpToTheLimitAndAreDroppedOneBeyond(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const room = 5
		one := sizeOfOne(t)
		s := newScene(t, true, int(room*one))
		for range room {
			s.Take(anyClick())
		}
		s.counts(t, 0, 0, room)
		s.Take(anyClick())
		s.counts(t, 0, 1, room)
		if n := s.queue.Bytes(); n != room*one {
			t.Errorf("%d bytes are buffered, want %d", n, room*one)
		}
		time.Sleep(time.Hour) //nolint:forbidigo // fake time
		s.brokers.respond(nil)
		synctest.Wait()
		s.counts(t, room, 1, 0)
		s.Take(anyClick())      // there is room again
		time.Sleep(time.Second) //nolint:forbidigo // fake time
		synctest.Wait()
		s.counts(t, room+1, 1, 0)
		_ = s.end()
	})
}

func TestAClickThatDoesNotFitByAByteIsDropped(t *testing.T) {
	t.Parallel()
	q := newQueue(&brokers{away: true}, int(2*sizeOfOne(t))-1)
	q.Take(anyClick())
	q.Take(anyClick())
	if dropped := testutil.ToFloat64(q.metrics.fates[sendqueue.Full]); dropped != 1 || q.queue.Len() != 1 {
		t.Errorf("%v of two clicks are dropped, %d are buffered", dropped, q.queue.Len())
	}
}

// sizeOfOne is what one click of anyClick takes of the queue.
func sizeOfOne(t *testing.T) int64 {
	t.Helper()
	q := newQueue(&brokers{away: true}, 1<<20)
	q.Take(anyClick())
	return q.queue.Bytes()
}

func TestAStopPublishesWhatWasTaken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, true, 1<<20)
		s.Take(named("a"))
		time.Sleep(time.Second) //nolint:forbidigo // fake time
		s.Take(named("b"))      // not handed over when the stop comes
		if err := s.end(); err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() { done <- s.Stop(t.Context()) }()
		synctest.Wait()
		select {
		case err := <-done:
			t.Fatalf("the stop ended with clicks in hand: %v", err)
		default:
		}
		s.brokers.respond(nil)
		if err := <-done; err != nil {
			t.Error(err)
		}
		s.counts(t, 2, 0, 0)
		if diff := cmp.Diff([]string{"a", "b"}, s.brokers.got()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestAStopEndsWithItsContextAndSaysWhatIsLeft(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, true, 1<<20)
		s.Take(anyClick())
		_ = s.end()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		begin := time.Now()
		err := s.Stop(ctx)
		if took := time.Since(begin); !errors.Is(err, context.DeadlineExceeded) || took != 10*time.Second {
			t.Errorf("Stop() = %v after %s", err, took)
		}
		s.brokers.respond(errors.New("the client is closed"))
		s.Take(anyClick())
		if n := testutil.ToFloat64(s.metrics.fates[sendqueue.Stopped]); n != 2 || s.queue.Len() != 0 || s.queue.Bytes() != 0 {
			t.Errorf("%v clicks were dropped at the stop, want 2; %d are left", n, s.queue.Len())
		}
	})
}

func TestAClickThatKafkaRejectsIsCountedAndMakesRoom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, true, 1<<20)
		s.Take(anyClick())
		time.Sleep(time.Second) //nolint:forbidigo // fake time
		s.brokers.respond(errors.New("too large"))
		if n := testutil.ToFloat64(s.metrics.fates[sendqueue.Rejected]); n != 1 || s.queue.Bytes() != 0 {
			t.Errorf("%v clicks were refused, %d bytes are buffered", n, s.queue.Bytes())
		}
		s.counts(t, 0, 0, 0)
		_ = s.end()
	})
}

// The same clicks may be taken by many at once, while others are acknowledged.
func TestManyTakeAtOnce(t *testing.T) {
	t.Parallel()
	s := newScene(t, false, 64<<20)
	const each, takers = 2000, 8
	var all sync.WaitGroup
	for range takers {
		all.Go(func() {
			c := named("x")
			for range each {
				s.Take(c)
			}
		})
	}
	all.Wait()
	if err := errors.Join(s.end(), s.Stop(t.Context())); err != nil {
		t.Fatal(err)
	}
	s.counts(t, each*takers, 0, 0)
	if n := len(s.brokers.got()); n != each*takers {
		t.Errorf("brokers got %d clicks, want %d", n, each*takers)
	}
}

//nolint:paralleltest // AllocsPerRun counts for the whole process
func TestAClickAllocatesNothingOnceItsMemoryIsThere(t *testing.T) {
	var own taken
	var d draft
	var r record.ClickRecord
	c := anyClick()
	if n := testing.AllocsPerRun(1000, func() {
		own.copy(c)
		d.write(&own.click, salt, &r)
	}); n > 0 {
		t.Errorf("%.1f allocations", n)
	}
}

// What the caller does with its memory afterwards changes nothing.
func TestATakenClickIsACopy(t *testing.T) {
	t.Parallel()
	c := anyClick()
	c.RequestID = []byte("req-1")
	var own taken
	own.copy(c)
	for _, text := range [][]byte{c.UserAgent, c.Referrer, c.Languages, c.Query, c.RequestID} {
		clear(text)
	}
	want := anyClick()
	want.RequestID = []byte("req-1")
	got := own.click
	if diff := cmp.Diff(want, &got, cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
