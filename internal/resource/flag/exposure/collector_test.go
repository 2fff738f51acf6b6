package exposure

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/millrace/millrace/internal/contract/event"
	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/resource/flag"
	"github.com/millrace/millrace/internal/resource/flag/flageval"
)

var withoutID = cmpopts.IgnoreFields(told{}, "ID")

func TestAnExposureIsToldOnceADay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, false, 1<<20)
		expose := func(change func(*Exposure)) {
			e := anExposure(t)
			change(e)
			s.Expose(e)
		}
		others := []func(*Exposure){
			func(*Exposure) {},
			func(e *Exposure) { e.UserID = "user-2" },
			func(e *Exposure) { e.UserID, e.Email = "", "a@b.example" },
			func(e *Exposure) { e.UserID, e.AnonymousID = "", "user-1" }, // called as the user is
			func(e *Exposure) { e.Variant, e.Reason = 1, flageval.RolloutMiss },
			func(e *Exposure) { e.Environment, e.Reason = "staging", flageval.BySplit },
			func(e *Exposure) { e.Time = noon.Add(12 * time.Hour) },
			func(e *Exposure) { w := *e.Website; w.ID = "web_2"; e.Website = &w },
		}
		for _, change := range others {
			expose(change)
			expose(change)
		}
		expose(func(e *Exposure) {
			e.Reason, e.Time, e.Environment = flageval.BySplit, noon.Add(-time.Hour), "unheard-of"
		})
		expose(func(e *Exposure) { e.Told, e.Country = true, "AT" })
		time.Sleep(gather) //nolint:forbidigo // fake time
		synctest.Wait()
		hidden := string(event.AppendHashedVisitor(nil, []byte("user-1"), salt))
		mail := string(event.AppendHashedEmail(nil, []byte("web_1"), []byte("a@b.example")))
		want := []told{
			{Profile: "user-1", Flag: "new-nav", Variant: "on", Reason: "rollout"},
			{Profile: "user-2", Flag: "new-nav", Variant: "on", Reason: "rollout"},
			{Profile: mail, Flag: "new-nav", Variant: "on", Reason: "rollout"},
			{Anonymous: hidden, Flag: "new-nav", Variant: "on", Reason: "rollout"},
			{Profile: "user-1", Flag: "new-nav", Variant: "off", Reason: "rollout_miss"},
			{Profile: "user-1", Flag: "new-nav", Variant: "on", Environment: "staging", Reason: "split"},
			{Profile: "user-1", Flag: "new-nav", Variant: "on", Reason: "rollout"},
			{Profile: "user-1", Flag: "new-nav", Variant: "on", Reason: "rollout"},
		}
		got := s.brokers.got(t)
		if diff := cmp.Diff(want, got, withoutID); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		ids := map[string]bool{}
		for _, g := range got {
			ids[g.ID] = true
		}
		if len(ids) != len(others) {
			t.Errorf("%d exposures have %d ids", len(others), len(ids))
		}
		s.expectFates(t, map[string]int{"published": len(others), "repeated": len(others) + 2})
		_ = s.end()
	})
}

// Nothing of an id is random, or of one process.
func TestTwoCollectorsTellTheSame(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		one, other := newScene(t, false, 1<<20), newScene(t, false, 1<<20)
		for _, user := range []string{"user-1", "anon_1", "a@b.example"} {
			e := anExposure(t)
			e.UserID = user
			one.Expose(e)
			e.Time = e.Time.Add(11 * time.Hour)
			other.Expose(e)
		}
		time.Sleep(gather) //nolint:forbidigo // fake time
		synctest.Wait()
		if diff := cmp.Diff(one.brokers.got(t), other.brokers.got(t)); diff != "" || len(one.brokers.got(t)) != 3 {
			t.Errorf("(-one +other):\n%s", diff)
		}
		_, _ = one.end(), other.end()
	})
}

func TestAnAddressIsInNoRecord(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, false, 1<<20)
		for _, change := range []func(e *Exposure){
			func(e *Exposure) { e.Email = "needle@haystack.example" },
			func(e *Exposure) { e.UserID, e.Email = "", "needle@haystack.example" },
			func(e *Exposure) { e.UserID = "Needle@Haystack.example" },
			func(e *Exposure) { e.UserID, e.AnonymousID = "", "NEEDLE@haystack.example" },
		} {
			e := anExposure(t)
			change(e)
			s.Expose(e)
		}
		time.Sleep(gather) //nolint:forbidigo // fake time
		synctest.Wait()
		for _, value := range s.brokers.raw {
			if bytes.Contains(bytes.ToLower(value), []byte("needle")) {
				t.Errorf("the address is in %s", value)
			}
		}
		ids := map[string]bool{}
		for _, g := range s.brokers.got(t) {
			ids[g.ID] = true
		}
		if len(ids) != 2 {
			t.Errorf("a user and an address are %d visitors", len(ids))
		}
		_ = s.end()
	})
}

