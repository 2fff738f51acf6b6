package sink

import (
	"context"
	"errors"

	"github.com/millrace/millrace/internal/contract/record"
)

// ErrPanic is wrapped by the error of an Inserter that panicked over a block: this build
// cannot send it, however often it tries.
var ErrPanic = errors.New("a block cannot be encoded")

// Row is one event on its way into a block.
type Row struct {
	Event     *record.Event // valid during the call only
	Hash      record.Hash
	Topic     []byte
	Partition int32
	Offset    int64
}

// Block is a batch of rows in the form in which the server takes them. It is
// used by one goroutine at a time.
type Block interface {
	Append(row *Row)
	Rows() int
	// Offset returns the offset of a row.
	Offset(row int) int64
	// CopyTo appends the rows [from, to) to another block of the same table.
	CopyTo(dst Block, from, to int)
	// Reset empties the block and keeps its memory.
	Reset()
}

// Inserter stores blocks. It is safe for concurrent use.
type Inserter interface {
	// NewBlock returns an empty block for records of a topic.
	NewBlock(topic string) Block
	// Reserve waits until there is memory to send the block, which is Insert's or Probe's
	// until release is called. Its error is that of ctx. It says nothing about the server,
	// so the deadline of an insert begins after it.
	Reserve(ctx context.Context, b Block) (release func(), err error)
	// Insert stores the block as a whole under the token and returns nil once the
	// server has acknowledged it. The server ignores a block whose token it has
	// seen. After an error the block may be stored or not: inserting it again
	// under the same token settles that. The error is an *InsertError when its
	// class is known; it wraps ErrPanic when nothing was sent, nor can be.
	Insert(ctx context.Context, b Block, insertToken string) error
	// Probe tries the block on a clone of the table that keeps nothing and has no
	// views. What it rejects was rejected before anything was written.
	Probe(ctx context.Context, b Block) error
}

// Class says what a failed insert means for the next attempt. It is a label of
// the metric of retries.
type Class string

// The classes. All are tried again, and the last two but one are logged as errors
// each time, because time alone does not heal them. Only rows of ClassRejected can
// become dead letters, when a clone of the table rejects them too.
const (
	ClassNetwork  Class = "network" // connection refused, broken, or no response in time
	ClassBusy     Class = "busy"    // the server rejects work for now: too many parts or queries
	ClassMemory   Class = "memory"  // a memory limit was reached
	ClassDisk     Class = "disk"    // no space, read-only, or a storage error
	ClassTimeout  Class = "timeout" // the server gave the insert up
	ClassKeeper   Class = "keeper"  // coordination is away, or the table is read-only without it
	ClassSchema   Class = "schema"  // table, column or setting is not what this build expects
	ClassRejected Class = "refused" // the server rejects a value
	ClassOther    Class = "other"
)

// InsertError is a failed insert of a known class.
type InsertError struct {
	Class Class
	Err   error
}

func (e *InsertError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *InsertError) Unwrap() error { return e.Err }

// needsOperator reports whether waiting alone will not help.
func (c Class) needsOperator() bool { return c == ClassSchema || c == ClassRejected }

func classOf(err error) Class {
	if e, ok := errors.AsType[*InsertError](err); ok {
		return e.Class
	}
	return ClassOther
}
