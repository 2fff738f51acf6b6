package doctor

import (
	"slices"
	"strings"

	"github.com/millrace/millrace/internal/adapter/kafka"
)

// topicSettings tells what daemons reject, or warn of, in the settings of topics, by the
// same table. Those that brokers tell nothing of are a finding too.
func (n *notebook) topicSettings(o *Options, found *kafka.Cluster) {
	for _, d := range kafka.Defects(o.Settings.Kafka, o.Settings.Sink.Window, found.Topics) {
		level := Fail
		if d.Severity == kafka.Weakens {
			level = Warn
		}
		n.findings = append(n.findings, Finding{"kafka.topics", level, d.What, d.Why, d.Do})
	}
	var untold []string
	for name, t := range found.Topics {
		if !t.Denied && len(t.Settings) == 0 {
			untold = append(untold, kafka.TopicName(o.Settings.Kafka, name))
		}
	}
	if slices.Sort(untold); len(untold) > 0 {
		n.warn("kafka.topics", "the brokers do not report the settings of "+strings.Join(untold, ", "),
			"a topic may lose acknowledged records without a warning",
			"allow the Kafka user DESCRIBE_CONFIGS on them with kafka-acls.sh --add")
	}
}
