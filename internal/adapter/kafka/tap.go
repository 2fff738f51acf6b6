package kafka

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/platform/config"
)

// TapOptions say what Tap reads.
type TapOptions struct {
	// Topic is a name without prefix, such as "events.v1".
	Topic string
	// Since leaves out records received before it; zero reads from the start.
	Since time.Time
	// Exit ends the reading at the records that were there when it began, instead
	// of waiting for more.
	Exit bool
	// Only reads the record at this offset of this partition, and no other; it
	// needs Exit.
	Only *record.Position
	// Log is told what the client complains about; required.
	Log *slog.Logger
}

// Tapped is one record as it stands in the topic. Its slices are only valid
// during the call that they are given to.
type Tapped struct {
	record.Record
	Position record.Position
}

// Tap reads a topic without being a member of any group, and gives each record to
// do, in order within a partition. It returns do's error, nil at the end that
// Exit asks for, and the context's error otherwise.
func Tap(ctx context.Context, cfg config.Kafka, opts TapOptions, do func(*Tapped) error) error {
	all, err := ClientOptions(cfg, "tap", opts.Log, nil)
	if err != nil {
		return err
	}
	// A topic may end in a transaction's marker, which is read to see the end.
	return withClient(ctx, cfg, append(all, kgo.KeepControlRecords()),
		func(ctx context.Context, client *kgo.Client) error {
			return tap(ctx, client, TopicName(cfg, opts.Topic), opts, do)
		})
}

func tap(ctx context.Context, client *kgo.Client, topic string, opts TapOptions, do func(*Tapped) error) error {
	from, left, err := tapRange(ctx, kadm.NewClient(client), topic, opts)
	if err != nil {
		return err
	}
	at := map[int32]kgo.Offset{}
	for p, offset := range from {
		at[p] = kgo.NewOffset().At(offset)
	}
	client.AddConsumePartitions(map[string]map[int32]kgo.Offset{topic: at})
	r := reading{client: client, topic: opts.Topic, name: topic, next: from}
	if opts.Exit {
		r.left = left
	}
	return r.run(ctx, do)
}

// tapRange returns where to begin in each partition, and the end of those that
// hold something to read.
func tapRange(
	ctx context.Context, adm *kadm.Client, topic string, opts TapOptions,
) (from, left map[int32]int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, adminTimeout)
	defer cancel()
	there, err := adm.ListTopics(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("listing topics: %w", err)
	}
	if !there.Has(topic) {
		return nil, nil, fmt.Errorf("unknown topic %s; the topics are %s", topic, strings.Join(there.Names(), ", "))
	}
	begin := adm.ListStartOffsets
	if !opts.Since.IsZero() {
		begin = func(ctx context.Context, topics ...string) (kadm.ListedOffsets, error) {
			return adm.ListOffsetsAfterMilli(ctx, opts.Since.UnixMilli(), topics...)
		}
	}
	starts, err := offsets(ctx, begin, topic)
	if err != nil {
		return nil, nil, err
	}
	ends, err := offsets(ctx, adm.ListEndOffsets, topic)
	if err != nil {
		return nil, nil, err
	}
	from, left = map[int32]int64{}, map[int32]int64{}
	if at := opts.Only; at != nil {
		if start, ok := starts[at.Partition]; !ok || at.Offset < start || at.Offset >= ends[at.Partition] {
			return nil, nil, fmt.Errorf("record %s/%d/%d does not exist", topic, at.Partition, at.Offset)
		}
		from[at.Partition], left[at.Partition] = at.Offset, at.Offset+1
		return from, left, nil
	}
	for p, start := range starts {
		from[p] = start
		if end := ends[p]; end > start {
			left[p] = end
		}
	}
	return from, left, nil
}

func offsets(
	ctx context.Context, list func(context.Context, ...string) (kadm.ListedOffsets, error), topic string,
) (map[int32]int64, error) {
	listed, err := list(ctx, topic)
	if err == nil {
		err = listed.Error()
	}
	if err != nil {
		return nil, fmt.Errorf("listing offsets of topic %s: %w", topic, err)
	}
	at := map[int32]int64{}
	for p, o := range listed[topic] {
		at[p] = o.Offset
	}
	return at, nil
}

func (t *Tapped) fill(topic string, rec *kgo.Record) {
	t.Topic, t.Key, t.Value, t.Time = topic, rec.Key, rec.Value, rec.Timestamp
	t.Position = record.Position{Topic: topic, Partition: rec.Partition, Offset: rec.Offset}
	t.Headers = t.Headers[:0]
	for _, h := range rec.Headers {
		t.Headers = append(t.Headers, record.Header{Key: h.Key, Value: h.Value})
	}
}

// Header returns the value of a header; empty when the record has none of the
// name.
func (t *Tapped) Header(key string) string {
	for _, h := range t.Headers {
		if h.Key == key {
			return string(h.Value)
		}
	}
	return ""
}
