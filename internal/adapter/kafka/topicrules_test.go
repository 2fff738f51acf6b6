package kafka

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/pipeline/deadletter"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/platform/control"
)

// found is a topic as millrace creates it on three brokers, but for some settings.
func found(name string, replicas int, changed ...string) map[string]FoundTopic {
	var f FoundTopic
	for i := range Topics {
		if Topics[i].Name == name {
			f = Topics[i].Want(config.Kafka{})
		}
	}
	f.Replicas, f.Settings = replicas, maps.Clone(f.Settings)
	for i := 0; i < len(changed); i += 2 {
		f.Settings[changed[i]] = changed[i+1]
	}
	return map[string]FoundTopic{name: f}
}

func TestTheRulesOfTopicsHoldAtTheirLimits(t *testing.T) {
	t.Parallel()
	const week, window = "retention.ms=[604800000]", time.Hour
	for name, tc := range map[string]struct {
		topic    string
		replicas int
		changed  []string
		want     Severity // empty: nothing is found
		do       string
	}{
		"as it is created": {
			record.TopicEvents, 3,
			[]string{},
			"", "",
		},
		"two replicas": {
			record.TopicEvents, 2,
			[]string{minInsyncKey, "2"},
			Weakens, "reassign",
		},
		"one replica where many should": {
			record.TopicEvents, 1,
			[]string{minInsyncKey, "1"},
			Breaks, "reassign",
		},
		"one copy acknowledges": {
			record.TopicEvents, 3,
			[]string{minInsyncKey, "1"},
			Breaks, "min.insync.replicas=[2]",
		},
		"no replica to spare": {
			record.TopicEvents, 3,
			[]string{minInsyncKey, "3"},
			Weakens, "min.insync.replicas=[2]",
		},
		"more than there are": {
			record.TopicEvents, 3,
			[]string{minInsyncKey, "4"},
			Rejects, "min.insync.replicas=[2]",
		},
		"compacted": {
			record.TopicEvents, 3,
			[]string{cleanupKey, "compact"},
			Breaks, "cleanup.policy=[delete]",
		},
		"compacted and removed": {
			record.TopicEvents, 3,
			[]string{cleanupKey, "delete,compact"},
			Breaks, "cleanup.policy=[delete]",
		},
		"dead letters compacted": {
			record.TopicEvents + DeadLetterSuffix, 3,
			[]string{cleanupKey, "compact"},
			Breaks, "cleanup.policy=[delete]",
		},
		"marks in the other order": {
			deadletter.MarksTopic, 3,
			[]string{cleanupKey, "delete,compact"},
			"", "",
		},
		"marks for good": {
			deadletter.MarksTopic, 3,
			[]string{cleanupKey, "compact"},
			Weakens, "cleanup.policy=[compact,delete]",
		},
		"changes compacted": {
			control.Topic, 3,
			[]string{cleanupKey, "compact"},
			Weakens, "cleanup.policy=[delete]",
		},
		"unclean elections": {
			record.TopicEvents, 3,
			[]string{uncleanKey, "true"},
			Breaks, "unclean.leader.election.enable=[false]",
		},
		"the window's length": {
			record.TopicEvents, 3,
			[]string{retentionKey, "3600000"},
			Weakens, week,
		},
		"a millisecond below it": {
			record.TopicEvents, 3,
			[]string{retentionKey, "3599999"},
			Breaks, week,
		},
		"a millisecond below a week": {
			record.TopicEvents, 3,
			[]string{retentionKey, "604799999"},
			Weakens, week,
		},
		"for good": {
			record.TopicEvents, 3,
			[]string{retentionKey, "-1"},
			"", "",
		},
		"bounded by size": {
			record.TopicEvents, 3,
			[]string{sizeKey, "1073741824"},
			Weakens, "retention.bytes=[-1]",
		},
		"not bounded by size": {
			record.TopicEvents, 3,
			[]string{sizeKey, "-1"},
			"", "",
		},
		"the log's own time": {
			record.TopicEvents, 3,
			[]string{timestampKey, "LogAppendTime"},
			Weakens, "message.timestamp.type=[CreateTime]",
		},
		"batches a byte too small": {
			record.TopicEvents, 3,
			[]string{maxMessageKey, "1048575"},
			Rejects, "max.message.bytes=[1048576]",
		},
		"batches larger than they must": {
			record.TopicEvents, 3,
			[]string{maxMessageKey, "1048577"},
			"", "",
		},
		"a setting that brokers conceal": {
			record.TopicEvents, 3,
			[]string{minInsyncKey, "", cleanupKey, ""},
			"", "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := Defects(config.Kafka{TopicPrefix: "acme."}, window, found(tc.topic, tc.replicas, tc.changed...))
			var got Severity
			for _, d := range all {
				if got == "" {
					got = d.Severity
				}
				if !strings.HasPrefix(d.What, "acme."+tc.topic+" ") || d.Why == "" {
					t.Errorf("%+v does not say of what and why", d)
				}
			}
			if got != tc.want || len(all) > 0 && !strings.Contains(all[0].Do, tc.do) {
				t.Errorf("found %+v, want severity %q and the command %q", all, tc.want, tc.do)
			}
		})
	}
}

// Who says that there is one broker has said that one disk is enough.
func TestOneReplicaIsRightWhereItIsAskedFor(t *testing.T) {
	t.Parallel()
	one := found(record.TopicEvents, 1, minInsyncKey, "1", uncleanKey, "true")
	if diff := cmp.Diff([]Defect(nil), Defects(config.Kafka{Replication: 1}, time.Hour, one)); diff != "" {
		t.Errorf("with kafka.replication 1 (-want +got):\n%s", diff)
	}
}
