package sink

import (
	"context"
	"encoding/hex"
	"strconv"
)

// Epochs tells the epoch of a topic: the first part of its insert tokens. It is
// raised when records are to be stored again although the server remembers their
// tokens, and by nothing else.
type Epochs interface {
	Epoch(ctx context.Context, topic string) (int64, error)
}

// FixedEpoch is the same epoch for every topic.
type FixedEpoch int64

// Epoch returns the fixed epoch.
func (e FixedEpoch) Epoch(context.Context, string) (int64, error) { return int64(e), nil }

// span is a range of offsets, both ends included.
type span struct{ first, last int64 }

// token names one insert: <epoch>:<topic uuid>:<partition>:<first>-<last>:<YYYYMM>.
// Whoever inserts the same range sends the same token, and two different inserts
// never do.
func token(epoch int64, topicID [16]byte, partition int32, r span, month int) string {
	b := make([]byte, 0, 96)
	b = strconv.AppendInt(b, epoch, 10)
	b = append(b, ':')
	b = appendUUID(b, topicID)
	b = append(b, ':')
	b = strconv.AppendInt(b, int64(partition), 10)
	b = append(b, ':')
	b = strconv.AppendInt(b, r.first, 10)
	b = append(b, '-')
	b = strconv.AppendInt(b, r.last, 10)
	b = append(b, ':')
	b = strconv.AppendInt(b, int64(month), 10)
	return string(b)
}

func appendUUID(b []byte, id [16]byte) []byte {
	start := 0
	for _, end := range [...]int{4, 6, 8, 10, 16} {
		if start > 0 {
			b = append(b, '-')
		}
		b = hex.AppendEncode(b, id[start:end])
		start = end
	}
	return b
}
