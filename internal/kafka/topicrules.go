package kafka

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/millrace/millrace/internal/config"
)

// Severity says what comes of a topic that is not as it should be. Values are labels of
// a metric.
type Severity string

// The severities.
const (
	// Breaks: what was acknowledged may be lost, or counted twice. Edge and sink are not
	// ready with it, unless kafka.allow_weak_topics is set.
	Breaks Severity = "breaks"
	// Refuses: records are refused, and whoever sent them is told.
	Refuses Severity = "refuses"
	// Weakens: there is less reserve than there could be, or one more failure breaks it.
	Weakens Severity = "weakens"
)

// Defect is a setting of a topic that is not as it should be.
type Defect struct {
	// Topic is its name without prefix.
	Topic string
	// Setting is what is wrong, in the broker's words, or replicas.
	Setting  string
	Severity Severity
	// What is wrong, and Why it matters, each in one sentence; Do is the command that
	// makes it good.
	What, Why, Do string
}

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
	maxMessageKey = "max.message.bytes"
)

// topicRules is the one table of them: daemons refuse or warn by it, and millrace doctor
// tells of it.
//
// A time of the log's own (LogAppendTime) loses nothing. But windows are made again from
// the first record whose time is that of their oldest bucket, so with a broker whose clock
// is behind the edges' they lack events, and a resend is counted twice.
var topicRules = []topicRule{
	{
		replicas, Breaks, func(c *compared) bool { return c.have.Replicas == 1 && c.want.Replicas > 1 }, fewReplicas,
		"what was acknowledged is lost with one disk", moreReplicas,
	},
	{
		replicas, Weakens, func(c *compared) bool { return c.have.Replicas < c.want.Replicas }, fewReplicas,
		"what was acknowledged is lost with the disks of as many brokers", moreReplicas,
	},
	{
		minInsyncKey, Refuses, func(c *compared) bool { return c.number(minInsyncKey) > int64(c.have.Replicas) },
		func(c *compared) string {
			return fmt.Sprintf("has %s=%d and %d replicas", minInsyncKey, c.number(minInsyncKey), c.have.Replicas)
		},
		"every event is answered 503", func(c *compared) string { return c.alter(minInsyncKey, strconv.Itoa(min(minInsync, c.have.Replicas))) },
	},
	{
		minInsyncKey, Weakens,
		func(c *compared) bool { return c.have.Replicas > 1 && c.number(minInsyncKey) == int64(c.have.Replicas) },
		func(c *compared) string {
			return fmt.Sprintf("has %s=%d and no more replicas than that", minInsyncKey, c.number(minInsyncKey))
		},
		"one broker that restarts stops ingestion", fewerInsync,
	},
	{
		minInsyncKey, Breaks, func(c *compared) bool { return c.have.Replicas >= minInsync && c.below(minInsyncKey, minInsync) },
		needs(minInsyncKey, minInsync),
		"what one broker alone acknowledged is lost with its disk",
		func(c *compared) string { return c.alter(minInsyncKey, strconv.Itoa(minInsync)) },
	},
	{
		cleanupKey, Breaks, func(c *compared) bool {
			return c.compacts() && !strings.Contains(c.want.Settings[cleanupKey], "compact")
		}, nil,
		"compaction removes records, and with them events that were acknowledged and are not stored, or that a replay would need", nil,
	},
	{
		cleanupKey, Weakens, func(c *compared) bool { return c.cleanup() != "" && c.cleanup() != sorted(c.want.Settings[cleanupKey]) }, nil,
		"it keeps more or less than whoever reads it relies on", nil,
	},
	{
		uncleanKey, Breaks, func(c *compared) bool { return c.have.Replicas > 1 && c.have.Settings[uncleanKey] == "true" }, nil,
		"a replica that lags behind may become leader, and what was acknowledged is gone", nil,
	},
	{
		retentionKey, Breaks, func(c *compared) bool { return c.keeps() >= 0 && c.keeps() < c.window },
		func(c *compared) string {
			return fmt.Sprintf("keeps records for %s, and sink.window is %s", c.keeps(), c.window)
		},
		"a sink that starts cannot make its window of event ids again, and counts resends twice", nil,
	},
	{
		retentionKey, Weakens, func(c *compared) bool { return c.below(retentionKey, c.wanted(retentionKey)) },
		func(c *compared) string {
			return fmt.Sprintf("keeps records for %s; millrace creates it with %s", c.keeps(), time.Duration(c.wanted(retentionKey))*time.Millisecond)
		},
		"sinks that are away for longer lose events, and a lost ClickHouse can be rebuilt no further back", nil,
	},
	{
		sizeKey, Weakens, func(c *compared) bool { return c.number(sizeKey) >= 0 },
		func(c *compared) string {
			return fmt.Sprintf("keeps no more than %d bytes of a partition, however young they are", c.number(sizeKey))
		},
		"at a high rate records are removed before " + retentionKey + ", and those that no sink has stored are lost",
		func(c *compared) string { return c.alter(sizeKey, "-1") },
	},
	{
		timestampKey, Weakens, func(c *compared) bool { return c.have.Settings[timestampKey] == "LogAppendTime" }, nil,
		"replays and windows find their place by the time of receipt that the edge wrote; where a broker's clock is behind, resends count twice", nil,
	},
	{
		maxMessageKey, Refuses, func(c *compared) bool { return c.below(maxMessageKey, c.wanted(maxMessageKey)) },
		func(c *compared) string { return needs(maxMessageKey, c.wanted(maxMessageKey))(c) },
		"a batch that the edge may make is refused, and its events are answered 503", nil,
	},
}

