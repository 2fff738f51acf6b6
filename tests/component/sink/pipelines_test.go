package sink_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/adapter/kafka"
	"github.com/millrace/millrace/internal/app/sink"
	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/platform/lifecycle"
	"github.com/millrace/millrace/internal/platform/telemetry"
	"github.com/millrace/millrace/internal/testkit"
	scene "github.com/millrace/millrace/tests/harness/stage"
)

// runDaemon runs the sink daemon's components until the test ends.
func runDaemon(t *testing.T, s config.Settings) {
	t.Helper()
	t.Cleanup(startDaemon(t, s))
}

// startDaemon runs them until stop is called.
func startDaemon(t *testing.T, s config.Settings) (stop func()) {
	t.Helper()
	tel, ready := telemetry.Discard(), &lifecycle.Readiness{}
	components, err := sink.Components(t.Context(), s, tel, ready)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() {
		ended <- lifecycle.Run(ctx, lifecycle.Options{Log: tel.Log, Readiness: ready, Grace: s.Shutdown.Grace}, components...)
	}()
	return func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the sink ended with %v", err)
		}
	}
}

var errNotYet = errors.New("not everything is stored")

// A backfill goes its own way, at its own pace: live events pass it by.
func TestABackfillDoesNotHoldLiveEventsUp(t *testing.T) {
	t.Parallel()
	s := scene.New(t)
	settings := config.Default()
	settings.Kafka, settings.ClickHouse, settings.Sink = s.Kafka, s.ClickHouse, s.Sink
	settings.Sink.Backfill.Rate, settings.Sink.MaxRows = 100, 100
	settings.Sink.DrainBudget = time.Second // the test ends with most of it still to do
	const old, live = 3000, 300
	var events []scene.Event
	for n := range old {
		events = append(events,
			scene.Event{ID: fmt.Sprint("old-", n), Topic: record.TopicEventsBackfill, At: time.Now().AddDate(0, -n%3, 0)})
	}
	s.Produce(t, events...)
	runDaemon(t, settings)
	backfilled := func() uint64 {
		return s.Count(t, "(SELECT count() FROM events WHERE _topic = '"+record.TopicEventsBackfill+"')")
	}
	testkit.Eventually(t, time.Minute, func() error {
		if backfilled() == 0 {
			return errNotYet
		}
		return nil
	})

	events = events[:0]
	for n := range live {
		events = append(events, scene.Event{ID: fmt.Sprint("live-", n)})
	}
	s.Produce(t, events...)
	testkit.Eventually(t, time.Minute, func() error {
		if s.Count(t, "(SELECT count() FROM events WHERE _topic = '"+record.TopicEvents+"')") < live {
			return errNotYet
		}
		return nil
	})
	if got := backfilled(); got == old {
		t.Error("the backfill was over before the live events came; the test shows nothing")
	}
	for group, topic := range map[string]string{
		s.Sink.Group: record.TopicEvents, kafka.BackfillGroup(s.Sink.Group): record.TopicEventsBackfill,
	} {
		testkit.Eventually(t, time.Minute, func() error {
			committed, err := s.Offsets.Committed(t.Context(), group, topic)
			if err == nil && len(committed) == 0 {
				err = fmt.Errorf("group %s has committed nothing for %s", group, topic)
			}
			return err
		})
	}
}

// One process may run one pipeline alone.
func TestAPipelineCanRunAlone(t *testing.T) {
	t.Parallel()
	s := scene.New(t)
	settings := config.Default()
	settings.Kafka, settings.ClickHouse, settings.Sink = s.Kafka, s.ClickHouse, s.Sink
	settings.Sink.Lanes = []string{"backfill"}
	s.Produce(t, scene.Event{ID: "live"}, scene.Event{ID: "old", Topic: record.TopicEventsBackfill})
	runDaemon(t, settings)
	testkit.Eventually(t, time.Minute, func() error {
		if s.Count(t, "(SELECT count() FROM events)") == 0 {
			return errNotYet
		}
		return nil
	})
	if got := s.Count(t, "(SELECT count() FROM events WHERE event_id = 'live')"); got != 0 {
		t.Error("the live event was stored too")
	}
}
