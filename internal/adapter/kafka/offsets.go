package kafka

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/millrace/millrace/internal/pipeline/repair"
	"github.com/millrace/millrace/internal/platform/config"
)

// Offsets tells and sets what consumer groups have committed, and reads parts of
// topics, as a member of none. It implements repair.Groups, repair.Log and
// verify.Topic. Topics are named without prefix.
type Offsets struct {
	cfg    config.Kafka
	log    *slog.Logger
	client *kgo.Client
	admin  *kadm.Client
}

// NewOffsets returns Offsets of a cluster. It connects when it is used; Close ends
// it.
func NewOffsets(cfg config.Kafka, log *slog.Logger) (*Offsets, error) {
	opts, err := ClientOptions(cfg, "offsets", log, nil)
	if err != nil {
		return nil, err
	}
	client, err := kgo.NewClient(opts...)
	if err != nil {
		return nil, fmt.Errorf("creating the Kafka client: %w", err)
	}
	return &Offsets{cfg: cfg, log: log, client: client, admin: kadm.NewClient(client)}, nil
}

// Close ends the connections.
func (o *Offsets) Close() { o.client.Close() }

// Members implements repair.Groups: each is named by its client, its instance
// where it has one, and its host.
func (o *Offsets) Members(ctx context.Context, group string) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, adminTimeout)
	defer cancel()
	var described kadm.DescribedGroups
	err := coordinated(ctx, func() (err error) {
		described, err = o.admin.DescribeGroups(ctx, group)
		if err == nil {
			err = described[group].Err
		}
		return err
	})
	if errors.Is(err, kerr.GroupIDNotFound) {
		return nil, nil // nobody has ever been in it
	}
	if err != nil {
		return nil, fmt.Errorf("requesting the members of group %s: %w", group, err)
	}
	var names []string
	for _, m := range described[group].Members {
		name := m.ClientID
		if m.InstanceID != nil {
			name += " " + *m.InstanceID
		}
		host := strings.TrimPrefix(m.ClientHost, "/") // as Apache Kafka writes it
		if alone, _, err := net.SplitHostPort(host); err == nil {
			host = alone
		}
		names = append(names, name+" at "+host)
	}
	return names, nil
}

// Committed implements repair.Groups.
func (o *Offsets) Committed(ctx context.Context, group, topic string) (map[int32]repair.Committed, error) {
	ctx, cancel := context.WithTimeout(ctx, adminTimeout)
	defer cancel()
	name := TopicName(o.cfg, topic)
	var fetched kadm.OffsetResponses
	err := coordinated(ctx, func() (err error) {
		fetched, err = o.admin.FetchOffsetsForTopics(ctx, group, name)
		if err == nil {
			err = fetched.Error()
		}
		return err
	})
	if errors.Is(err, kerr.GroupIDNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the offsets of group %s: %w", group, err)
	}
	committed := map[int32]repair.Committed{}
	for p, at := range fetched[name] {
		if at.At >= 0 { // the others have none
			committed[p] = repair.Committed{Offset: at.At, Metadata: at.Metadata}
		}
	}
	return committed, nil
}

// coordinated asks about a group until it has a coordinator that answers: a cluster
// that nobody has ever read from makes the topic of committed offsets when it is
// first asked, and a coordinator that has just moved reads its part of it again.
func coordinated(ctx context.Context, ask func() error) error {
	for fails := 1; ; fails++ {
		err := ask()
		if !errors.Is(err, kerr.CoordinatorNotAvailable) && !errors.Is(err, kerr.CoordinatorLoadInProgress) &&
			!errors.Is(err, kerr.NotCoordinator) {
			return err
		}
		select {
		case <-ctx.Done():
			return err // which tells more than that time is up
		case <-time.After(backoff(fails)):
		}
	}
}

// Commit implements repair.Groups.
func (o *Offsets) Commit(ctx context.Context, group, topic string, to map[int32]repair.Committed) error {
	ctx, cancel := context.WithTimeout(ctx, adminTimeout)
	defer cancel()
	name := TopicName(o.cfg, topic)
	var all kadm.Offsets
	for p, c := range to {
		all.Add(kadm.Offset{Topic: name, Partition: p, At: c.Offset, LeaderEpoch: -1, Metadata: c.Metadata})
	}
	if err := o.admin.CommitAllOffsets(ctx, group, all); err != nil {
		return fmt.Errorf("setting the offsets of group %s: %w", group, err)
	}
	return nil
}

