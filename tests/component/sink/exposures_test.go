package sink_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/adapter/kafka"
	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/resource/flag"
	"github.com/millrace/millrace/internal/resource/flag/exposure"
	"github.com/millrace/millrace/internal/resource/flag/flageval"
	"github.com/millrace/millrace/internal/resource/flag/flagset"
	"github.com/millrace/millrace/internal/tenant/managed"
	"github.com/millrace/millrace/internal/tenant/website"
	scene "github.com/millrace/millrace/tests/harness/stage"
)

// oneSalt is the salt of every day.
type oneSalt struct{}

func (oneSalt) Known(time.Time) []byte { return bytes.Repeat([]byte{0x5A}, 32) }

// teller is a collector as a query process has it.
type teller struct {
	*exposure.Collector

	end func(t *testing.T)
}

func newTeller(t *testing.T, cfg config.Kafka) *teller {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	metrics := prometheus.NewRegistry()
	sender, err := kafka.NewSender(cfg, kafka.SenderDeps{Client: "exposures", Log: log, Metrics: metrics})
	if err != nil {
		t.Fatal(err)
	}
	c := exposure.New(exposure.Config{}, exposure.Deps{Sender: sender, Salts: oneSalt{}, Log: log, Metrics: metrics})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx) }()
	return &teller{c, func(t *testing.T) {
		t.Helper()
		cancel()
		if err := errors.Join(<-done, c.Stop(t.Context()), sender.Close(t.Context())); err != nil {
			t.Error(err)
		}
	}}
}

// shownFlag is a flag with two variants, of which all exposures count.
func shownFlag(t *testing.T) *flagset.Flag {
	t.Helper()
	set, err := flagset.New("org_1", flagset.Mark{}, []*flag.Flag{{
		State: flag.Active, About: flag.About{Exposures: flag.Exposures{Mode: flag.ExposeAll, SamplePercent: 100}},
		Definition: flageval.Definition{
			Key: "checkout", Active: true, DefaultVariant: "one", OffVariant: "one",
			Variants: []flageval.Variant{{Key: "one", Value: []byte(`"1"`)}, {Key: "two", Value: []byte(`"2"`)}},
		},
	}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return set.Find("web_1", "checkout")
}

// Whoever tells of an exposure, and however often the topic has it, it is stored once; also
// by a sink that was stopped in between, and by one that begins anew.
func TestExposuresThroughTwoCollectorsAndAStoppedSinkCountOnce(t *testing.T) {
	t.Parallel()
	s := scene.New(t)
	settings := config.Default()
	settings.Kafka, settings.ClickHouse, settings.Sink = s.Kafka, s.ClickHouse, s.Sink
	settings.Sink.Lanes = []string{"exposures"}
	at, shown := time.Now().UTC().Truncate(24*time.Hour).Add(time.Minute), shownFlag(t)
	const users = 150
	tell := func(to *teller, n, variant int) {
		who := []string{fmt.Sprint("user-", n), fmt.Sprint("anon_", n), fmt.Sprint("user-", n, "@mail.example")}
		for _, id := range who {
			to.Expose(&exposure.Exposure{
				Website: &website.Website{Record: managed.Record{ID: "web_1", OrganizationID: "org_1"}},
				Flag:    shown, Variant: variant, UserID: id, Time: at.Add(time.Duration(n) * time.Second),
			})
		}
	}
	both := []*teller{newTeller(t, s.Kafka), newTeller(t, s.Kafka)}
	for n := range users {
		tell(both[n%2], n, n%3/2)
		if n == users/2 {
			startDaemon(t, settings)() // stops in the middle of it
		}
	}
	for n := range users {
		tell(both[(n+1)%2], n, n%3/2)
	}
	stop := startDaemon(t, settings)
	for _, to := range both {
		to.end(t)
	}
	stop()
	again := newTeller(t, s.Kafka) // a process that was started again remembers nothing
	for n := range users {
		tell(again, n, n%3/2)
	}
	again.end(t)
	stop = startDaemon(t, settings)
	s.CaughtUpPipeline(t, record.TopicExposures, kafka.ExposureGroup(s.Sink.Group))
	stop()
	for what, want := range map[string]uint64{
		"count() FROM flag_exposures": 3 * users, "count() FROM flag_exposures FINAL": 3 * users,
		"uniqExact(event_id) FROM flag_exposures":                                    3 * users,
		"countIf(variant = 'two') FROM flag_exposures":                               users,
		"countIf(length(anonymous_id) = 64 AND profile_id = '') FROM flag_exposures": users,
		"countIf(startsWith(profile_id, 'email:')) FROM flag_exposures":              users,
		"countIf(position(profile_id, '@') > 0) FROM flag_exposures":                 0,
	} {
		if got := s.Count(t, "(SELECT "+what+")"); got != want {
			t.Errorf("%s is %d, want %d", what, got, want)
		}
	}
}
