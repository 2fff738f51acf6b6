package sink

import (
	"testing"

	"github.com/millrace/millrace/internal/platform/config"
)

// most is what a process takes while the windows of all of its lanes are full, in bytes.
func most(cfg config.Sink) int64 {
	sum := int64(besides)
	for _, l := range pipelinesOf(cfg) {
		c := l.settings(cfg)
		sum += int64(c.MaxMemory) + int64(c.WindowMemory)
	}
	return sum
}

// The chart's limits and their test, docs/guides/capacity.md and docs/runbooks/sink.md tell this sum.
func TestAProcessTakesWhatItsLanesTakeTogether(t *testing.T) {
	t.Parallel()
	const mib = 1 << 20
	all := config.Default().Sink
	live, small := all, all
	live.Lanes = []string{"live"}
	small.MaxMemory, small.WindowMemory = leastMemory, leastMemory
	for _, tt := range []struct {
		name string
		cfg  config.Sink
		want int64
	}{
		{"by default", all, 228*mib + 224*mib*3/2 + 2048*mib*7/4},
		{"the live pipeline alone", live, (228 + 224 + 2048) * mib},
		{"with less than a share can be", small, (228 + 5*8 + 5*8) * mib},
	} {
		if got := most(tt.cfg); got != tt.want {
			t.Errorf("%s a sink takes %d MiB at most, want %d", tt.name, got/mib, tt.want/mib)
		}
	}
}
