package kafka

import (
	"strconv"
	"time"

	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/pipeline/deadletter"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/platform/control"
)

// DeadLetterSuffix is put after a topic's name for the topic of its records that
// could not be stored.
const DeadLetterSuffix = deadletter.Suffix

// Topic says how a topic is created. Existing topics are never changed.
type Topic struct {
	// Name is without prefix.
	Name string
	// Help says what the topic holds.
	Help string
	// Retention is how long records are kept at least.
	Retention time.Duration
	// Cleanup is "delete", "compact", or both, separated by a comma.
	Cleanup string
	// MaxMessageBytes is the largest batch the broker accepts.
	MaxMessageBytes int
	// Partitions is how many it has; 0 means as many as the settings say.
	Partitions int32
	// Internal says that the topic is of no use to tappers.
	Internal bool
	// Personal says that the topic holds what callers tell of persons: only a
	// tapper that names it may read it.
	Personal bool
}

const day = 24 * time.Hour

// Topics is the table of the topics that millrace writes.
var Topics = []Topic{
	{
		Name: record.TopicEvents, Retention: 7 * day, Cleanup: "delete", MaxMessageBytes: 1 << 20,
		Help: "Events as the edge accepted them.",
	},
	{
		Name: record.TopicEventsBackfill, Retention: 7 * day, Cleanup: "delete", MaxMessageBytes: 1 << 20,
		Help: "Events that were old when they arrived, so that history does not slow live data.",
	},
	{
		Name: record.TopicVitals, Retention: 7 * day, Cleanup: "delete", MaxMessageBytes: 1 << 20,
		Help: "Web vitals of pages.",
	},
	{
		Name: record.TopicErrors, Retention: 7 * day, Cleanup: "delete", MaxMessageBytes: 1 << 20,
		Help: "Errors in the scripts of pages.",
	},
	{
		Name: record.TopicIdentities, Retention: 7 * day, Cleanup: "delete", MaxMessageBytes: 1 << 20,
		Help: "Identities of visitors, and their traits.", Personal: true,
	},
	{
		Name: record.TopicIngestion, Retention: 7 * day, Cleanup: "delete", MaxMessageBytes: 1 << 20,
		Help: "Counts of accepted and rejected events per edge, owner, minute and outcome.",
	},
	{
		Name: record.TopicClicks, Retention: 7 * day, Cleanup: "delete", MaxMessageBytes: 1 << 20,
		Help: "Clicks of short links.",
	},
	{
		Name: record.TopicExposures, Retention: 7 * day, Cleanup: "delete", MaxMessageBytes: 1 << 20,
		Help: "Variants of feature flags that visitors received.",
	},
	lettersOf(record.TopicEvents),
	lettersOf(record.TopicEventsBackfill),
	lettersOf(record.TopicVitals),
	lettersOf(record.TopicErrors),
	lettersOf(record.TopicIdentities),
	lettersOf(record.TopicIngestion),
	lettersOf(record.TopicClicks),
	lettersOf(record.TopicExposures),
	{
		Name: deadletter.MarksTopic, Retention: 60 * day, Cleanup: "compact,delete", MaxMessageBytes: 1 << 20,
		Help: "Outcomes of dead letters: sent again, or parked.", Internal: true,
	},
	{
		Name: control.Topic, Retention: day, Cleanup: "delete", MaxMessageBytes: 1 << 20, Partitions: 1,
		Help:     "Changes of keys, websites, sessions, links, organizations and quotas, for the caches of all processes.",
		Internal: true,
	},
}

// lettersOf is the topic for what cannot be stored of a topic.
func lettersOf(topic string) Topic {
	return Topic{
		Name: topic + DeadLetterSuffix, Retention: 30 * day, Cleanup: "delete", MaxMessageBytes: 2 << 20,
		Help: "Records of " + topic + " that cannot be stored, with the reason.",
	}
}

// BackfillGroup returns the consumer group of the backfill pipeline, which belongs to
// that of the live pipeline.
func BackfillGroup(group string) string { return group + "-backfill" }

// WebTopics are those of the web pipeline, which stores what browsers tell besides
// events, who visitors are, and what the edges count.
var WebTopics = []string{record.TopicVitals, record.TopicErrors, record.TopicIdentities, record.TopicIngestion}

// WebGroup returns the consumer group of the web pipeline, which belongs to that of
// the live pipeline.
func WebGroup(group string) string { return group + "-web" }

// ClickTopics are those of the pipeline of clicks.
var ClickTopics = []string{record.TopicClicks}

// ClickGroup returns the consumer group of the pipeline of clicks, which belongs to that of
// the live pipeline.
func ClickGroup(group string) string { return group + "-clicks" }

// ExposureTopics are those of the pipeline of exposures to feature flags.
var ExposureTopics = []string{record.TopicExposures}

// ExposureGroup returns the consumer group of the pipeline of exposures, which belongs to that
// of the live pipeline.
func ExposureGroup(group string) string { return group + "-exposures" }

// How topics are spread where the settings do not say.
const (
	DefaultPartitions  = 64
	DefaultReplication = 3
)

const minInsync = 2 // or all, where there are fewer replicas

// TopicName returns the name of a topic on the broker.
func TopicName(cfg config.Kafka, name string) string { return cfg.TopicPrefix + name }

// partitionsOf and replicationOf apply the settings.
func partitionsOf(cfg config.Kafka, t *Topic) int32 {
	if t.Partitions > 0 {
		return t.Partitions
	}
	if cfg.Partitions > 0 {
		return int32(cfg.Partitions) // validated by package config
	}
	return DefaultPartitions
}

func replicationOf(cfg config.Kafka) int16 {
	if cfg.Replication > 0 {
		return int16(cfg.Replication) // validated by package config
	}
	return DefaultReplication
}

// settings returns the topic's settings in the broker's words.
func (t Topic) settings(replication int16) map[string]*string {
	value := func(s string) *string { return &s }
	return map[string]*string{
		"retention.ms":                   value(strconv.FormatInt(t.Retention.Milliseconds(), 10)),
		"cleanup.policy":                 value(t.Cleanup),
		"compression.type":               value("lz4"),
		"max.message.bytes":              value(strconv.Itoa(t.MaxMessageBytes)),
		"message.timestamp.type":         value("CreateTime"),
		"min.insync.replicas":            value(strconv.Itoa(min(minInsync, int(replication)))),
		"unclean.leader.election.enable": value("false"),
	}
}
