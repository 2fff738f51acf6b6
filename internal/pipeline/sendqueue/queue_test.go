package sendqueue

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/contract/record"
)

// brokers acknowledge nothing until they are told what to answer.
type brokers struct {
	mu   sync.Mutex
	got  []string
	done []func(error)
}

func (b *brokers) Send(r *record.Record, done func(error)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.got, b.done = append(b.got, string(r.Key)), append(b.done, done)
}

// respond ends all that wait, with nil for acknowledged.
func (b *brokers) respond(err error) {
	b.mu.Lock()
	waiting := b.done
	b.done = nil
	b.mu.Unlock()
	for _, done := range waiting {
		done(err)
	}
}

func (b *brokers) sent() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.got)
}

// scene is a queue of names before brokers, and what was told of them.
type scene struct {
	*Queue[string, record.Record]

	brokers brokers
	mu      sync.Mutex
	told    [Fates]int
}

const gather = 10 * time.Millisecond

func newScene(bytes int64) *scene {
	s := &scene{}
	s.Queue = New(Config{MaxBytes: bytes, Gather: gather}, Deps[string, record.Record]{
		Sender: &s.brokers,
		Write:  func(from *string, to *record.Record) { to.Key = append(to.Key[:0], *from...) },
		Record: func(r *record.Record) *record.Record { return r },
		Told: func(f Fate) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.told[f]++
		},
		Log: slog.New(slog.DiscardHandler), What: "names",
	})
	return s
}

// add adds names of one byte each, and returns how many there was room for.
func (s *scene) add(names ...string) (added int) {
	for _, name := range names {
		if t := s.Reserve(1); t != nil {
			t.Is = name
			s.Add(t)
			added++
		}
	}
	return added
}

// run has the queue publish until ctx ends, and then closes what it returns.
func (s *scene) run(ctx context.Context, t *testing.T) (ended chan struct{}) {
	t.Helper()
	ended = make(chan struct{})
	go func() {
		defer close(ended)
		if err := s.Run(ctx); err != nil {
			t.Error(err)
		}
	}()
	return ended
}

// is compares the fates that were told, and what is not acknowledged.
func (s *scene) is(t *testing.T, left int64, want [Fates]int) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if diff := cmp.Diff(want, s.told); diff != "" || s.Len() != left || s.Bytes() != left {
		t.Errorf("%d items and %d bytes are left, want %d; told of published, full, rejected, stopped (-want +got):\n%s",
			s.Len(), s.Bytes(), left, diff)
	}
}

func TestItemsArePublishedTogetherInTheirOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(100)
		s.run(t.Context(), t)
		s.add("a", "b")
		time.Sleep(gather - time.Nanosecond) //nolint:forbidigo // fake time
		s.add("c")
		synctest.Wait()
		if got := s.brokers.sent(); len(got) > 0 {
			t.Errorf("%v are sent before the others could come", got)
		}
		time.Sleep(time.Nanosecond) //nolint:forbidigo // fake time
		synctest.Wait()
		if diff := cmp.Diff([]string{"a", "b", "c"}, s.brokers.sent()); diff != "" {
			t.Errorf("sent (-want +got):\n%s", diff)
		}
		s.is(t, 3, [Fates]int{})
		s.brokers.respond(nil)
		s.is(t, 0, [Fates]int{Published: 3})
	})
}

// However long brokers are away, adding takes no time: nothing here waits for them, and the
// clock stands still.
func TestAddingNeverWaitsAndDropsWhatDoesNotFit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(3)
		s.run(t.Context(), t)
		start := time.Now()
		if n := s.add("a", "b", "c"); n != 3 {
			t.Errorf("%d items are taken at the limit, want 3", n)
		}
		if n := s.add("d"); n != 0 {
			t.Error("one is taken beyond the limit")
		}
		s.is(t, 3, [Fates]int{Full: 1})
		if took := time.Since(start); took != 0 {
			t.Errorf("adding took %s", took)
		}
		time.Sleep(time.Hour) //nolint:forbidigo // fake time
		if n := s.add("e"); n != 0 {
			t.Error("there is room although nothing is acknowledged")
		}
		s.brokers.respond(nil)
		if n := s.add("f", "g", "h"); n != 3 {
			t.Errorf("%d items are taken after the others are acknowledged, want 3", n)
		}
		s.is(t, 3, [Fates]int{Published: 3, Full: 2})
	})
}

