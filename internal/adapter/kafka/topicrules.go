package kafka

import (
	"fmt"
	"strconv"
	"time"
)

// topicRule is a row of what is asked of topics. Of the rows of one setting the first
// one that finds something counts.
type topicRule struct {
	setting  string
	severity Severity
	wrong    func(c *compared) bool
	what     func(c *compared) string // follows the topic's name; nil means "has x=y, not z"
	why      string
	do       func(c *compared) string // nil means to set it as millrace creates it
}

// The settings that are looked at, beside the number of replicas.
const (
	replicas      = "replicas"
	minInsyncKey  = "min.insync.replicas"
	cleanupKey    = "cleanup.policy"
	timestampKey  = "message.timestamp.type"
	uncleanKey    = "unclean.leader.election.enable"
	retentionKey  = "retention.ms"
	sizeKey       = "retention.bytes"
	rollKey       = "segment.ms"
	maxMessageKey = "max.message.bytes"
)

// topicRules is the one table of them: daemons reject or warn by it, and millrace doctor
// tells of it.
//
// A time of the log's own (LogAppendTime) loses nothing. But windows are made again from
// the first record whose time is that of their oldest bucket, so with a broker whose clock
// is behind the edges' they lack events, and a resend is counted twice.
var topicRules = []topicRule{
	{
		replicas, Breaks, func(c *compared) bool { return c.have.Replicas == 1 && c.want.Replicas > 1 }, fewReplicas,
		"acknowledged records are lost with one disk", moreReplicas,
	},
	{
		replicas, Weakens, func(c *compared) bool { return c.have.Replicas < c.want.Replicas }, fewReplicas,
		"acknowledged records are lost with the disks of that many brokers", moreReplicas,
	},
	{
		minInsyncKey, Rejects, func(c *compared) bool { return c.number(minInsyncKey) > int64(c.have.Replicas) },
		func(c *compared) string {
			return fmt.Sprintf("has %s=%d and %d replicas", minInsyncKey, c.number(minInsyncKey), c.have.Replicas)
		},
		"every request with events returns 503",
		func(c *compared) string { return c.alter(minInsyncKey, strconv.Itoa(min(minInsync, c.have.Replicas))) },
	},
	{
		minInsyncKey, Weakens,
		func(c *compared) bool { return c.have.Replicas > 1 && c.number(minInsyncKey) == int64(c.have.Replicas) },
		func(c *compared) string {
			return fmt.Sprintf("has %s=%d and no more replicas", minInsyncKey, c.number(minInsyncKey))
		},
		"the restart of one broker stops ingestion", fewerInsync,
	},
	{
		minInsyncKey, Breaks,
		func(c *compared) bool { return c.have.Replicas >= minInsync && c.below(minInsyncKey, minInsync) },
		needs(minInsyncKey, minInsync),
		"records that only one broker acknowledged are lost with its disk",
		func(c *compared) string { return c.alter(minInsyncKey, strconv.Itoa(minInsync)) },
	},
	{
		cleanupKey, Breaks, func(c *compared) bool { return compacts(c.have) && !compacts(c.want) }, nil,
		"compaction removes records, including acknowledged events that are not stored yet or that a replay needs", nil,
	},
	{
		cleanupKey, Weakens, func(c *compared) bool { return policies(c.have) != policies(c.want) }, nil,
		"the topic keeps more or fewer records than its readers rely on", nil,
	},
	{
		uncleanKey, Breaks,
		func(c *compared) bool { return c.have.Replicas > 1 && c.have.Settings[uncleanKey] == "true" }, nil,
		"a replica that lags behind may become leader, and acknowledged records are lost", nil,
	},
	{
		retentionKey, Breaks, func(c *compared) bool { return c.keeps() >= 0 && c.keeps() < c.window },
		func(c *compared) string {
			return fmt.Sprintf("keeps records for %s, but sink.window is %s", c.keeps(), c.window)
		},
		"a starting sink cannot rebuild its deduplication window, and counts duplicates twice", nil,
	},
	{
		retentionKey, Weakens, func(c *compared) bool { return c.below(retentionKey, c.wanted(retentionKey)) },
		func(c *compared) string {
			wanted := time.Duration(c.wanted(retentionKey)) * time.Millisecond
			return fmt.Sprintf("keeps records for %s; millrace creates it with %s", c.keeps(), wanted)
		},
		"sinks that are down for longer lose events, and a lost ClickHouse cannot be rebuilt further back", nil,
	},
	{
		sizeKey, Weakens, func(c *compared) bool { return c.number(sizeKey) >= 0 },
		func(c *compared) string {
			return fmt.Sprintf("keeps at most %d bytes of a partition, whatever the age of the records", c.number(sizeKey))
		},
		"at a high rate records are removed before " + retentionKey + ", and unstored records are lost",
		func(c *compared) string { return c.alter(sizeKey, "-1") },
	},
	{
		timestampKey, Weakens, func(c *compared) bool { return c.have.Settings[timestampKey] == "LogAppendTime" }, nil,
		"replays and windows find offsets by the edge's receive time; " +
			"if a broker's clock is slow, duplicates count twice", nil,
	},
	{
		maxMessageKey, Rejects, func(c *compared) bool { return c.below(maxMessageKey, c.wanted(maxMessageKey)) },
		func(c *compared) string { return needs(maxMessageKey, c.wanted(maxMessageKey))(c) },
		"the broker rejects large batches of the edge, and requests with their events return 503", nil,
	},
}

func needs(setting string, least int64) func(*compared) string {
	return func(c *compared) string {
		return fmt.Sprintf("has %s=%d, but needs %d", setting, c.number(setting), least)
	}
}

func fewReplicas(c *compared) string {
	return fmt.Sprintf("has %d replicas, but kafka.replication is %d", c.have.Replicas, c.want.Replicas)
}

func moreReplicas(*compared) string {
	return "add replicas with kafka-reassign-partitions.sh, or correct kafka.replication"
}

// fewerInsync leaves two copies of what is acknowledged: one less of two would be one.
func fewerInsync(c *compared) string {
	if c.have.Replicas <= minInsync {
		return "add a replica with kafka-reassign-partitions.sh"
	}
	return c.alter(minInsyncKey, strconv.Itoa(c.have.Replicas-1))
}