// Describe implements repair.Log.
func (o *Offsets) Describe(ctx context.Context, topic string) (id [16]byte, bounds map[int32]repair.Bounds, err error) {
	ctx, cancel := context.WithTimeout(ctx, adminTimeout)
	defer cancel()
	name := TopicName(o.cfg, topic)
	if id, err = o.TopicID(ctx, topic); err != nil {
		return id, nil, err
	}
	starts, err := offsets(ctx, o.admin.ListStartOffsets, name)
	if err != nil {
		return id, nil, err
	}
	ends, err := offsets(ctx, o.admin.ListEndOffsets, name)
	if err != nil {
		return id, nil, err
	}
	bounds = map[int32]repair.Bounds{}
	for p, start := range starts {
		bounds[p] = repair.Bounds{Start: start, End: ends[p]}
	}
	return id, bounds, nil
}

// TopicID returns the UUID of a topic.
func (o *Offsets) TopicID(ctx context.Context, topic string) (id [16]byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, adminTimeout)
	defer cancel()
	name := TopicName(o.cfg, topic)
	topics, err := o.admin.ListTopics(ctx, name)
	if err == nil {
		err = topics[name].Err
	}
	if err != nil {
		return id, fmt.Errorf("reading topic %s: %w", name, err)
	}
	return topics[name].ID, nil
}

// Held is the part of Describe for whoever wants to know as much as there is: partitions that
// cannot be asked about before ctx ends, such as those that nobody leads, are left out of the
// bounds, and the error says why one of them is.
func (o *Offsets) Held(ctx context.Context, topic string) (map[int32]repair.Bounds, error) {
	ctx, cancel := context.WithTimeout(ctx, adminTimeout)
	defer cancel()
	name := TopicName(o.cfg, topic)
	var starts, ends kadm.ListedOffsets
	var startErr, endErr error
	var both sync.WaitGroup // a broker that is away takes all the time there is
	both.Go(func() { starts, startErr = o.admin.ListStartOffsets(ctx, name) })
	both.Go(func() { ends, endErr = o.admin.ListEndOffsets(ctx, name) })
	both.Wait()
	bounds, failed := map[int32]repair.Bounds{}, cmp.Or(startErr, endErr)
	for p, end := range ends[name] {
		start, ok := starts[name][p]
		if err := cmp.Or(start.Err, end.Err); err != nil {
			failed = cmp.Or(failed, fmt.Errorf("partition %d: %w", p, err))
		} else if ok {
			bounds[p] = repair.Bounds{Start: start.Offset, End: end.Offset}
		}
	}
	if failed != nil {
		return bounds, fmt.Errorf("listing offsets of topic %s: %w", name, failed)
	}
	return bounds, nil
}

// After implements repair.Log.
func (o *Offsets) After(ctx context.Context, topic string, millis int64) (map[int32]int64, error) {
	ctx, cancel := context.WithTimeout(ctx, adminTimeout)
	defer cancel()
	return offsets(ctx, func(ctx context.Context, topics ...string) (kadm.ListedOffsets, error) {
		return o.admin.ListOffsetsAfterMilli(ctx, millis, topics...)
	}, TopicName(o.cfg, topic))
}

// Values implements repair.Log.
func (o *Offsets) Values(
	ctx context.Context, topic string, partition int32, from, to int64, do func(value []byte) error,
) error {
	return o.Read(ctx, topic, partition, from, to, func(t *Tapped) error { return do(t.Value) })
}

// Read gives the records [from, to) of a partition to do, in order and without
// control records. What the log does not hold any more is left out; a log that
// ends before to is an error.
func (o *Offsets) Read(
	ctx context.Context, topic string, partition int32, from, to int64, do func(*Tapped) error,
) error {
	name := TopicName(o.cfg, topic)
	_, bounds, err := o.Describe(ctx, topic)
	if err != nil {
		return err
	}
	b := bounds[partition]
	if from = max(from, b.Start); from >= to {
		return nil
	}
	if b.End < to {
		return fmt.Errorf("reading %s/%d: it ends at offset %d, before %d", name, partition, b.End, to)
	}
	opts, err := ClientOptions(o.cfg, "reader", o.log, nil)
	if err != nil {
		return err
	}
	client, err := kgo.NewClient(append(opts,
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{name: {partition: kgo.NewOffset().At(from)}}),
		kgo.ConsumeResetOffset(kgo.NoResetOffset()),
		kgo.KeepControlRecords(), // they may be the last ones
		kgo.FetchMaxBytes(fetchMaxBytes), kgo.FetchMaxPartitionBytes(fetchPartitionBytes), kgo.FetchMaxWait(fetchMaxWait),
	)...)
	if err != nil {
		return fmt.Errorf("creating the reader: %w", err)
	}
	defer client.Close()
	r := reading{
		client: client, topic: topic, name: name,
		next: map[int32]int64{partition: from}, left: map[int32]int64{partition: to},
	}
	return r.run(ctx, do)
}
