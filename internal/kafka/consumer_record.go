package kafka

import (
	"math/bits"
	"sync"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/millrace/millrace/internal/record"
	"github.com/millrace/millrace/internal/sink"
)

// recordOf returns what the sink needs of a record; the value is not copied.
func recordOf(r *kgo.Record) sink.Record {
	if r.Attrs.IsControl() {
		return sink.Record{Offset: r.Offset, LeaderEpoch: r.LeaderEpoch, Control: true}
	}
	var h record.Headers
	var err error
	for i := range r.Headers {
		if e := h.Set(r.Headers[i].Key, r.Headers[i].Value); e != nil {
			err = e
		}
	}
	if err == nil {
		err = h.Check()
	}
	return sink.Record{
		Offset: r.Offset, LeaderEpoch: r.LeaderEpoch, ReceivedAt: h.ReceivedAt, Hash: h.Hash, BadHeaders: err != nil, Replay: h.Replay,
		Value: r.Value, Traceparent: h.Traceparent,
	}
}

// fetchPool keeps the memory that fetches are decoded into. A record is given
// back as soon as the sink has copied what it needs of it. Sizes are powers of
// two, each with a pool of its own: the client clears all of a slice before it
// gives it back, so a small batch must not be handed a large one.
type fetchPool struct{ bytes, records classes }

// expansion is how many times its size a compressed batch of events takes.
const expansion = 6

// GetDecompressBytes implements kgo.PoolDecompressBytes.
func (p *fetchPool) GetDecompressBytes(compressed []byte, _ kgo.CompressionCodecType) []byte {
	n := classFor(expansion * len(compressed))
	if b, ok := p.bytes[n].Get().(*[]byte); ok {
		return *b
	}
	return make([]byte, 0, 1<<n)
}

// PutDecompressBytes implements kgo.PoolDecompressBytes.
func (p *fetchPool) PutDecompressBytes(b []byte) { p.bytes[classOf(cap(b))].Put(&b) }

// GetRecords implements kgo.PoolRecords.
func (p *fetchPool) GetRecords(count int) []kgo.Record {
	n := classFor(count)
	if r, ok := p.records[n].Get().(*[]kgo.Record); ok {
		return *r
	}
	return make([]kgo.Record, 0, 1<<n)
}

// PutRecords implements kgo.PoolRecords.
func (p *fetchPool) PutRecords(r []kgo.Record) { p.records[classOf(cap(r))].Put(&r) }

// classes are pools by size: pool n has what holds 1<<n and less than twice that.
type classes [bits.UintSize]sync.Pool

// classFor returns the class of which each one holds n.
func classFor(n int) int { return bits.Len(uint(max(n, 1) - 1)) }

// classOf returns the class that something belongs to which holds n, at least 1.
func classOf(n int) int { return bits.Len(uint(n)) - 1 }