func TestOneItemMayBeAsLargeAsTheQueueAndNoLarger(t *testing.T) {
	t.Parallel()
	s := newScene(10)
	if s.Reserve(11) != nil || s.Bytes() != 0 {
		t.Errorf("an item beyond the limit is taken, %d bytes", s.Bytes())
	}
	if s.Reserve(10) == nil || s.Bytes() != 10 {
		t.Errorf("an item at the limit is not taken, %d bytes", s.Bytes())
	}
}

func TestWhatBrokersRejectIsTold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(10)
		s.run(t.Context(), t)
		s.add("a", "b")
		time.Sleep(gather) //nolint:forbidigo // fake time
		synctest.Wait()
		s.brokers.respond(errors.New("too large"))
		s.is(t, 0, [Fates]int{Rejected: 2})
	})
}

// A stop publishes what was added before it, and takes nothing after it.
func TestAStopPublishesWhatWasAddedBeforeIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(10)
		ctx, end := context.WithCancel(t.Context())
		ended := s.run(ctx, t)
		s.add("a", "b")
		late := s.Reserve(1) // and added when it is too late
		end()
		<-ended
		stopped := make(chan error, 1)
		go func() { stopped <- s.Stop(t.Context()) }()
		synctest.Wait()
		if diff := cmp.Diff([]string{"a", "b"}, s.brokers.sent()); diff != "" {
			t.Errorf("sent (-want +got):\n%s", diff)
		}
		select {
		case err := <-stopped:
			t.Errorf("Stop() = %v before brokers have answered", err)
		default:
		}
		s.Add(late)
		s.is(t, 2, [Fates]int{Stopped: 1})
		s.brokers.respond(nil)
		if err := <-stopped; err != nil {
			t.Error(err)
		}
		s.is(t, 0, [Fates]int{Published: 2, Stopped: 1})
	})
}

// Where brokers do not come back, the stop ends with its context. What becomes of each item
// is told once all the same, when the client gives it up.
func TestAStopWaitsNoLongerThanItMay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(10)
		s.add("a", "b")
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		start := time.Now()
		if err := s.Stop(ctx); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Minute {
			t.Errorf("Stop() = %v after %s", err, time.Since(start))
		}
		s.is(t, 2, [Fates]int{})
		s.brokers.respond(errors.New("closed"))
		s.is(t, 0, [Fates]int{Stopped: 2})
	})
}

// The memory of an item is used again once its record is written: what brokers have not
// acknowledged keeps what it was.
func TestARecordKeepsItsOwnWhileItemsAreUsedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const rounds, many = 5, maxSpare + 1 // the list of added items is given up, and recreated
		s := newScene(rounds * many)
		s.run(t.Context(), t)
		var want []string
		for n := range rounds {
			for i := range many {
				want = append(want, string(rune('a'+n))+string(rune('a'+i%26)))
			}
			s.add(want[n*many:]...)
			time.Sleep(gather) //nolint:forbidigo // fake time
			synctest.Wait()
		}
		if diff := cmp.Diff(want, s.brokers.sent()); diff != "" {
			t.Error("records are not what was added, in its order")
		}
		s.brokers.respond(nil)
		s.is(t, 0, [Fates]int{Published: rounds * many})
	})
}

// Each item has one fate, however many add at once and whatever brokers answer.
func TestEachItemHasOneFate(t *testing.T) {
	t.Parallel()
	const adders, each, room = 8, 2000, 500
	s := newScene(room)
	ctx, end := context.WithCancel(t.Context())
	defer end()
	ended := s.run(ctx, t)
	var adding sync.WaitGroup
	for range adders {
		adding.Go(func() {
			for i := range each {
				s.add("x")
				if i%50 == 0 {
					s.brokers.respond(map[bool]error{true: errors.New("rejected")}[i%100 == 0])
				}
				if bytes := s.Bytes(); bytes > room+adders { // each may be about to find that it is too much
					t.Errorf("%d bytes are taken of %d", bytes, room)
				}
			}
		})
	}
	adding.Wait()
	end()
	<-ended
	stopped := make(chan error, 1)
	go func() { stopped <- s.Stop(context.WithoutCancel(ctx)) }()
	for waiting := true; waiting; {
		select {
		case err := <-stopped:
			if waiting = false; err != nil {
				t.Error(err)
			}
		default:
			s.brokers.respond(nil)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	sum := 0
	for _, n := range s.told {
		sum += n
	}
	if sum != adders*each || s.Bytes() != 0 || s.Len() != 0 {
		t.Errorf("%d fates of %d items: %v; %d items and %d bytes are left", sum, adders*each, s.told, s.Len(), s.Bytes())
	}
}
