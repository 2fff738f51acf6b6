package kafka

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/millrace/millrace/internal/platform/config"
)

// Severity says what comes of a topic that is not as it should be. Values are labels of
// a metric.
type Severity string

// The severities.
const (
	// Breaks: what was acknowledged may be lost, or counted twice. Edge and sink are not
	// ready with it, unless kafka.allow_weak_topics is set.
	Breaks Severity = "breaks"
	// Rejects: records are rejected, and whoever sent them is told.
	Rejects Severity = "refuses"
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

func compacts(t FoundTopic) bool { return strings.Contains(t.Settings[cleanupKey], "compact") }

// policies are those by which a topic is cleaned up, in an order of their own.
func policies(t FoundTopic) string {
	all := strings.Split(t.Settings[cleanupKey], ",")
	slices.Sort(all)
	return strings.Join(all, ",")
}

// alter is the command that sets a setting of the topic.
func (c *compared) alter(key, value string) string {
	const command = "kafka-configs.sh --alter --entity-type topics --entity-name %s --add-config '%s=[%s]'"
	return fmt.Sprintf(command, c.name, key, value)
}
