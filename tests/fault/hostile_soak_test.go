package fault

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/millrace/millrace/tests/harness"
)

// The hostile producer, for as long as one likes: what the sink occupies is below what it
// has all the time, and does not rise.
func TestHostileSoak(t *testing.T) {
	if *hostileFlag == 0 {
		t.Skip("runs with -hostile: it takes as long as it is told to")
	}
	h := newStage(t, max(1, *seedFlag)).newHostile()
	began := time.Now()
	h.run(*hostileFlag)
	wrong := append(h.misses(), h.samples.growing()...)
	for _, w := range wrong {
		t.Error(w)
	}
	page := h.page(time.Since(began), wrong)
	t.Logf("%s", page)
	if *soakReportFlag != "" {
		if err := os.WriteFile(*soakReportFlag, page, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	h.sink.stop()
}

// fetched is how many bytes of events the sink has fetched, packed and unpacked.
func (h *hostile) fetched() (packed, unpacked float64) {
	h.t.Helper()
	for metric, into := range map[string]*float64{
		"millrace_kafka_fetch_compressed_bytes_total": &packed, "millrace_kafka_fetch_bytes_total": &unpacked,
	} {
		n, err := harness.ReadMetric(h.t.Context(), h.admin, metric, `topic="`+h.topic()+`"`)
		if err != nil {
			h.t.Error(err)
		}
		*into = n
	}
	return packed, unpacked
}

// page is the report.
func (h *hostile) page(took time.Duration, wrong []string) []byte {
	var b bytes.Buffer
	v := &h.verdict
	fmt.Fprintf(&b, "<!-- Written by `make soak-hostile`; changes here are lost. -->\n# Soak: a hostile producer\n\n")
	fmt.Fprintf(&b, "`make soak-hostile MINUTES=%.0f` of seed %d, %s on %d cores (%s/%s, %s): ",
		hostileFlag.Minutes(), h.seed, took.Round(time.Second), runtime.NumCPU(), runtime.GOOS,
		runtime.GOARCH, runtime.Version())
	if len(wrong) == 0 {
		fmt.Fprintf(&b, "**exact, and below %d MiB**.\n\n", hostileMemory>>20)
	} else {
		fmt.Fprintf(&b, "**%d things were not as they should be**.\n\n", len(wrong))
	}
	fmt.Fprintf(&b, hostileIntro, hostileBatch, hostileMemory>>20, hostileLimit>>20, hostileBudget>>20,
		hostileRange>>20, hostileWindow>>20)
	packed, unpacked := h.fetched()
	fmt.Fprint(&b, "| Events acknowledged | Base with FINAL | Rollup 15 min | Rollup day | Stored by the ledger | "+
		"Gaps, overlaps | Fetched | Unpacked | Ratio |\n|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n")
	fmt.Fprintf(&b, "| %d | %d | %d | %d | %d | %d | %.1f MB | %.0f MB | %.0f |\n\n",
		v.Acked, v.Final, v.Rollup, v.RollupD, v.Stored,
		v.Gaps+v.Overlaps+v.Odd, packed/1e6, unpacked/1e6, unpacked/max(1, packed))
	fmt.Fprintf(&b,
		"The sink occupied %d MiB at most, of its whole life (VmHWM less what its program takes, %d MiB, which "+
			"the\nsystem takes back before it ends a process). ",
		(h.peak-h.program)>>20, h.program>>20)
	fmt.Fprint(&b, "From half of the time on:\n\n")
	h.samples.table(&b)
	for _, w := range wrong {
		fmt.Fprintf(&b, "\n* %s", w)
	}
	return b.Bytes()
}

const hostileIntro = `One website sends the largest events that callers may send, of which all repeats but the ids, in
batches of %d events, about as large as a sink unpacks at all, compressed by zstd, gzip and lz4 in
turn, each at its highest level; other websites send a few events besides. It never waits for
more than the sink to be some batches behind. The sink is a process with all lanes and %d MiB: the
collector is told %d MiB, as the chart does, ` +
	"`sink.max_memory` is %d MiB, `sink.max_bytes` %d MiB and `sink.window_memory`" + `
%d MiB; all else is as by default. The brokers are kfake, in the process of the test.

`
