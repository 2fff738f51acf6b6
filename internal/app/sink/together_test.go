package sink

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// draining is a pipeline that takes a while to finish, and dies before, if it is to.
func draining(name string, drain, dies time.Duration, err error) runner {
	return runner{name, func(ctx context.Context) error {
		end := ctx.Done()
		if dies > 0 {
			select {
			case <-time.After(dies):
				return err
			case <-end:
			}
		}
		<-end
		<-time.After(drain)
		return nil
	}}
}

func TestPipelinesFinishSideBySide(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		begin := time.Now()
		err := together(ctx, []runner{
			draining("live", 20*time.Second, 0, nil), draining("backfill", 15*time.Second, 0, nil),
			draining("web", 20*time.Second, 0, nil),
		})
		if took := time.Since(begin) - time.Minute; err != nil || took != 20*time.Second {
			t.Errorf("after a stop they ended within %s, %v; want 20s", took, err)
		}
	})
}

func TestAPipelineThatEndsTakesTheOthersAlong(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	for want, err := range map[error]error{broken: broken, errEndedEarly: nil} {
		synctest.Test(t, func(t *testing.T) {
			begin := time.Now()
			got := together(t.Context(),
				[]runner{draining("live", 20*time.Second, 0, nil), draining("web", 0, time.Second, err)})
			if took := time.Since(begin); !errors.Is(got, want) || !strings.HasPrefix(got.Error(), "web: ") ||
				took != 21*time.Second {
				t.Errorf("they ended within %s: %v; want 21s and that of web: %v", took, got, want)
			}
		})
	}
}
