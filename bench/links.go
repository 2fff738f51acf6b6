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
)

const (
	// manyLinks is how many links a host knows whose store is asked, and someLinks how
	// many otherwise: where only a redirect is measured, memory is not.
	manyLinks = 1_000_000
	someLinks = 10_000
	// linkRate is how many a second are opened at fixed moments.
	linkRate = 20_000
)

// linkMeasures are about the host of short links.
var linkMeasures = []*measure{
	{
		name: "bare302", role: "bare302", batch: 1, links: someLinks, unit: "req/s", run: underLoad,
		help: "bare fiber answering 302 with the same headers",
	},
	{
		name: "redirect", role: "redirect", batch: 1, links: someLinks, unit: "req/s", run: underLoad,
		help: "short links opened, clicks thrown away where they are handed over",
	},
	{
		name: "clicks", role: "clicks", batch: 1, links: someLinks, unit: "clicks/s", run: acknowledged,
		help: "short links opened, clicks acknowledged by the broker meanwhile",
	},
	{
		name: "manylinks", role: "manylinks", batch: 1, links: manyLinks, unit: "req/s", run: openLinks,
		help: "one of a million short links opened at fixed moments, clicks acknowledged by the broker",
	},
	{name: "linkp99", unit: "ms", help: "p99 of that, from the moment at which a request was to be sent"},
	{name: "awayp99", unit: "ms", help: "the same while the metadata store is away"},
	{name: "linkfill", unit: "s", help: "the million links read from SQLite"},
	{name: "linkpeak", unit: "bytes", help: "memory resident at most, filling and serving"},
	{name: "linkp99allowed", unit: "ms", help: "allowed for the first"},
	{name: "awayp99allowed", unit: "ms", help: "for the second"},
	{name: "linkfillallowed", unit: "s", help: "for the third"},
	{name: "linkpeakallowed", unit: "bytes", help: "for the fourth"},
	{
		name: "linktypes", unit: "answers/s", run: askTypes, once: true,
		help: "each type about a link of ten million clicks, alone and fresh; 7, 30 and 90 days, UTC and Europe/Berlin",
	},
	{name: "typep95", unit: "ms", help: "p95 of the slowest of them"},
	{name: "typep95allowed", unit: "ms", help: "allowed for that"},
}

// linkRatios are what must hold of them.
var linkRatios = []ratio{
	{"L1", "redirect", "bare302", 0.80, "redirects up to handing over the click, against bare fiber"},
	{"L2", "clicks", "bare302", 0.65, "redirects whose clicks are acknowledged, against bare fiber"},
	{"L3", "linkp99allowed", "linkp99", 1, "p99 allowed against that of 20,000 redirects a second over a million links"},
	{"L3", "awayp99allowed", "awayp99", 1, "the same, the metadata store away"},
	{"L4", "linkpeakallowed", "linkpeak", 1, "memory allowed against memory used, a million links"},
	{"L4", "linkfillallowed", "linkfill", 1, "time allowed against time taken to read them"},
	{
		"L5", "typep95allowed", "typep95", 1,
		"p95 allowed against that of the slowest type about a link of ten million clicks",
	},
}

// linksAllowed are the limits of what openLinks measures.
var linksAllowed = map[string]float64{
	"linkp99allowed": 5, "awayp99allowed": 10, "linkfillallowed": 10, "linkpeakallowed": 512 << 20,
}

// acknowledged saturates a host of short links, and counts the clicks that are in the
// topic when the load ends.
func acknowledged(ctx context.Context, m *measure, e *surroundings) (r result, err error) {
	server, err := spawn(ctx, coreMeasured, e.job(m))
	if err != nil {
		return result{}, err
	}
	defer func() { err = errors.Join(err, server.end()) }()
	before, err := e.clicks(ctx)
	if err != nil {
		return result{}, err
	}
	if r, err = saturate(ctx, server, m, e.settings); err != nil {
		return result{}, err
	}
	after, err := e.clicks(ctx)
	r.Events = after - before
	return r, err
}

// clicks is how many are in the topic.
func (e *surroundings) clicks(ctx context.Context) (n float64, err error) {
	topic := kafka.TopicName(kafkaSettings(e.around.Brokers), record.TopicClicks)
	err = admin(e.around.Brokers, func(adm *kadm.Client) error {
		ends, err := adm.ListEndOffsets(ctx, topic)
		if err != nil {
			return err
		}
		ends.Each(func(o kadm.ListedOffset) { n += float64(o.Offset) })
		return ends.Error()
	})
	return n, err
}

// openLinks opens links at fixed moments, first as always, then with the store away.
func openLinks(ctx context.Context, m *measure, e *surroundings) (r result, err error) {
	store, err := linkStore(ctx, m.links)
	if err != nil {
		return result{}, err
	}
	j := e.job(m)
	j.Folder = store
	server, err := spawn(ctx, coreMeasured, j)
	if err != nil {
		return result{}, err
	}
	defer func() { err = errors.Join(err, server.end()) }()
	load := job{
		Role: "open", Addr: server.Addr, Batch: 1, Links: m.links, Rate: linkRate, For: latencyRun, Lines: connections,
	}
	if r, err = loop(ctx, coreAround, load); err != nil {
		return result{}, err
	}
	if err := syscall.Kill(server.cmd.Process.Pid, storeGone); err != nil {
		return result{}, fmt.Errorf("taking the store away: %w", err)
	}
	away, err := loop(ctx, coreAround, load)
	if err != nil {
		return result{}, err
	}
	r.Away, r.FillSeconds = away.Latency, server.FillSeconds
	r.PeakBytes, err = peakBytesOf(server.cmd.Process.Pid)
	return r, err
}

// storeGone takes the store away from a host of short links.
const storeGone = syscall.SIGUSR1

// pollEvery is how often somebody looks whether the links are read.
const pollEvery = 10 * time.Millisecond
