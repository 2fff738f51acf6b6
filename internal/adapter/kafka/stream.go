package kafka

import (
	"time"

	"github.com/millrace/millrace/internal/pipeline/sink"
)

// stream is what is known of a partition while it is owned: how far it is fetched, how
// far it is delivered, and the batches between, as the broker sent them. A partition that
// is read again gets another stream; answers to requests of the old one are dropped.
type stream struct {
	partition sink.Partition
	topic     string // its name on the broker
	id        [16]byte

	from    mark      // what was not delivered begins here
	next    mark      // what was not fetched
	end     int64     // the offset after the last record, as of the latest response
	batches []*packed // from from to next, in order
	bytes   int64     // of the batches
	taken   bool      // the first batch is being delivered

	paused bool
	failed bool      // nothing more comes: the log does not have it, or it cannot be read
	fails  int       // in a row
	lacks  int       // of these, that the log does not have the offset, or not as it was written, in a row
	retry  time.Time // not to be asked for before
	since  time.Time // since when it could not be fetched; zero: it could, or was never asked for
	served int64     // when it last got batches, in responses
}

// mark is a place in a log: an offset, and the epoch of the leader that appended the record
// before it, -1 when it is not known. By it a broker tells whether its log is the one that
// was read so far.
type mark struct {
	offset int64
	epoch  int32
}

// unfetched notes that the partition could not be fetched.
func (s *stream) unfetched(now time.Time) {
	if s.since.IsZero() {
		s.since = now
	}
}

// deliverable reports whether a batch waits to be delivered.
func (s *stream) deliverable() bool { return !s.paused && !s.failed && !s.taken && len(s.batches) > 0 }

// add keeps the batches of a response, and returns their bytes.
func (s *stream) add(batches []*packed, next int64) (bytes int64) {
	s.next = mark{next, -1}
	for _, p := range batches {
		bytes += int64(len(p.batch))
		s.next.epoch = epochOf(p.batch)
	}
	s.batches = append(s.batches, batches...)
	s.bytes += bytes
	return bytes
}

// delivered notes how far a batch was delivered.
func (s *stream) delivered(batch []byte, next int64) {
	if next > s.from.offset {
		s.from = mark{next, epochOf(batch)}
	}
}

// epochOf is that of the leader that appended a batch. One of an older version has none.
func epochOf(batch []byte) int32 {
	if h := headerOf(batch); h.magic == currentMagic {
		return h.epoch
	}
	return -1
}

// pop lets the first batch go, and returns its bytes.
func (s *stream) pop() (freed int64) {
	freed = int64(len(s.batches[0].batch))
	s.bytes -= freed
	s.batches[0] = nil
	s.batches = s.batches[1:]
	return freed
}

// forget drops what waits, to be fetched again from where delivery stands.
func (s *stream) forget() (freed int64) {
	freed = s.bytes
	s.batches, s.bytes, s.next = nil, 0, s.from
	return freed
}

// wholeBatches returns the batches of a response that are whole and follow an offset, in
// the response's memory, and the offset after them. Batches may begin before the offset; the
// last one of a response may be cut off. ok is false where one is not as it was written;
// those before it are returned.
func wholeBatches(response []byte, offset int64) (batches []byte, next int64, ok bool) {
	from, to := 0, 0
	next = offset
	for batch, rest := nextBatch(response); batch != nil; batch, rest = nextBatch(rest) {
		h := headerOf(batch)
		if h.magic == currentMagic && !h.isWhole(batch) {
			return response[from:to], next, false
		}
		to += len(batch)
		if h.last >= next || h.magic != currentMagic { // that one says so when it is delivered
			next = max(next, h.last) + 1
		} else if from+len(batch) == to { // none is kept before it
			from = to
		}
	}
	return response[from:to], next, true
}
