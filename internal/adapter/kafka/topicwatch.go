package kafka

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/millrace/millrace/internal/platform/config"
)

// topicsEvery is how often a running process looks at the settings of topics.
const topicsEvery = 3 * time.Minute

// namedAtOnce is how many defects an error names.
const namedAtOnce = 3

// ErrUnsafeTopics is wrapped by what a TopicWatch returns while the settings of a topic
// break what an acknowledgement promises.
var ErrUnsafeTopics = errors.New("topics may lose acknowledged records")

var (
	defectDesc = prometheus.NewDesc("millrace_kafka_topic_defects",
		"1 for each wrong setting of a topic. severity is breaks, refuses or weakens.",
		[]string{"topic", "setting", "severity"}, nil)
	uncheckedDesc = prometheus.NewDesc("millrace_kafka_topics_unchecked",
		"Topics whose settings could not be read at the latest check; all of them if no broker answered.",
		nil, nil)
)

// TopicWatchDeps are the parts a TopicWatch needs; Log and Metrics are required.
type TopicWatchDeps struct {
	// Client is the daemon's name in metrics: the daemons of one process look by themselves.
	Client  string
	Log     *slog.Logger
	Metrics prometheus.Registerer
	// Topics are those that the daemon writes or reads, without prefix; none means all.
	Topics []string
}

// TopicWatch holds the settings of topics against what an acknowledgement promises, at
// the start and every three minutes. Brokers accept a topic that was made by hand, or
// changed, without a word; what it loses is seen when it is too late.
//
// A daemon waits, not ready, while a topic breaks the promise, and is not ready once one
// does: it is made good with a command and no restart, and what is not accepted meanwhile
// is sent again. A sink goes on storing, for that makes nothing worse. What cannot be
// looked at stops nobody and is logged. It is safe for concurrent use.
type TopicWatch struct {
	cfg    config.Kafka
	window time.Duration
	deps   TopicWatchDeps

	mu        sync.Mutex
	looked    bool // at least once, with or without success
	unchecked int
	defects   []Defect
	failed    string // why the latest look failed, as it was logged; empty when it did not
}

// NewTopicWatch returns a TopicWatch, registered. window is sink.window. It connects for
// each look.
func NewTopicWatch(cfg config.Kafka, window time.Duration, deps TopicWatchDeps) *TopicWatch {
	w := &TopicWatch{cfg: cfg, window: window, deps: deps}
	prometheus.WrapRegistererWith(prometheus.Labels{"client": deps.Client}, deps.Metrics).MustRegister(w)
	return w
}

// Run looks until ctx ends.
func (w *TopicWatch) Run(ctx context.Context) error {
	tick := time.NewTicker(topicsEvery)
	defer tick.Stop()
	for {
		w.look(ctx)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// Check looks, and returns what Ready does.
func (w *TopicWatch) Check(ctx context.Context) error {
	w.look(ctx)
	return w.Ready(ctx)
}

// Ready returns an error that wraps ErrUnsafeTopics and says what to run when the latest
// look that was possible found that a topic breaks the promise.
func (w *TopicWatch) Ready(context.Context) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.cfg.AllowWeakTopics {
		return nil
	}
	var all []string
	for _, d := range w.defects {
		if d.Severity == Breaks {
			all = append(all, d.What+" ("+d.Do+")")
		}
	}
	if len(all) == 0 {
		return nil
	}
	if more := len(all) - namedAtOnce; more > 0 {
		all = append(all[:namedAtOnce], fmt.Sprintf("and %d more, which \"millrace topics check\" names", more))
	}
	return fmt.Errorf("%w: %s", ErrUnsafeTopics, strings.Join(all, "; "))
}

func (w *TopicWatch) look(ctx context.Context) {
	found, err := w.read(ctx)
	if ctx.Err() != nil {
		return
	}
	unchecked := w.withoutSettings(found)
	if err == nil && len(unchecked) > 0 {
		err = fmt.Errorf("the brokers do not report the settings of %s: the user needs DESCRIBE_CONFIGS",
			strings.Join(unchecked, ", "))
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.looked, w.unchecked = true, len(unchecked)
	w.tellFailure(ctx, err)
	if found == nil {
		return // what was known before holds on
	}
	defects := Defects(w.cfg, w.window, found)
	w.tellChanges(ctx, defects)
	w.defects = defects
}

// read returns the watched topics as they are; nil, with an error, when nobody tells.
func (w *TopicWatch) read(ctx context.Context) (map[string]FoundTopic, error) {
	c := Cluster{Topics: map[string]FoundTopic{}}
	err := withAdminClient(ctx, w.cfg, func(ctx context.Context, client *kgo.Client) error {
		if err := c.readTopics(ctx, w.cfg, client); err != nil {
			return fmt.Errorf("requesting topics: %w", err)
		}
		return c.readSettings(ctx, w.cfg, client)
	}, kgo.RequestRetries(reachTries*len(w.cfg.Brokers)))
	if err != nil {
		return nil, err
	}
	for name := range c.Topics {
		if !w.watches(name) {
			delete(c.Topics, name)
		}
	}
	return c.Topics, nil
}

func (w *TopicWatch) watches(topic string) bool {
	return len(w.deps.Topics) == 0 || slices.Contains(w.deps.Topics, topic)
}

// withoutSettings names the watched topics of which no settings are known.
func (w *TopicWatch) withoutSettings(found map[string]FoundTopic) []string {
	var names []string
	for i := range Topics {
		if name := Topics[i].Name; w.watches(name) && len(found[name].Settings) == 0 {
			names = append(names, TopicName(w.cfg, name))
		}
	}
	return names
}

// tellFailure logs once why topics cannot be looked at.
func (w *TopicWatch) tellFailure(ctx context.Context, err error) {
	if err == nil {
		w.failed = ""
		return
	}
	if w.failed == "" {
		w.deps.Log.LogAttrs(ctx, slog.LevelWarn, "topic settings cannot be checked, continuing without the check",
			slog.Any("error", err))
	}
	w.failed = err.Error()
}

// tellChanges logs each defect when it comes, and when it has gone.
func (w *TopicWatch) tellChanges(ctx context.Context, now []Defect) {
	for _, d := range now {
		if slices.Contains(w.defects, d) {
			continue
		}
		level := slog.LevelWarn
		if d.Severity == Breaks {
			level = slog.LevelError
		}
		w.deps.Log.LogAttrs(ctx, level, "topic settings need attention", slog.String("severity", string(d.Severity)),
			slog.String("problem", d.What), slog.String("reason", d.Why), slog.String("fix", d.Do))
	}
	for _, d := range w.defects {
		if !slices.Contains(now, d) {
			w.deps.Log.LogAttrs(ctx, slog.LevelInfo, "topic settings corrected", slog.String("problem", d.What))
		}
	}
}

// Describe implements prometheus.Collector.
func (*TopicWatch) Describe(ch chan<- *prometheus.Desc) {
	ch <- defectDesc
	ch <- uncheckedDesc
}

// Collect implements prometheus.Collector. Topics are named without prefix.
func (w *TopicWatch) Collect(ch chan<- prometheus.Metric) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.looked {
		return
	}
	ch <- prometheus.MustNewConstMetric(uncheckedDesc, prometheus.GaugeValue, float64(w.unchecked))
	for _, d := range w.defects {
		ch <- prometheus.MustNewConstMetric(defectDesc, prometheus.GaugeValue, 1, d.Topic, d.Setting, string(d.Severity))
	}
}
