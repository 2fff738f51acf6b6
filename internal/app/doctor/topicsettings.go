package doctor

import (
	"fmt"
	"strconv"
	"time"

	"github.com/millrace/millrace/internal/kafka"
)

// alter is the command that sets a setting of a topic.
func alter(name, key, value string) string {
	return fmt.Sprintf("kafka-configs.sh --alter --entity-type topics --entity-name %s --add-config '%s=[%s]'", name, key, value)
}

// topicSettings compares the settings of a topic that something depends on.
func (n *notebook) topicSettings(o *Options, name string, have, want kafka.FoundTopic) {
	for _, key := range []string{"cleanup.policy", "message.timestamp.type", "unclean.leader.election.enable"} {
		if got, ok := have.Settings[key]; ok && got != want.Settings[key] {
			n.fail("kafka.topics", fmt.Sprintf("%s has %s=%s, not %s", name, key, got, want.Settings[key]), because[key], alter(name, key, want.Settings[key]))
		}
	}
	n.retention(o, name, have, want)
	n.atLeast(name, "max.message.bytes", have, want, Fail)
	n.minInsync(name, have, want)
}

var because = map[string]string{
	"cleanup.policy":                 "compaction removes records, and with them events that were acknowledged and are not stored, or that a replay would need",
	"message.timestamp.type":         "replays and windows find their place by the time of receipt that the edge wrote",
	"unclean.leader.election.enable": "a replica that lags behind may become leader, and what was acknowledged is gone",
	"max.message.bytes":              "a batch that the edge may make is refused, and its events are answered 503",
}

// retention must reach back over what a sink reads again to make its windows, and
// should over what an operator may want to store again.
func (n *notebook) retention(o *Options, name string, have, want kafka.FoundTopic) {
	const key = "retention.ms"
	got, ok := millis(have.Settings[key])
	if !ok || got < 0 { // -1 keeps everything
		return
	}
	wanted, _ := millis(want.Settings[key])
	fix := alter(name, key, want.Settings[key])
	switch {
	case got < o.Settings.Sink.Window:
		n.fail("kafka.topics", fmt.Sprintf("%s keeps records for %s, and sink.window is %s", name, got, o.Settings.Sink.Window),
			"a sink that starts cannot make its window of event ids again, and counts resends twice", fix)
	case got < wanted:
		n.warn("kafka.topics", fmt.Sprintf("%s keeps records for %s; millrace creates it with %s", name, got, wanted),
			"sinks that are away for longer lose events, and a lost ClickHouse can be rebuilt no further back", fix)
	}
}

func millis(text string) (time.Duration, bool) {
	ms, err := strconv.ParseInt(text, 10, 64)
	return time.Duration(ms) * time.Millisecond, err == nil
}

func (n *notebook) atLeast(name, key string, have, want kafka.FoundTopic, level Level) {
	got, err := strconv.Atoi(have.Settings[key])
	least, _ := strconv.Atoi(want.Settings[key])
	if err == nil && got < least {
		n.findings = append(n.findings, Finding{
			"kafka.topics", level, fmt.Sprintf("%s has %s=%d, and needs %d", name, key, got, least), because[key], alter(name, key, want.Settings[key]),
		})
	}
}

// minInsync is how many replicas must have a record before it is acknowledged.
func (n *notebook) minInsync(name string, have, want kafka.FoundTopic) {
	const key = "min.insync.replicas"
	got, err := strconv.Atoi(have.Settings[key])
	switch least, _ := strconv.Atoi(want.Settings[key]); {
	case err != nil:
	case got > have.Replicas:
		n.fail("kafka.topics", fmt.Sprintf("%s has %s=%d and %d replicas", name, key, got, have.Replicas),
			"every event is answered 503", alter(name, key, want.Settings[key]))
	case got == have.Replicas && got > 1:
		n.warn("kafka.topics", fmt.Sprintf("%s has %s=%d and no more replicas than that", name, key, got),
			"one broker that restarts stops ingestion", alter(name, key, strconv.Itoa(got-1)))
	case got < least && have.Replicas >= least:
		n.warn("kafka.topics", fmt.Sprintf("%s has %s=%d, and should have %d", name, key, got, least),
			"what one broker alone acknowledged is lost with its disk", alter(name, key, want.Settings[key]))
	}
}
