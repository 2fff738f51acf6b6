package kafka

import (
	"strconv"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/millrace/millrace/internal/adapter/kafka/kafkatest"
)

// keeping are the settings of a topic.
func keeping(name, cleanup string, settings map[string]time.Duration) kadm.ResourceConfig {
	c := kadm.ResourceConfig{Name: name, Configs: []kadm.Config{{Key: cleanupKey, Value: &cleanup}}}
	for key, value := range settings {
		text := strconv.FormatInt(value.Milliseconds(), 10)
		c.Configs = append(c.Configs, kadm.Config{Key: key, Value: &text})
	}
	return c
}

func TestLife_AddsThatOfLettersToThatOfRecords(t *testing.T) {
	t.Parallel()
	kept := func(retention, roll time.Duration) map[string]time.Duration {
		return map[string]time.Duration{retentionKey: retention, rollKey: roll}
	}
	short, long := keeping("events.v1", "delete", kept(2*day, day)), keeping("clicks.v1", "delete", kept(9*day, day))
	letters := keeping("events.v1.dlq", "compact,delete", kept(30*day, 2*day))
	for name, tc := range map[string]struct {
		topic kadm.ResourceConfig
		want  time.Duration
	}{
		"the longest counts":         {long, 42 * day},
		"an unknown roll":            {keeping("x.v1", "delete", map[string]time.Duration{retentionKey: 4 * day}), 43 * day},
		"a topic that is missing":    {kadm.ResourceConfig{Name: "x.v1", Err: kerr.UnknownTopicOrPartition}, 35 * day},
		"retention without an end":   {keeping("x.v1", "delete", kept(-time.Millisecond, day)), 0},
		"an unknown retention":       {keeping("x.v1", "delete", map[string]time.Duration{rollKey: day}), 0},
		"the longest retention":      {keeping("x.v1", "delete", kept(forever, day)), forever + 33*day},
		"a longer one":               {keeping("x.v1", "delete", kept(forever+time.Millisecond, day)), 0},
		"a segment without an end":   {keeping("x.v1", "delete", kept(day, forever+time.Millisecond)), 0},
		"a topic that only compacts": {keeping("x.v1", "compact", kept(day, day)), 0},
	} {
		if got, err := lifeOf(kadm.ResourceConfigs{short, letters, tc.topic}); got != tc.want || err != nil {
			t.Errorf("%s: %v, %v; want %v", name, got, err, tc.want)
		}
	}
	denied := kadm.ResourceConfig{Name: "x.v1", Err: kerr.TopicAuthorizationFailed}
	if _, err := lifeOf(kadm.ResourceConfigs{short, denied}); err == nil {
		t.Error("a topic whose settings are denied has a life")
	}
}

func TestLife_ReadsTheBrokersSettings(t *testing.T) {
	t.Parallel()
	_, cfg := kafkatest.Cluster(t)
	cfg.TopicPrefix = "acme."
	if life, err := Life(t.Context(), cfg); err != nil || life != 0 {
		t.Errorf("without topics: %v, %v", life, err)
	}
	if _, err := EnsureTopics(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	if life, err := Life(t.Context(), cfg); err != nil || life < 37*day {
		t.Errorf("Life() = %v, %v; want at least the retention of a letter and a record", life, err)
	}
}
