package watching

import (
	"testing"

	"github.com/millrace/millrace/internal/testkit"
	"github.com/millrace/millrace/tests/harness"
)

func TestMain(m *testing.M) { harness.MainBeside(m, 4) }

// TestTheProductCanBeWatched looks at one running system from several sides: to
// start one takes longer than to look.
func TestTheProductCanBeWatched(t *testing.T) {
	if testing.Short() {
		t.Skip("left out under -short: runs programs against real servers")
	}
	spans, links := newCollector(t), testkit.FreeAddr(t)
	s := harness.New(t, harness.Split, harness.Options{Settings: map[string]string{
		"PROBE_INTERVAL": "1s", "SINK_RECONCILE_INTERVAL": "1s", "TRACE_ENDPOINT": spans.url, "TRACE_RATIO": "0",
		"PROXY_TRUSTED": "127.0.0.1", // whose traceparent counts
		"LINK_LISTEN":   links,
	}})
	t.Run("what takes its time", func(t *testing.T) { // spans are sent every five seconds, probes every second
		for name, look := range map[string]func(*testing.T){
			"an event and its trace":    func(t *testing.T) { followAnEvent(t, s, spans) },
			"a query and its trace":     func(t *testing.T) { followAQuery(t, s, spans) },
			"the probe sees its events": func(t *testing.T) { checkProbes(t, s) },
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				look(t)
			})
		}
	})
	t.Run("the probe is nobody's", func(t *testing.T) { isApart(t, s) })
	t.Run("what is asked for is exported", func(t *testing.T) { exportsAll(t, s, links) })
}
