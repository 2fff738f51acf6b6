package httpkit

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestADeadlineThatIsMovedIsTheOneThatEndsTheContext(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name          string
		first, second time.Duration
	}{{"later", time.Second, time.Minute}, {"sooner", time.Minute, time.Second}} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				c := newRequestContext(began.Add(tc.first), nil)
				done := c.Done() // somebody waits already
				c.until(began.Add(tc.second))
				<-done
				if took := time.Since(began); took != tc.second || !errors.Is(c.Err(), context.DeadlineExceeded) {
					t.Errorf("ended by %v after %s, want %s", c.Err(), took, tc.second)
				}
				c.until(time.Now().Add(time.Hour))
				if c.Err() == nil {
					t.Error("what has ended goes on")
				}
			})
		})
	}
}
