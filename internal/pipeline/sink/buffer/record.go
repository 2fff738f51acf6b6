package buffer

import (
	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/pipeline/deadletter"
)

// Record is one record as it is delivered. What it points to is only valid during
// the call that delivers it, and is read again from its batch.
type Record struct {
	Offset      int64
	LeaderEpoch int32 // of the leader that appended it; -1 when it is not known
	// ReceivedAt is the time of receipt in Unix milliseconds, from the record's headers;
	// where they are bad, the time that the log has of it, which may be anything.
	ReceivedAt int64
	Hash       record.Hash // identity of the event, from the record's headers
	Value      []byte
	// At says where Value begins in the unpacked records of its batch.
	At uint32
	// Size is how many bytes of memory the record counts: those of Value, or of its part of
	// the packed batch where that is more.
	Size uint32
	// BadHeaders says that headers, which ReceivedAt and Hash come from, are
	// missing or malformed, or that there are more of them than a record may have.
	BadHeaders bool
	// Control marks a record that only the broker needs: an offset without content.
	Control bool
	// Replay marks a dead letter that was sent again: it is never a duplicate.
	Replay bool
	// Traceparent is the W3C trace context of the request that brought the event;
	// empty when it was not traced.
	Traceparent []byte
}

// Original is a record as the log has it.
type Original struct {
	Offset     int64
	Key, Value []byte
	Headers    []record.Header // in their order
	// Cut is what there was of a record that is too large to be kept whole; nil of one
	// that is whole.
	Cut *deadletter.Sizes
}

// HeaderOverhead is what a header counts besides its texts, in bytes, here and as it is sent.
const HeaderOverhead = 120

// Bytes is what a record takes in memory as the log has it.
func (o *Original) Bytes() int64 {
	n := len(o.Key) + len(o.Value) + HeaderOverhead*len(o.Headers)
	for i := range o.Headers {
		n += len(o.Headers[i].Key) + len(o.Headers[i].Value)
	}
	return int64(n)
}
