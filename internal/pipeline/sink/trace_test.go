package sink

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/pipeline/sink/buffer"
	"github.com/millrace/millrace/internal/platform/telemetry/telemetrytest"
)

// traceparent is the context of the n-th request; only sampled ones are traced.
func traceparent(n int, sampled bool) []byte {
	flags := "00"
	if sampled {
		flags = "01"
	}
	return fmt.Appendf(nil, "00-%032x-%016x-%s", n, n, flags)
}

func TestARangeContinuesTheFirstTraceAndLinksToTheOthers(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name    string
		headers [][]byte
		parent  string // trace id; empty for no span
		links   int
	}{
		{"nothing traced", [][]byte{nil, nil}, "", 0},
		{"not sampled", [][]byte{traceparent(1, false)}, "", 0},
		{"malformed", [][]byte{[]byte("nonsense")}, "", 0},
		{
			"one request of several events",
			[][]byte{nil, traceparent(7, true), traceparent(7, true)},
			fmt.Sprintf("%032x", 7), 0,
		},
		{
			"three requests",
			[][]byte{traceparent(2, true), traceparent(3, true), traceparent(2, true), traceparent(4, true)},
			fmt.Sprintf("%032x", 2), 2,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			recorder := telemetrytest.New(t)
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(part)
				records := make([]buffer.Record, len(tc.headers))
				for i, h := range tc.headers {
					records[i] = anEvent(fmt.Sprint("e", i), noon, noon)
					records[i].Traceparent = h
				}
				w.produce(part, records...)
				s := newSink(t, testConfig(), w)
				s.deps.Tracer = recorder.Tracer
				stop := start(t, s)
				time.Sleep(testConfig().MaxWait + time.Second) //nolint:forbidigo // fake time
				if err := stop(); err != nil {
					t.Fatal(err)
				}
			})
			var want []telemetrytest.Span
			if tc.parent != "" {
				want = []telemetrytest.Span{
					{Name: "INSERT " + part.Topic, TraceID: tc.parent},
					{Name: "store " + part.Topic, TraceID: tc.parent, Links: tc.links},
				}
			}
			if diff := cmp.Diff(want, recorder.Ended()); diff != "" {
				t.Errorf("spans (-want +got):\n%s", diff)
			}
		})
	}
}
