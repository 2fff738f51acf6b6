package kafka

import (
	"encoding/binary"

	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/pipeline/sink/buffer"
)

const (
	// portionRecords and portionBytes bound what is handed over at a time of a batch's
	// records: however many it has, the slice of them stays small, and a batch that is
	// more than was asked for is handed over in several polls.
	portionRecords = 4096
	portionBytes   = 1 << 20
	// inHand is what the sink keeps of a record beside its value and its batch.
	inHand = 64
)

// walk goes through the unpacked records of a batch.
type walk struct {
	batchHeader

	rest  []byte // the records that are left
	size  int    // of all records
	share uint32 // what the packed batch takes for each record
	left  int    // how many are left
	next  int64  // the first one's offset, at least
}

// portion appends the next records from an offset on, up to a portion. bytes is what
// the sink keeps of them. There are no more when it appends nothing.
func (w *walk) portion(to []buffer.Record, from int64) (_ []buffer.Record, bytes int64, err error) {
	for n := 0; w.left > 0 && n < portionRecords && bytes < portionBytes; w.left-- {
		length, size := binary.Varint(w.rest)
		if size <= 0 || length < 0 || length > int64(len(w.rest)-size) {
			return to, bytes, errBatch
		}
		f := fields{rest: w.rest[size : size+int(length)]}
		w.rest = w.rest[size+int(length):]
		r := w.record(&f)
		if f.bad || r.Offset < w.next || r.Offset > w.last {
			return to, bytes, errBatch
		}
		w.next = r.Offset + 1
		if r.Offset >= from {
			to = append(to, r)
			bytes += int64(r.Size) + inHand
			n++
		}
	}
	return to, bytes, nil
}

// record reads what the sink needs of a record; nothing is copied.
func (w *walk) record(f *fields) buffer.Record {
	f.skip(1) // attributes
	logged := w.time + f.varint()
	offset := w.first + f.varint()
	f.bytes() // key
	value := f.bytes()
	if w.isControl() {
		return buffer.Record{Offset: offset, LeaderEpoch: w.epoch, Control: true, Size: w.share}
	}
	end := w.size - len(w.rest) - len(f.rest) // of the value
	var h record.Headers
	err := f.headers(&h)
	if err != nil {
		h.ReceivedAt = logged
	}
	return buffer.Record{
		Offset: offset, LeaderEpoch: w.epoch, ReceivedAt: h.ReceivedAt, Hash: h.Hash,
		BadHeaders: err != nil, Replay: h.Replay, Traceparent: h.Traceparent,
		Value: value, At: uint32(end - len(value)), Size: max(uint32(len(value)), w.share),
	}
}
