package fault

import (
	"encoding/json"
	"math"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
)

// waits are how long a sink's plans and offsets waited for the group, of its whole life.
type waits struct {
	Commits int
	Most    float64 // seconds; the bound of the slowest one's bucket
}

// waitsSaid begins what a sink says of them at its end.
const waitsSaid = "waits "

// committing is the sink's own metric of them.
const committing = "millrace_sink_commit_duration_seconds"

// waitsOf reads them from what a process exports.
func waitsOf(r prometheus.Gatherer) (w waits, err error) {
	families, err := r.Gather()
	if err != nil {
		return w, err
	}
	for _, f := range families {
		if f.GetName() != committing {
			continue
		}
		for _, m := range f.GetMetric() {
			h, below := m.GetHistogram(), uint64(0)
			w.Commits += int(h.GetSampleCount())
			for _, b := range h.GetBucket() {
				if n := b.GetCumulativeCount(); n > below {
					below, w.Most = n, max(w.Most, b.GetUpperBound())
				}
			}
			if h.GetSampleCount() > below { // beyond the last bound
				w.Most = max(w.Most, 1e6)
			}
		}
	}
	return w, nil
}

func (w *waits) add(more waits) {
	w.Commits += more.Commits
	w.Most = math.Max(w.Most, more.Most)
}

// waited returns what a sink said of them when it ended.
func (c *child) waited() (w waits) {
	c.t.Helper()
	for {
		select {
		case line := <-c.lines:
			said, ok := strings.CutPrefix(line, waitsSaid)
			if !ok {
				continue
			}
			if err := json.Unmarshal([]byte(said), &w); err != nil {
				c.t.Fatal(err)
			}
			return w
		default:
			c.t.Fatal("the child did not say how long its inserts waited")
		}
	}
}
