package main

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/millrace/millrace/internal/adapter/kafka"
	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/platform/telemetry"
)

// outage stops ClickHouse for a while, with records coming all the time, and
// measures how fast the sink stores once it is back, until nothing is left. Everything
// shares both cores, as in the measure that the live rate is a part of.
func outage(ctx context.Context, m *measure, e *surroundings) (r result, err error) {
	if err := errors.Join(e.around.pin(coresBoth), e.clickhouse.pin(coresBoth)); err != nil {
		return result{}, err
	}
	j := e.job(m)
	j.Rate, j.For = e.liveRate, e.outage
	if err := j.table(ctx); err != nil {
		return result{}, err
	}
	if err := e.clickhouse.signal(syscall.SIGSTOP); err != nil {
		return result{}, err
	}
	away := true
	back := func() error {
		if !away {
			return nil
		}
		away = false
		return e.clickhouse.signal(syscall.SIGCONT)
	}
	defer func() { err = errors.Join(err, back()) }()
	live := j
	live.Role = "live"
	publisher, err := spawn(ctx, coresBoth, live)
	if err != nil {
		return result{}, err
	}
	defer func() { err = errors.Join(err, publisher.end()) }()
	select {
	case <-time.After(e.outage):
	case <-ctx.Done():
		return result{}, ctx.Err()
	}
	if err := back(); err != nil {
		return result{}, err
	}
	r, err = loop(ctx, coresBoth, j)
	r.Live = float64(j.Rate)
	return r, err
}

const (
	// unmeasured is the live rate, in records a second, where the sink's peak was not measured in the same round.
	unmeasured = 20_000
	// partOfPeak is how many times the live rate goes into that peak.
	partOfPeak = 5
)

// live is how many records a second go on during an outage of a round: a fifth of what the
// sink stores at its peak, unless told. docs/guides/capacity.md loads no process with more
// than that in the mean of a day.
func (f *figures) live(round int) int {
	switch peak, ok := f.rates["sinkshared"][round]; {
	case f.liveRate > 0:
		return f.liveRate
	case ok:
		return int(peak / partOfPeak)
	}
	return unmeasured
}

// publishLive publishes so many records a second until it is ended.
func publishLive(ctx context.Context, j job, say func(result) error) error {
	t := telemetry.Discard()
	producer, err := kafka.NewProducer(kafkaSettings(j.Brokers), kafka.ProducerDeps{
		Client: "bench", Deadline: time.Minute, Log: t.Log, Metrics: t.Registry,
	})
	if err != nil {
		return err
	}
	defer producer.Close(context.WithoutCancel(ctx))
	if err := say(result{}); err != nil {
		return err
	}
	const perSecond = 10
	r := newRecorder()
	defer r.close()
	tick := time.NewTicker(time.Second / perSecond)
	defer tick.Stop()
	for first := 2 << 30; ; first += j.Rate / perSecond {
		recs, err := r.records(ctx, first, j.Rate/perSecond, websites)
		if err == nil {
			err = producer.Publish(ctx, recs)
		}
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

const (
	// leftover is how many seconds of the live rate may be left where the sink has caught up.
	leftover = 5
	// patienceOfOutages is how many times the outage a sink is waited for that does not catch up.
	patienceOfOutages = 4
)

// loopCatchUp stores what was published while ClickHouse was away, and what comes
// meanwhile, until no more than leftover seconds of it are left: as long a cycle over all
// partitions may take. A sink that has not caught up after patienceOfOutages times the
// outage says how fast it stored until then.
func loopCatchUp(ctx context.Context, j job, say func(result) error) error {
	j.Seen = windowKeys // it begins behind them, and behind what other measures read
	s, err := j.startSink(ctx)
	if err != nil {
		return err
	}
	var end int64
	if err := admin(j.Brokers, func(adm *kadm.Client) error {
		ends, err := adm.ListEndOffsets(ctx, record.TopicEvents)
		ends.Each(func(o kadm.ListedOffset) { end += o.Offset })
		return err
	}); err != nil {
		return err
	}
	backlog := int(end) - windowKeys
	if backlog < 2*leftover*j.Rate {
		return fmt.Errorf("%d records wait after the outage: nothing to catch up with", backlog)
	}
	begin, cpu, first := time.Time{}, time.Duration(0), 0
	impatient := time.Now().Add(patienceOfOutages * j.For)
	return s.watch(ctx, func() (bool, error) {
		stored, err := counter(s.registry, "millrace_sink_records_total", "stored")
		if err != nil {
			return false, err
		}
		if first == 0 && stored >= backlog/tenth {
			first, begin, cpu = stored, time.Now(), cpuTime()
		}
		lag, err := counter(s.registry, "millrace_sink_lag_records", "")
		behind := stored < backlog || lag > leftover*j.Rate
		if err != nil || first == 0 || behind && time.Now().Before(impatient) {
			return false, err
		}
		return true, say(measured(stored-first, begin, cpu))
	})
}
