package main

import (
	"context"
	"fmt"
	"time"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/ch-go/proto"
	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/millrace/millrace/internal/adapter/clickhouse"
	"github.com/millrace/millrace/internal/adapter/kafka"
	"github.com/millrace/millrace/internal/contract/record"
)

// usage is the processor time that each process has used so far, in seconds.
type usage struct{ edge, sink, clickhouse, broker float64 }

func (p *plant) usage() (u usage, err error) {
	for c, into := range map[*child]*float64{
		p.edge: &u.edge, p.sink: &u.sink, p.clickhouse: &u.clickhouse, p.broker: &u.broker,
	} {
		if c == nil {
			continue // somebody else's broker
		}
		if *into, err = c.cpuSeconds(); err != nil {
			return usage{}, err
		}
	}
	return u, nil
}

func (u usage) less(v usage) usage {
	return usage{u.edge - v.edge, u.sink - v.sink, u.clickhouse - v.clickhouse, u.broker - v.broker}
}

// volume is how much of something there is.
type volume struct{ rows, bytes int64 }

func (v volume) each() float64 {
	if v.rows == 0 {
		return 0
	}
	return float64(v.bytes) / float64(v.rows)
}

// kinds are the topics of events, and the tables that their records and what views
// make of them are in.
var kinds = []struct {
	topic, name string
	tables      []string // the first is the base
}{
	{
		record.TopicEvents, "events",
		[]string{"events", "events_15m", "events_1d", "traffic_15m", "traffic_1d", "sessions_15m", "views_1d", "custom_15m"},
	},
	{record.TopicVitals, "measurements", []string{"vitals", "vitals_15m"}},
	{record.TopicErrors, "errors", []string{"errors", "errors_15m"}},
	{record.TopicIdentities, "identify calls", []string{"identities", "profiles", "profile_traits", "aliases"}},
}

// topics returns the records and bytes of each topic, on one replica.
func (p *plant) topics(ctx context.Context) (map[string]volume, error) {
	all := map[string]volume{}
	err := admin(p.kafka.Brokers, func(adm *kadm.Client) error {
		dirs, err := adm.DescribeAllLogDirs(ctx, nil)
		if err != nil {
			return fmt.Errorf("asking for the size of the log: %w", err)
		}
		for _, k := range kinds {
			name := kafka.TopicName(p.kafka, k.topic)
			ends, err := adm.ListEndOffsets(ctx, name)
			if err != nil {
				return fmt.Errorf("asking for the ends of %s: %w", name, err)
			}
			var v volume
			ends.Each(func(o kadm.ListedOffset) { v.rows += o.Offset })
			dirs.Each(func(d kadm.DescribedLogDir) {
				d.Topics.Each(func(at kadm.DescribedLogDirPartition) {
					if at.Topic == name {
						v.bytes += at.Size
					}
				})
			})
			all[k.topic] = v
		}
		return nil
	})
	return all, err
}

// quiet returns when the server has nothing left to merge by itself.
func (p *plant) quiet(ctx context.Context) error {
	const looks = 6 // in a row, half a second apart
	still := 0
	return p.until(ctx, func() (bool, error) {
		running, err := p.ask(ctx, "SELECT 'merges', toInt64(count()), toInt64(0) FROM system.merges")
		if err != nil || running["merges"].rows > 0 {
			still = 0
			return false, err
		}
		still++
		return still == looks, nil
	})
}

// merged merges every table to one part of each month, and returns what there is
// then.
func (p *plant) merged(ctx context.Context) (map[string]volume, error) {
	c, err := clickhouse.Dial(ctx, p.tables)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	for _, k := range kinds {
		for _, table := range k.tables {
			if err := c.Do(ctx, ch.Query{Body: "OPTIMIZE TABLE " + table + " FINAL"}); err != nil {
				return nil, fmt.Errorf("merging %s: %w", table, err)
			}
		}
	}
	return p.ask(ctx, "SELECT table, toInt64(sum(rows)), toInt64(sum(bytes_on_disk)) FROM system.parts\n"+
		"WHERE active AND database = currentDatabase() GROUP BY table")
}

// ask returns the rows of a statement, a name and two Int64, by their name.
func (p *plant) ask(ctx context.Context, sql string) (map[string]volume, error) {
	c, err := clickhouse.Dial(ctx, p.tables)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	var names proto.ColStr
	var rows, bytes proto.ColInt64
	all := map[string]volume{}
	err = c.Do(ctx, ch.Query{
		Body:   sql,
		Result: proto.Results{{Data: &names}, {Data: &rows}, {Data: &bytes}},
		OnResult: func(context.Context, proto.Block) error {
			for i := range rows {
				all[names.Row(i)] = volume{rows[i], bytes[i]}
			}
			return nil
		},
	})
	return all, err
}

// until asks every half second, for five minutes at most.
func (p *plant) until(ctx context.Context, done func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	tick := time.NewTicker(time.Second / 2)
	defer tick.Stop()
	for {
		if ok, err := done(); ok || err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
