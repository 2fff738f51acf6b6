package e2e

import (
	"context"
	"testing"

	"github.com/millrace/millrace/internal/testkit"
	"github.com/millrace/millrace/tests/harness"
)

const (
	connections = 8
	kills       = 3
)

// events is how many different ones are sent: 20,000 are hundreds of batches and many
// blocks of the sink already.
var events = func() int {
	if testkit.Strict() {
		return 100_000
	}
	return 20_000
}()

func TestEventsInBatchesSomeSentTwiceAreQueriedBackExactly(t *testing.T) {
	inBothModes(t, func(t *testing.T, s *harness.System) {
		client := newSender(s, events)
		if err := client.run(t.Context(), connections); err != nil {
			t.Fatal(err)
		}
		client.verify(t)
	})
}

func TestEventsAreQueriedBackExactlyWhenEdgeAndSinkAreKilledMeanwhile(t *testing.T) {
	inBothModes(t, func(t *testing.T, s *harness.System) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		client := newSender(s, events)
		sent := make(chan error, 1)
		go func() { sent <- client.run(ctx, connections) }()
		for i := range kills {
			if err := client.reached(ctx, (i+1)*events/(kills+1)); err != nil {
				t.Fatal(err)
			}
			victims := []*harness.Process{s.Process(harness.Edge)}
			if s.Mode == harness.Split {
				victims = append(victims, s.Process(harness.Sink))
			}
			for _, p := range victims {
				p.Kill(t)
			}
			harness.StartAll(t, victims...)
		}
		if err := <-sent; err != nil {
			t.Fatal(err)
		}
		client.verify(t)
		t.Logf("%d requests for %d events", client.attempts, events)
	})
}
