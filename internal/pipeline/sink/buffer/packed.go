package buffer

import (
	"errors"
	"fmt"
)

// ErrUnreadable is wrapped by the error of a batch that cannot be unpacked: it is malformed,
// or larger than a process can be asked to hold.
var ErrUnreadable = errors.New("a record batch cannot be read")

// Packed is a record batch as the log has it, compressed. It never changes, and several
// goroutines may open it.
type Packed interface {
	// Open unpacks the batch into the memory of one that was opened before, which is of
	// no use any more; nil is none. Its error is that of a batch that is malformed, which
	// one that records were delivered of never is.
	Open(memory Unpacked) (Unpacked, error)
}

// Unpacked are the records of a batch, for one goroutine.
type Unpacked interface {
	// Records returns the memory in which the values of the batch lie.
	Records() []byte
	// Original returns a copy of the record at an offset. Those of one batch are asked for
	// by ascending offsets.
	Original(offset int64) (Original, error)
	// Release says that none of the batch is needed any more.
	Release()
}

// batches are those that records in hand were read from, in their order. Records that have
// one are kept as they came, and unpacked again, one batch at a time, when they are needed.
type batches []Packed

// put adds a batch, which is the last one or comes behind it, and returns its place.
func (b batches) put(p Packed) (batches, uint32) {
	if n := len(b); n == 0 || b[n-1] != p {
		b = append(b, p)
	}
	return b, uint32(len(b) - 1)
}

// cut divides the batches in those up to the one at a place and those from it on: records
// of one batch may belong to two ranges.
func (b batches) cut(at uint32) (head, rest batches) {
	return b[: at+1 : at+1], append(batches(nil), b[at:]...)
}

// Reader reads records of a range, batch after batch. The zero value is ready. It has one
// user at a time.
type Reader struct {
	batch  Packed // that is open
	opened Unpacked
}

// Open has the batch of one of a range's records open.
func (r *Reader) Open(from *Range, rec *Held) error {
	p := from.batches[rec.value.batch]
	if p == r.batch {
		return nil
	}
	opened, err := p.Open(r.opened)
	if err != nil {
		*r = Reader{}
		return unreadable(rec, err)
	}
	r.batch, r.opened = p, opened
	return nil
}

// unreadable is the error of a batch that could be read when it came, and cannot any more.
func unreadable(rec *Held, err error) error {
	return fmt.Errorf("%w: repeatedly, at offset %d: %w", ErrUnreadable, rec.Offset, err)
}

// Value returns the value of a record, whose batch is open, until another one is.
func (r *Reader) Value(rec *Held) []byte {
	return r.opened.Records()[rec.value.at : rec.value.at+rec.value.size]
}

// original returns a copy of a record, whose batch is open.
func (r *Reader) original(rec *Held) (Original, error) {
	o, err := r.opened.Original(rec.Offset)
	if err != nil {
		return Original{}, unreadable(rec, err)
	}
	return o, nil
}

// KeptOpen is up to how many bytes of memory a batch stays unpacked while its reader waits.
const KeptOpen = 4 << 20

// Rest lets go of a batch that is large while the reader waits; it is unpacked again
// afterwards. It returns how many bytes stay.
func (r *Reader) Rest() (bytes int64) {
	if r.batch == nil {
		return 0
	}
	if bytes = int64(cap(r.opened.Records())); bytes > KeptOpen {
		*r = Reader{}
		return 0
	}
	return bytes
}

// Close lets go of the batch, but not of what the next one may be unpacked into.
func (r *Reader) Close() {
	r.batch = nil
	if r.opened != nil {
		r.opened.Release()
	}
}