func TestWhoIsNotCounted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, false, 1<<20)
		few := aFlag(t, flag.ExposeAll, 1)
		for n := range 200 {
			e := anExposure(t)
			e.Flag, e.UserID = few, fmt.Sprint("user-", n)
			s.Expose(e)
		}
		for _, change := range []func(e *Exposure){
			func(e *Exposure) { e.UserID = "anonymous" },
			func(e *Exposure) { e.UserID, e.Time = "anon_1", noon.AddDate(0, 0, 1) },
			func(e *Exposure) { e.Reason = flageval.ByTarget },
			func(e *Exposure) { e.Flag = aFlag(t, flag.ExposeOff, 100) },
		} {
			e := anExposure(t)
			change(e)
			s.Expose(e)
		}
		time.Sleep(gather) //nolint:forbidigo // fake time
		synctest.Wait()
		in := len(s.brokers.got(t))
		if in == 0 || in > 10 {
			t.Errorf("one percent of 200 are %d", in)
		}
		s.expectFates(t, map[string]int{"published": in, "sampled_out": 200 - in, "no_visitor": 1, "no_salt": 1})
		_ = s.end()
	})
}

func TestExposuresWaitUpToTheLimitAndAreDroppedOneBeyond(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const room = 5
		s := newScene(t, true, room*(overhead+len("user-1")))
		of := func(n int) *Exposure {
			e := anExposure(t)
			e.UserID = fmt.Sprint("user-", n)
			return e
		}
		for n := range room {
			s.Expose(of(n))
		}
		s.expectFates(t, map[string]int{})
		s.Expose(of(room))
		s.Expose(of(0))
		s.expectFates(t, map[string]int{"buffer_full": 1, "repeated": 1})
		time.Sleep(time.Hour) //nolint:forbidigo // fake time
		s.brokers.respond(nil)
		synctest.Wait()
		s.Expose(of(room))      // there is room again, and it was not told
		time.Sleep(time.Second) //nolint:forbidigo // fake time
		synctest.Wait()
		s.expectFates(t, map[string]int{"buffer_full": 1, "repeated": 1, "published": room + 1})
		if n := s.queue.Bytes(); n != 0 {
			t.Errorf("%d bytes are buffered", n)
		}
		_ = s.end()
	})
}

func TestAStopPublishesWhatWasTaken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, true, 1<<20)
		s.Expose(anExposure(t))
		_ = s.end()
		done := make(chan error, 1)
		go func() { done <- s.Stop(t.Context()) }()
		synctest.Wait()
		select {
		case err := <-done:
			t.Fatalf("the stop ended with exposures in hand: %v", err)
		default:
		}
		s.brokers.respond(nil)
		if err := <-done; err != nil {
			t.Error(err)
		}
		s.expectFates(t, map[string]int{"published": 1})
	})
}

func TestAStopEndsWithItsContextAndSaysWhatIsLeft(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, true, 1<<20)
		s.Expose(anExposure(t))
		_ = s.end()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if err := s.Stop(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Stop() = %v", err)
		}
		s.brokers.respond(errors.New("the client is closed"))
		late := anExposure(t)
		late.UserID = "user-2"
		s.Expose(late)
		s.expectFates(t, map[string]int{"stopped": 2})
	})
}

func TestAnExposureThatKafkaRejectsIsCountedAndMakesRoom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, true, 1<<20)
		s.Expose(anExposure(t))
		time.Sleep(time.Second) //nolint:forbidigo // fake time
		s.brokers.respond(errors.New("too large"))
		s.expectFates(t, map[string]int{"refused": 1})
		if n := s.queue.Bytes(); n != 0 {
			t.Errorf("%d bytes are buffered", n)
		}
		_ = s.end()
	})
}

// The same exposures may be told by many at once, while others are acknowledged.
func TestManyExposeAtOnce(t *testing.T) {
	t.Parallel()
	s := newScene(t, false, 64<<20)
	const each, tellers = 500, 8
	base := anExposure(t)
	var all sync.WaitGroup
	for range tellers {
		all.Go(func() {
			e := *base
			for n := range each {
				e.UserID = fmt.Sprint("user-", n)
				s.Expose(&e)
			}
		})
	}
	all.Wait()
	if err := errors.Join(s.end(), s.Stop(t.Context())); err != nil {
		t.Fatal(err)
	}
	s.expectFates(t, map[string]int{"published": each, "repeated": each * (tellers - 1)})
}

func TestATellingAgainAllocatesNothing(t *testing.T) { //nolint:paralleltest // counts for all
	c := newCollector(&brokers{}, 1<<20)
	e := anExposure(t)
	c.Expose(e)
	if n := testing.AllocsPerRun(1000, func() { c.Expose(e) }); n > 0 {
		t.Errorf("%.1f allocations", n)
	}
}

func TestARecordAllocatesNothingOnceItsMemoryIsThere(t *testing.T) { //nolint:paralleltest // counts for all
	var own taken
	var d draft
	var r record.ExposureRecord
	e := anExposure(t)
	e.UserID = "anon_1"
	if n := testing.AllocsPerRun(1000, func() {
		own.copy(e, e.UserID, anonymous, salt)
		d.write(&own, &r)
	}); n > 0 {
		t.Errorf("%.1f allocations", n)
	}
}

func BenchmarkExposeAgain(b *testing.B) {
	b.ReportAllocs()
	c := newCollector(&brokers{}, 1<<20)
	e := anExposure(b)
	for b.Loop() {
		c.Expose(e)
	}
}
