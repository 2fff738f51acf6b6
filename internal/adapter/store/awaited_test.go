package store

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/millrace/millrace/internal/platform/credential"
)

func TestWhatNoWaitMakesGoodIsTold(t *testing.T) {
	t.Parallel()
	s := new(Store).Awaited()
	for err, want := range map[error]bool{
		ErrSchema: false, context.DeadlineExceeded: false,
		errors.New("no such column"):                         true,
		credential.Reject("store.password", nil, "is wrong"): true,
	} {
		if got := s.Hopeless(fmt.Errorf("asking: %w", err)); got != want {
			t.Errorf("%v: hopeless %v, want %v", err, got, want)
		}
	}
}
