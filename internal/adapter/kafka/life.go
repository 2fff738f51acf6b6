package kafka

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/millrace/millrace/internal/platform/config"
)

const (
	// defaultRoll is segment.ms of a topic whose brokers do not report it.
	defaultRoll = 7 * day
	// forever is a retention that no time is added to.
	forever = 100 * 365 * day
)

// Life returns how long a sink may still read a record that is in a topic or a dead letter
// now, by the brokers' settings: a letter may be sent again right before its retention ends,
// and a replay may read the topic until the retention of the new record ends. It is 0 where a
// topic keeps records forever.
func Life(ctx context.Context, cfg config.Kafka) (life time.Duration, err error) {
	err = withAdmin(ctx, cfg, func(ctx context.Context, adm *kadm.Client) error {
		names := make([]string, 0, len(Topics))
		for _, t := range Topics {
			if !t.Internal {
				names = append(names, TopicName(cfg, t.Name))
			}
		}
		configs, err := adm.DescribeTopicConfigs(ctx, names...)
		if err != nil {
			return fmt.Errorf("requesting the settings of topics: %w", err)
		}
		life, err = lifeOf(configs)
		return err
	})
	return life, err
}

func lifeOf(configs kadm.ResourceConfigs) (time.Duration, error) {
	var records, letters time.Duration
	for _, c := range configs {
		switch kept, err := keptBy(c); {
		case errors.Is(c.Err, kerr.UnknownTopicOrPartition): // it has no records
		case err != nil:
			return 0, err
		case kept == 0:
			return 0, nil
		case strings.HasSuffix(c.Name, DeadLetterSuffix):
			letters = max(letters, kept)
		default:
			records = max(records, kept)
		}
	}
	return letters + records, nil
}

// keptBy returns how long a topic keeps a record at most: its segment is deleted retention.ms
// after the segment's last record. It is 0 for forever.
func keptBy(c kadm.ResourceConfig) (time.Duration, error) {
	if c.Err != nil {
		return 0, fmt.Errorf("requesting the settings of topic %s: %w", c.Name, c.Err)
	}
	retention, roll, cleanup := int64(-1), defaultRoll.Milliseconds(), ""
	for _, s := range c.Configs {
		switch s.Key {
		case cleanupKey:
			cleanup = s.MaybeValue()
		case retentionKey:
			retention = numberOf(c, retentionKey)
		case rollKey:
			roll = numberOf(c, rollKey)
		}
	}
	most := forever.Milliseconds()
	if retention < 0 || retention > most || roll > most || !strings.Contains(cleanup, "delete") {
		return 0, nil
	}
	return time.Duration(retention+roll) * time.Millisecond, nil
}
