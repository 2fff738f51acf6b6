package fault

import (
	"bytes"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/testkit"
	"github.com/millrace/millrace/tests/harness"
)

// samples are what processes that live through a soak occupied meanwhile.
type samples struct{ series []*series }

type series struct {
	process, admin, metric, what string
	unit                         float64
	at                           []time.Time
	values                       []float64
}

func (s *samples) watch(process, admin string) {
	s.series = append(s.series,
		&series{process: process, admin: admin, metric: "process_resident_memory_bytes", what: "MB resident", unit: 1e6},
		&series{process: process, admin: admin, metric: "go_goroutines", what: "goroutines", unit: 1})
}

// take reads all of them.
func (s *samples) take(t *testing.T) {
	t.Helper()
	for _, x := range s.series {
		testkit.Eventually(t, patience, func() error {
			v, err := harness.ReadMetric(t.Context(), x.admin, x.metric)
			if err == nil {
				x.at, x.values = append(x.at, time.Now()), append(x.values, v/x.unit)
			}
			return err
		})
	}
}

// settled is what the second half of the samples says: their median, and by how
// much they rise in an hour (least squares).
func (x *series) settled() (median, slope float64, ok bool) {
	half := len(x.values) / 2
	if half < 5 {
		return 0, 0, false
	}
	values, at := x.values[half:], x.at[half:]
	sorted := slices.Clone(values)
	slices.Sort(sorted)
	var n, sx, sy, sxx, sxy float64
	for i, v := range values {
		h := at[i].Sub(at[0]).Hours()
		n, sx, sy, sxx, sxy = n+1, sx+h, sy+v, sxx+h*h, sxy+h*v
	}
	return sorted[len(sorted)/2], (n*sxy - sx*sy) / (n*sxx - sx*sx), true
}

// most is how much a process may rise over the time that was looked at, as a part of
// its median: garbage is collected when it is, and a fault holds more than none.
const most = 0.25

// growing says what rises.
func (s *samples) growing() (wrong []string) {
	for _, x := range s.series {
		median, slope, ok := x.settled()
		if !ok {
			continue
		}
		hours := x.at[len(x.at)-1].Sub(x.at[len(x.at)/2]).Hours()
		if slope*hours > most*median {
			wrong = append(wrong, fmt.Sprintf("%s of the %s rise by %.1f in %.2f hours, from a median of %.0f",
				x.what, x.process, slope*hours, hours, median))
		}
	}
	return wrong
}

// table is what the second half of the samples says.
func (s *samples) table(b *bytes.Buffer) {
	fmt.Fprint(b, "| Process | Of | Median | Slope an hour | Least | Most | Samples |\n|---|---|--:|--:|--:|--:|--:|\n")
	for _, x := range s.series {
		if median, slope, ok := x.settled(); ok {
			half := x.values[len(x.values)/2:]
			fmt.Fprintf(b, "| %s | %s | %.0f | %+.1f | %.0f | %.0f | %d |\n",
				x.process, x.what, median, slope, slices.Min(half), slices.Max(half), len(half))
		}
	}
}

// page is the report.
func (s *soak) page(peak, load float64, took time.Duration, wrong []string) []byte {
	var b bytes.Buffer
	v := &s.verdict
	fmt.Fprintf(&b, "<!-- Written by `make soak`; changes here are lost. -->\n# Soak\n\n")
	fmt.Fprintf(&b, "`make soak MINUTES=%.0f` of seed %d, %s on %d cores (%s/%s, %s): ", soakFlag.Minutes(), s.seed,
		took.Round(time.Second), runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, runtime.Version())
	if len(wrong) == 0 {
		fmt.Fprint(&b, "**exact and flat**.\n\n")
	} else {
		fmt.Fprintf(&b, "**%d things were not as they should be**.\n\n", len(wrong))
	}
	fmt.Fprint(&b, soakIntro)
	fmt.Fprintf(&b, "| Peak | Load | Events acknowledged | Base with FINAL | Rollup 15 min | Rollup day | Stored by "+
		"the ledger | Gaps, overlaps | Duplicates dropped | Answers | of them 503 | Unanswered "+
		"|\n|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n")
	fmt.Fprintf(&b, "| %.0f/s | %.0f/s | %d | %d | %d | %d | %d | %d | %d | %d | %d | %d |\n\n",
		peak, load, v.Acked, v.Final, v.Rollup, v.RollupD, v.Stored,
		v.Gaps+v.Overlaps+v.Odd, v.Duplicates, s.sent.responses, s.sent.rejected, s.sent.unreached)
	s.samples.table(&b)
	fmt.Fprint(&b, "\n| Fault | Times |\n|---|--:|\n")
	for _, name := range slices.Sorted(maps.Keys(s.struck)) {
		fmt.Fprintf(&b, "| %s | %d |\n", name, s.struck[name])
	}
	if s.rebuilt > 0 {
		fmt.Fprintf(&b, "\nDays that were listed as dirty, and rebuilt before they were counted: %d.\n", s.rebuilt)
	}
	for _, w := range wrong {
		fmt.Fprintf(&b, "\n* %s", w)
	}
	return b.Bytes()
}

const soakIntro = `Clients send to two edges all the time, in batches of fifty, and insist until one of them
acknowledges; every tenth batch is sent again afterwards. The load is seven tenths of the peak,
which is what the same clients get acknowledged and stored, in the same run, when nothing holds
them back. Meanwhile one fault after the other strikes at random: an edge or a sink is killed or
stopped, ClickHouse is killed, away, silent or refuses, the network loses answers or cuts
requests, the broker loses acknowledgements or refuses commits.

In the end the number of events and what their hashes come to are the same for what was
acknowledged and for the base; no merge corrects the rollups, which have the same number. Days that
the sink has listed as dirty are rebuilt before: a ClickHouse that is killed at the wrong moment
loses what a view has made of an insert. Memory and goroutines are those of an edge and a sink that
live through all of it, from half of the time on; sinks remember events for a minute here, so that
their memory is full soon. The brokers are kfake, in the process of the test.

`
