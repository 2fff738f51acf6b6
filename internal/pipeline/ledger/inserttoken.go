package ledger

import (
	"encoding/hex"
	"strconv"
)

// RangeInsertToken names what a range brings as a whole:
// <epoch>:<topic uuid>:<partition>:<first>-<last>. Whoever settles the same range
// sends the same token, and two different ranges never do.
func RangeInsertToken(epoch int64, topicID [16]byte, partition int32, r Span) string {
	return string(appendInsertToken(make([]byte, 0, 96), epoch, topicID, partition, r))
}

// BlockInsertToken names the insert of one month of a range: the range's token and
// :<YYYYMM>. Two months under one token would be taken for one insert by a table
// that is not partitioned by month.
func BlockInsertToken(epoch int64, topicID [16]byte, partition int32, r Span, month int) string {
	b := appendInsertToken(make([]byte, 0, 96), epoch, topicID, partition, r)
	return string(strconv.AppendInt(append(b, ':'), int64(month), 10))
}

// GapInsertToken names the entry of offsets that are gone: the token that they would have had as a
// range, and :gap.
func GapInsertToken(epoch int64, topicID [16]byte, partition int32, r Span) string {
	return RangeInsertToken(epoch, topicID, partition, r) + ":gap"
}

func appendInsertToken(b []byte, epoch int64, topicID [16]byte, partition int32, r Span) []byte {
	b = strconv.AppendInt(b, epoch, 10)
	b = append(b, ':')
	b = appendUUID(b, topicID)
	b = append(b, ':')
	b = strconv.AppendInt(b, int64(partition), 10)
	b = append(b, ':')
	b = strconv.AppendInt(b, r.First, 10)
	b = append(b, '-')
	return strconv.AppendInt(b, r.Last, 10)
}

// UUID returns a topic's id in the usual form.
func UUID(id [16]byte) string { return string(appendUUID(make([]byte, 0, 36), id)) }

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