// Defects holds topics, by name without prefix, against the table of rules and returns
// what is found, in the table's order. Those that are missing, or whose settings are not
// known, are left out: nothing is found of them. window is sink.window.
func Defects(cfg config.Kafka, window time.Duration, found map[string]FoundTopic) []Defect {
	var all []Defect
	for i := range Topics {
		t := &Topics[i]
		have, ok := found[t.Name]
		if !ok || have.Denied {
			continue
		}
		c := compared{name: TopicName(cfg, t.Name), have: have, want: t.Want(cfg), window: window}
		all = append(all, c.defects(t)...)
	}
	return all
}

// compared is a topic beside what it should be.
type compared struct {
	name       string // on the broker
	have, want FoundTopic
	window     time.Duration
}

func (c *compared) defects(t *Topic) []Defect {
	var all []Defect
	for _, r := range topicRules {
		known := r.setting == replicas || c.have.Settings[r.setting] != ""
		again := slices.ContainsFunc(all, func(d Defect) bool { return d.Setting == r.setting })
		if !known || again || !r.wrong(c) {
			continue
		}
		d := Defect{Topic: t.Name, Setting: r.setting, Severity: r.severity, What: c.name + " " + r.tell(c), Why: r.why}
		if d.Do = c.alter(r.setting, c.want.Settings[r.setting]); r.do != nil {
			d.Do = r.do(c)
		}
		if t.Internal && d.Severity == Breaks { // nothing in it was acknowledged to anybody
			d.Severity = Weakens
		}
		all = append(all, d)
	}
	return all
}

func (r *topicRule) tell(c *compared) string {
	if r.what != nil {
		return r.what(c)
	}
	return fmt.Sprintf("has %s=%s, not %s", r.setting, c.have.Settings[r.setting], c.want.Settings[r.setting])
}

// number returns a setting; -1 for one that is no number.
func (c *compared) number(setting string) int64 { return asInt(c.have.Settings[setting]) }
func (c *compared) wanted(setting string) int64 { return asInt(c.want.Settings[setting]) }

func asInt(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return -1
	}
	return n
}

// below reports whether a setting is less than it should be; -1 means no limit.
func (c *compared) below(setting string, least int64) bool {
	n := c.number(setting)
	return n >= 0 && n < least
}

// keeps is how long the topic keeps its records; negative for good.
func (c *compared) keeps() time.Duration {
	return time.Duration(c.number(retentionKey)) * time.Millisecond
}

func (c *compared) compacts() bool  { return strings.Contains(c.cleanup(), "compact") }
func (c *compared) cleanup() string { return sorted(c.have.Settings[cleanupKey]) }

// sorted is a list with commas in another order.
func sorted(list string) string {
	parts := strings.Split(list, ",")
	slices.Sort(parts)
	return strings.Join(parts, ",")
}

// alter is the command that sets a setting of the topic.
func (c *compared) alter(key, value string) string {
	return fmt.Sprintf("kafka-configs.sh --alter --entity-type topics --entity-name %s --add-config '%s=[%s]'", c.name, key, value)
}

func needs(setting string, least int64) func(*compared) string {
	return func(c *compared) string {
		return fmt.Sprintf("has %s=%d, and needs %d", setting, c.number(setting), least)
	}
}

func fewReplicas(c *compared) string {
	return fmt.Sprintf("has %d replicas, and kafka.replication says %d", c.have.Replicas, c.want.Replicas)
}

func moreReplicas(*compared) string {
	return "kafka-reassign-partitions.sh with more replicas, or correct kafka.replication"
}

// fewerInsync leaves two copies of what is acknowledged: one less of two would be one.
func fewerInsync(c *compared) string {
	if c.have.Replicas <= minInsync {
		return "kafka-reassign-partitions.sh with one more replica"
	}
	return c.alter(minInsyncKey, strconv.Itoa(c.have.Replicas-1))
}
