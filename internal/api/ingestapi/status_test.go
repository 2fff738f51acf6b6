package ingestapi

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestTheStatusNamesWhatIsAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStatus([]Service{
			{"fine", func(context.Context) error { return nil }},
			{"broken", func(context.Context) error { return errors.New("password of the server is x") }},
			{"slow", func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }},
		})
		ok, body, err := s.look()
		if ok || err != nil {
			t.Fatalf("look() = %v, %v", ok, err)
		}
		const want = `{"status":"degraded","services":{"broken":{"status":"error","latency_ms":0,"code":"UNAVAILABLE"},` +
			`"fine":{"status":"ok","latency_ms":0},"slow":{"status":"error","latency_ms":2000,"code":"TIMEOUT"}}}`
		if string(body) != want {
			t.Errorf("%s\nwant %s", body, want)
		}
	})
}

func TestTheStatusIsLookedAtOnceASecondWhoeverAsks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var looks atomic.Int32
		s := newStatus([]Service{{"kafka", func(context.Context) error {
			looks.Add(1)
			time.Sleep(300 * time.Millisecond) //nolint:forbidigo // the clock of the bubble
			return nil
		}}})
		ask := func() {
			var wg sync.WaitGroup
			for range 100 {
				wg.Go(func() {
					ok, body, err := s.look()
					var a statusResponse
					if !ok || err != nil || json.Unmarshal(body, &a) != nil || a.Services["kafka"].Latency != 300 {
						t.Errorf("look() = %v, %s, %v", ok, body, err)
					}
				})
			}
			wg.Wait()
		}
		ask()
		ask()
		if n := looks.Load(); n != 1 {
			t.Errorf("%d looks, want 1", n)
		}
		time.Sleep(statusFor) //nolint:forbidigo // the clock of the bubble
		ask()
		if n := looks.Load(); n != 2 {
			t.Errorf("%d looks a second later, want 2", n)
		}
	})
}
