package kafka

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/millrace/millrace/internal/pipeline/sink/buffer"
)

// packedOverhead is what a packed batch takes in memory besides its bytes: the packed
// itself, and what points to it.
const packedOverhead = 64

// packed is a record batch as a broker sent it, in memory of its own. It implements
// buffer.Packed.
type packed struct {
	batch  []byte
	broker int32 // that sent it
}

// packedOf copies the batches of a response, each for itself: whoever keeps one keeps no other.
func packedOf(batches []byte, broker int32) (all []*packed) {
	for batch, rest := nextBatch(batches); batch != nil; batch, rest = nextBatch(rest) {
		all = append(all, &packed{batch: bytes.Clone(batch), broker: broker})
	}
	return all
}

// share is what the batch takes in memory for each of its records.
func (p *packed) share(records int) uint32 {
	n := max(1, records)
	return uint32((len(p.batch) + packedOverhead + n - 1) / n)
}

// Open implements buffer.Packed.
func (p *packed) Open(memory buffer.Unpacked) (buffer.Unpacked, error) {
	o, ok := memory.(*opened)
	if !ok {
		o = &opened{}
	}
	o.header = headerOf(p.batch)
	records, err := o.unpack.unpack(p.batch[batchHeaderSize:], o.header.codec())
	if err != nil {
		return nil, fmt.Errorf("decompressing the batch at %d: %w", o.header.first, err)
	}
	o.records, o.rest = records, records
	return o, nil
}

// opened are the records of a batch. It implements buffer.Unpacked.
type opened struct {
	unpack  unpacker
	header  batchHeader
	records []byte
	rest    []byte // the records that no original was looked for in
}

// Records implements buffer.Unpacked.
func (o *opened) Records() []byte { return o.records }

// Release implements buffer.Unpacked.
func (o *opened) Release() {
	o.records, o.rest = nil, nil
	o.unpack.release()
}

// Original implements buffer.Unpacked.
func (o *opened) Original(offset int64) (buffer.Original, error) {
	for len(o.rest) > 0 {
		length, size := binary.Varint(o.rest)
		if size <= 0 || length < 0 || length > int64(len(o.rest)-size) {
			break
		}
		f := fields{rest: o.rest[size : size+int(length)]}
		f.skip(1)  // attributes
		f.varint() // time against the batch's
		at := o.header.first + f.varint()
		if at > offset {
			break
		}
		o.rest = o.rest[size+int(length):]
		if at == offset {
			return originalOf(&f, offset)
		}
	}
	return buffer.Original{}, fmt.Errorf("%w: the batch has no record at %d", errBatch, offset)
}
