package exposure

import (
	"bytes"
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/contract/record/recordtest"
	"github.com/millrace/millrace/internal/pipeline/sendqueue"
	"github.com/millrace/millrace/internal/resource/flag"
	"github.com/millrace/millrace/internal/resource/flag/flageval"
	"github.com/millrace/millrace/internal/resource/flag/flagset"
	"github.com/millrace/millrace/internal/tenant/managed"
	"github.com/millrace/millrace/internal/tenant/website"
)

// noon is a time of exposures.
var noon = time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)

// told is what a test looks at of a record.
type told struct{ ID, Profile, Anonymous, Flag, Variant, Environment, Reason string }

// brokers stand in for Kafka: they acknowledge at once, or keep what they get while they
// are away.
type brokers struct {
	mu      sync.Mutex
	away    bool
	rejects error
	waiting []func(error)
	held    []told
	raw     [][]byte
	broken  error
}

func (b *brokers) Send(r *record.Record, done func(error)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var d record.Decoder
	var e record.Event
	if err := recordtest.Check(r); err != nil {
		b.broken = err
	}
	if err := d.DecodeEvent(r.Value, &e); err != nil {
		b.broken = err
		done(nil)
		return
	}
	b.held = append(b.held, told{
		string(e.ID), string(e.ProfileID), string(e.AnonymousID), string(e.Name),
		string(e.Exposure.Variant), string(e.Exposure.Environment), string(e.Exposure.Reason),
	})
	b.raw = append(b.raw, bytes.Clone(r.Value))
	if b.away {
		b.waiting = append(b.waiting, done)
		return
	}
	done(b.rejects)
}

// respond lets brokers answer from now on, with what they reject exposures with; nil takes
// them.
func (b *brokers) respond(rejects error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.away, b.rejects = false, rejects
	for _, done := range b.waiting {
		done(rejects)
	}
	b.waiting = nil
}

func (b *brokers) got(t *testing.T) []told {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.broken != nil {
		t.Errorf("a record breaks its contract: %v", b.broken)
	}
	return append([]told{}, b.held...)
}

// salted knows the salt of the day of noon.
type salted []byte

func (s salted) Known(t time.Time) []byte {
	if record.Day(t.UnixMilli()) != record.Day(noon.UnixMilli()) {
		return nil
	}
	return s
}

var salt = salted(bytes.Repeat([]byte{0xA5}, 32))

func newCollector(p sendqueue.Sender, bytes int) *Collector {
	return New(Config{MaxBufferedBytes: bytes}, Deps{
		Sender: p, Salts: salt, Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(),
	})
}

// scene is a collector in front of brokers.
type scene struct {
	*Collector

	brokers *brokers
	end     func() error
}

// newScene starts a collector; its end is part of the test.
func newScene(t *testing.T, away bool, bytes int) *scene {
	t.Helper()
	s := &scene{brokers: &brokers{away: away}}
	s.Collector = newCollector(s.brokers, bytes)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	s.end = sync.OnceValue(func() error {
		cancel()
		return <-done
	})
	t.Cleanup(func() { _ = s.end() })
	return s
}

// expectFates compares those that are not 0.
func (s *scene) expectFates(t *testing.T, want map[string]int) {
	t.Helper()
	got := map[string]int{}
	for i, name := range fates {
		if n := testutil.ToFloat64(s.metrics[i]); n > 0 {
			got[name] = int(n)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("fates (-want +got):\n%s", diff)
	}
}

// aFlag has a rollout and, in staging, none.
func aFlag(tb testing.TB, mode flag.ExposureMode, percent int) *flagset.Flag {
	tb.Helper()
	everybody := []flageval.Rule{{Serve: flageval.Serve{Variant: "on"}}}
	is := &flag.Flag{
		State: flag.Active,
		About: flag.About{Exposures: flag.Exposures{Mode: mode, SamplePercent: percent}},
		Definition: flageval.Definition{
			Key: "new-nav", Active: true, DefaultVariant: "off", OffVariant: "off",
			Variants:     []flageval.Variant{{Key: "on", Value: []byte("true")}, {Key: "off", Value: []byte("false")}},
			Rules:        []flageval.Rule{{Serve: flageval.Serve{Rollout: &flageval.Rollout{Variant: "on", Percentage: 50}}}},
			Environments: map[string]flageval.Override{"staging": {Rules: &everybody}},
		},
	}
	set, err := flagset.New("org_1", flagset.Mark{}, []*flag.Flag{is}, nil)
	if err != nil {
		tb.Fatal(err)
	}
	return set.Find("web_1", "new-nav")
}

// anExposure is one of a user for whom a percentage decided.
func anExposure(tb testing.TB) *Exposure {
	tb.Helper()
	return &Exposure{
		Website: &website.Website{Record: managed.Record{ID: "web_1", OrganizationID: "org_1"}},
		Flag:    aFlag(tb, flag.ExposeSplit, 100), Reason: flageval.ByRollout, UserID: "user-1", Time: noon,
	}
}
