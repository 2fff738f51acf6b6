package kafka

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/pipeline/sink"
)

// The layout of a record batch, version 2 of the message format
// (https://kafka.apache.org/documentation/#recordbatch).
const (
	batchLengthAt   = 8  // of what follows the length itself
	batchCRCFrom    = 21 // the checksum is over all from here on
	batchHeaderSize = 61
	batchLengthSize = 12 // first offset and length
	currentMagic    = 2
	compressionMask = 0x07
	controlBit      = 0x20
)

var (
	errBatch   = errors.New("a record batch is malformed")
	castagnoli = crc32.MakeTable(crc32.Castagnoli)
)

// nextBatch returns the first whole batch of a response and what follows it; the
// last one of a response may be cut off.
func nextBatch(b []byte) (batch, rest []byte) {
	if len(b) < batchHeaderSize {
		return nil, nil
	}
	n := int64(binary.BigEndian.Uint32(b[batchLengthAt:])) + batchLengthSize
	if n < batchHeaderSize || n > int64(len(b)) {
		return nil, nil
	}
	return b[:n], b[n:]
}

// after returns the offset after the last one of the whole batches of a response;
// 0 when there is none.
func after(response []byte) (next int64) {
	for batch, rest := nextBatch(response); batch != nil; batch, rest = nextBatch(rest) {
		h := headerOf(batch)
		next = h.last + 1
	}
	return next
}

// batchHeader is what a batch says of itself.
type batchHeader struct {
	first, last int64 // offsets
	epoch       int32 // of the leader that appended it
	magic       byte
	attributes  uint16
	time        int64 // of the first record, in Unix milliseconds
	records     int   // without those that compaction took away
	sum         uint32
}

// headerOf reads the header of a whole batch. One of an older version has its magic
// number at the same place, and nothing else.
func headerOf(batch []byte) batchHeader {
	first := int64(binary.BigEndian.Uint64(batch))
	return batchHeader{
		first: first, last: first + int64(binary.BigEndian.Uint32(batch[23:])),
		epoch: int32(binary.BigEndian.Uint32(batch[12:])), magic: batch[16], attributes: binary.BigEndian.Uint16(batch[21:]),
		time:    int64(binary.BigEndian.Uint64(batch[27:])),
		records: int(int32(binary.BigEndian.Uint32(batch[57:]))), sum: binary.BigEndian.Uint32(batch[17:]),
	}
}

func (h *batchHeader) isControl() bool { return h.attributes&controlBit != 0 }

func (h *batchHeader) codec() kgo.CompressionCodecType {
	return kgo.CompressionCodecType(h.attributes & compressionMask)
}

// isWhole reports whether a batch is as it was written.
func (h *batchHeader) isWhole(batch []byte) bool {
	return crc32.Checksum(batch[batchCRCFrom:], castagnoli) == h.sum
}

// look tells of all records of a response that are before the end. What cannot be read of
// a batch that is as it was written was never delivered to anybody, and nobody has
// decided by it: an observer needs not know it. Nor of one that is damaged and was fetched
// again and again, or at which a decompressor panics: whoever makes the window next has it no better.
func (s *scan) look(response []byte) error {
	for batch, rest := nextBatch(response); batch != nil && s.next < s.to; batch, rest = nextBatch(rest) {
		h := headerOf(batch)
		if h.magic == currentMagic && !h.isWhole(batch) {
			if h.first == s.damaged && s.fails >= rangeFails {
				continue
			}
			s.damagedAt(h.first)
			return fmt.Errorf("%w: at %d", errSum, h.first)
		}
		if h.isControl() {
			s.control = s.control || h.last >= s.next && h.first < s.to
			continue
		}
		if err := s.lookInto(batch, &h); errors.Is(err, sink.ErrPanicked) {
			s.panicked = fmt.Errorf("the batch at %d: %w", h.first, err)
		}
	}
	return nil
}

func (s *scan) lookInto(batch []byte, h *batchHeader) error {
	if h.magic != currentMagic {
		return fmt.Errorf("%w: version %d", errBatch, h.magic)
	}
	records, err := s.unpack.unpack(batch[batchHeaderSize:], h.codec())
	if err != nil {
		return fmt.Errorf("decompressing: %w", err)
	}
	return s.lookAtRecords(records, h.first, h.records)
}

func (s *scan) lookAtRecords(b []byte, first int64, n int) error {
	for range n {
		length, size := binary.Varint(b)
		if size <= 0 || length < 0 || length > int64(len(b)-size) {
			return errBatch
		}
		if err := s.lookAtRecord(b[size:size+int(length)], first); err != nil {
			return err
		}
		b = b[size+int(length):]
	}
	return nil
}

// lookAtRecord reads attributes, time and offset against the batch's, key, value,
// and then the headers.
func (s *scan) lookAtRecord(b []byte, first int64) error {
	f := fields{rest: b}
	f.skip(1)
	f.varint()
	offset := first + f.varint()
	f.bytes() // key
	f.bytes() // value
	if offset < s.next || offset >= s.to {
		return f.check()
	}
	var h record.Headers
	err := f.headers(&h)
	if f.bad {
		return errBatch
	}
	s.records++
	s.next = offset + 1
	if err == nil {
		s.observer.Observe(h.Hash, h.ReceivedAt)
	}
	return nil
}

// fields reads the parts of a record.
type fields struct {
	rest []byte
	bad  bool
}

func (f *fields) skip(n int) {
	if f.bad || n > len(f.rest) {
		f.bad = true
		return
	}
	f.rest = f.rest[n:]
}

func (f *fields) varint() int64 {
	// Nearly all are one byte or two.
	if len(f.rest) > 0 && f.rest[0] < 0x80 && !f.bad {
		v := uint64(f.rest[0])
		f.rest = f.rest[1:]
		return int64(v>>1) ^ -int64(v&1)
	}
	v, n := binary.Varint(f.rest)
	if n <= 0 || f.bad {
		f.bad = true
		return 0
	}
	f.rest = f.rest[n:]
	return v
}

// bytes reads a length and so many bytes; a length of -1 is none.
func (f *fields) bytes() []byte {
	n := f.varint()
	if n < 0 {
		return nil
	}
	if f.bad || n > int64(len(f.rest)) {
		f.bad = true
		return nil
	}
	b := f.rest[:n]
	f.rest = f.rest[n:]
	return b
}

func (f *fields) check() error {
	if f.bad {
		return errBatch
	}
	return nil
}
