package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/ch-go/proto"

	"github.com/millrace/millrace/internal/adapter/clickhouse"
	"github.com/millrace/millrace/internal/adapter/kafka"
	"github.com/millrace/millrace/internal/contract/record"
)

// loopEngine has ClickHouse's own Kafka engine read the topic into the same
// tables: no deduplication, at least once, with the settings its manual gives for
// throughput. Records are taken apart as JSON by the server.
func loopEngine(ctx context.Context, j job, say func(result) error) error {
	if err := j.table(ctx); err != nil {
		return err
	}
	cfg := j.clickHouse()
	queue := fmt.Sprintf(`CREATE TABLE queue (owner String, organization String, website String, ts Int64, receivedAt Int64, name String, type String,
		id String, anonymousId String, sessionId String, profileId String, path String, namespace String, source String, properties String, v UInt8)
		ENGINE = Kafka SETTINGS kafka_broker_list = '%s', kafka_topic_list = '%s', kafka_group_name = '%s', kafka_format = 'JSONEachRow',
		kafka_num_consumers = 1, kafka_max_block_size = 100000, kafka_poll_max_batch_size = 100000, kafka_flush_interval_ms = 1000`,
		strings.Join(j.Brokers, ","), kafka.TopicName(kafkaSettings(j.Brokers), record.TopicEvents), j.Database)
	if err := execute(ctx, cfg, queue,
		`CREATE MATERIALIZED VIEW queue_mv TO events AS SELECT owner AS owner_id, organization AS organization_id,
		website AS website_id, toDate(fromUnixTimestamp64Milli(ts, 'UTC')) AS event_date, fromUnixTimestamp64Milli(ts, 'UTC') AS event_time,
		fromUnixTimestamp64Milli(receivedAt, 'UTC') AS received_at, bitNot(toUInt64(receivedAt)) AS received_at_inv, name, type,
		sipHash64(owner, id) AS event_key, id AS event_id, anonymousId AS anonymous_id, sessionId AS session_id, profileId AS profile_id,
		path, namespace, source, properties, _topic, toUInt16(_partition) AS _partition, toInt64(_offset) AS _offset, v AS schema_v FROM queue`); err != nil {
		return err
	}
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	begin, cpu, first := time.Time{}, time.Duration(0), 0
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
		stored, err := countRows(ctx, j)
		if err != nil {
			return err
		}
		if first == 0 && stored >= j.Rows/tenth {
			first, begin, cpu = stored, time.Now(), cpuTime()
		}
		if stored < j.Rows {
			continue
		}
		r := measured(stored-first, begin, cpu)
		if err := execute(ctx, cfg, "DROP VIEW queue_mv SYNC", "DROP TABLE queue SYNC"); err != nil {
			return err
		}
		return say(r)
	}
}

func countRows(ctx context.Context, j job) (int, error) {
	c, err := clickhouse.Dial(ctx, j.clickHouse())
	if err != nil {
		return 0, err
	}
	defer c.Close()
	var n proto.ColUInt64
	err = c.Do(ctx, ch.Query{
		Body:   "SELECT sum(rows) AS n FROM system.parts WHERE active AND database = currentDatabase() AND table = 'events'",
		Result: proto.Results{{Name: "n", Data: &n}},
	})
	if err != nil || n.Rows() == 0 {
		return 0, err
	}
	return int(n.Row(0)), nil
}
