package sink

import (
	"context"

	"github.com/millrace/millrace/internal/pipeline/ledger"
)

// Ledger keeps what became of every range, beside the tables that it tells of.
type Ledger interface {
	// Epoch returns the epoch of a topic, the first part of its insert tokens: 1
	// until it is raised for the first time.
	Epoch(ctx context.Context, topic string) (int64, error)
	// Reached returns the offset after the last one that the ledger shows for a
	// partition of a topic, under any epoch up to the given one; 0 when it shows none.
	Reached(ctx context.Context, topic string, topicID [16]byte, partition int32, epoch int64) (int64, error)
	// Ranges returns, in order, up to limit spans that the ledger shows under the
	// epoch and that end at the offset from or after it.
	Ranges(ctx context.Context, topicID [16]byte, partition int32, epoch, from int64, limit int) ([]ledger.Span, error)
	// Write stores an entry under a token; the server ignores one it has seen.
	// Errors are as those of Inserter.Insert.
	Write(ctx context.Context, e *ledger.Entry, insertToken string) error
}
