package schema

import (
	"fmt"
	"io"
	"testing"

	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/platform/credential"
)

func TestWhatNoWaitMakesGoodIsTold(t *testing.T) {
	t.Parallel()
	s := Awaited(config.ClickHouse{}, CheckExactness)
	for err, want := range map[error]bool{
		io.EOF: false, ErrUnmigrated: false, ErrSchema: true, ErrInexact: true,
		credential.Reject("clickhouse.password", nil, "is wrong"): true,
	} {
		if got := s.Hopeless(fmt.Errorf("asking: %w", err)); got != want {
			t.Errorf("%v: hopeless %v, want %v", err, got, want)
		}
	}
}
