package kafka

import (
	"bytes"

	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/pipeline/deadletter"
	"github.com/millrace/millrace/internal/pipeline/sink/buffer"
)

// A broker bounds a batch as it is compressed, so a record may be far larger than what a
// dead letter topic takes, and its headers may take far more memory than bytes. Of such a
// record the beginning is kept, and what there was of it is told.
const (
	// wholeBytes is up to how many bytes a record is kept whole: a dead letter has further
	// headers.
	wholeBytes = deadLetterBatchBytes - 8<<10
	// What is kept of a larger one, in bytes. Of its headers these are the first, whole,
	// record.MaxHeaders at most.
	keptKey     = 64 << 10
	keptHeaders = 512 << 10
	keptValue   = 1 << 20
)

// originalOf copies a record of which key, value and headers are left to be read.
func originalOf(f *fields, offset int64) (buffer.Original, error) {
	size := len(f.rest)
	key, value := f.bytes(), f.bytes()
	n := f.varint()
	if f.bad {
		return buffer.Original{}, errBatch
	}
	if size > wholeBytes || n > record.MaxHeaders {
		return beginningOf(f, offset, key, value, n), nil
	}
	o := buffer.Original{Offset: offset, Key: bytes.Clone(key), Value: bytes.Clone(value)}
	for range n {
		key, value := f.bytes(), f.bytes()
		if f.bad {
			break
		}
		o.Headers = append(o.Headers, record.Header{Key: string(key), Value: bytes.Clone(value)})
	}
	return o, f.check()
}

// beginningOf copies the beginning of a record, of which n headers are left to be read. None
// is read that is not kept: whatever they are, the record is a dead letter.
func beginningOf(f *fields, offset int64, key, value []byte, n int64) buffer.Original {
	o := buffer.Original{
		Offset: offset,
		Key:    bytes.Clone(key[:min(len(key), keptKey)]), Value: bytes.Clone(value[:min(len(value), keptValue)]),
		Cut: &deadletter.Sizes{Key: int64(len(key)), Value: int64(len(value)), Headers: max(0, n)},
	}
	room := keptHeaders
	for range min(n, record.MaxHeaders) {
		before := len(f.rest)
		key, value := f.bytes(), f.bytes()
		if room -= before - len(f.rest); f.bad || room < 0 {
			break
		}
		o.Headers = append(o.Headers, record.Header{Key: string(key), Value: bytes.Clone(value)})
	}
	return o
}
