package repair

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/millrace/millrace/internal/pipeline/ledger"
)

// Pipeline is a topic and the consumer group that stores it.
type Pipeline struct {
	Topic string // without prefix
	Group string
}

// Committed is what a group has committed for a partition.
type Committed struct {
	Offset   int64
	Metadata string
}

// Bounds are the first offset of a partition that the log still holds, and the
// offset after its last one.
type Bounds struct{ Start, End int64 }

// Groups tells and changes what consumer groups have committed.
type Groups interface {
	// Members names the members that a group has now.
	Members(ctx context.Context, group string) ([]string, error)
	// Committed returns what a group has committed, by partition.
	Committed(ctx context.Context, group, topic string) (map[int32]Committed, error)
	// Commit sets the offsets of partitions of a group that has no member; the
	// broker rejects when it has one. All are set, or none.
	Commit(ctx context.Context, group, topic string, to map[int32]Committed) error
}

// Log tells what a topic holds.
type Log interface {
	// Describe returns a topic's UUID and the bounds of its partitions.
	Describe(ctx context.Context, topic string) (id [16]byte, bounds map[int32]Bounds, err error)
	// After returns, by partition, the first offset that was received at or after a
	// time in Unix milliseconds; the end where there is none.
	After(ctx context.Context, topic string, millis int64) (map[int32]int64, error)
	// Values gives the values of the records [from, to) of a partition to do.
	Values(ctx context.Context, topic string, partition int32, from, to int64, do func(value []byte) error) error
}

// Store is what is kept beside the tables.
type Store interface {
	// Epoch returns the epoch of a topic.
	Epoch(ctx context.Context, topic string) (int64, error)
	// RaiseEpoch raises it by one and returns it.
	RaiseEpoch(ctx context.Context, topic, reason string) (int64, error)
	// StoredTo returns the offset after the last one of a range in the ledger, under
	// any epoch; 0 when there is none. Gaps are no ranges.
	StoredTo(ctx context.Context, topicID [16]byte, partition int32) (int64, error)
	// Write stores an entry of the ledger under a token.
	Write(ctx context.Context, e *ledger.Entry, insertToken string) error
	// SetMarks keeps up to where coverage was checked.
	SetMarks(ctx context.Context, marks []ledger.Mark) error
	// List puts days on the list of the dirty ones.
	List(ctx context.Context, days []ledger.Listed) error
}

// RunningError says that somebody consumes what is to be changed.
type RunningError struct {
	Group   string
	Members []string
}

func (e *RunningError) Error() string {
	return fmt.Sprintf("the consumer group %s has %d active members (%s): stop the sinks first; a member that died is "+
		"gone after its session timeout",
		e.Group, len(e.Members), strings.Join(e.Members, ", "))
}

// stopped returns a RunningError if a pipeline's group has members.
func stopped(ctx context.Context, groups Groups, pipelines []Pipeline) error {
	for _, l := range pipelines {
		members, err := groups.Members(ctx, l.Group)
		if err != nil {
			return err
		}
		if len(members) > 0 {
			slices.Sort(members)
			return &RunningError{l.Group, members}
		}
	}
	return nil
}
