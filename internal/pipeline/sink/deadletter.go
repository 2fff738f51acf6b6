package sink

import (
	"context"

	"github.com/millrace/millrace/internal/pipeline/deadletter"
	"github.com/millrace/millrace/internal/pipeline/sink/buffer"
)

// letter is a record in hand that cannot be stored. Its original stays in its batch until
// it is sent.
type letter struct {
	offset int64
	reason deadletter.Reason
	err    error
}

// DeadLetter is a record that cannot be stored.
type DeadLetter struct {
	Partition Partition
	Original  buffer.Original
	Reason    deadletter.Reason
	Err       error // for people; at most its first 256 bytes are kept
}

// DeadLetters keeps what cannot be stored, with its original bytes and headers.
type DeadLetters interface {
	// Send returns nil once every letter is acknowledged.
	Send(ctx context.Context, letters []DeadLetter) error
}
