// Package buffertest makes batches in memory, for tests of what holds records and of what
// reads them again.
package buffertest

import (
	"fmt"
	"slices"

	"github.com/millrace/millrace/internal/pipeline/sink/buffer"
)

// Packed is a batch in memory.
type Packed struct{ records []buffer.Record }

// Pack makes a batch of records, and says in them where their values lie in it.
func Pack(records []buffer.Record) *Packed {
	p, at := &Packed{slices.Clone(records)}, 0
	for i := range records {
		r := &records[i]
		p.records[i].Value = slices.Clone(r.Value)
		r.At, r.Size = uint32(at), uint32(len(r.Value))
		at += len(r.Value)
	}
	return p
}

// Open implements buffer.Packed.
func (p *Packed) Open(memory buffer.Unpacked) (buffer.Unpacked, error) {
	u, ok := memory.(*unpacked)
	if !ok {
		u = &unpacked{}
	}
	clear(u.values)
	u.records, u.values = p.records, u.values[:0]
	for i := range p.records {
		u.values = append(u.values, p.records[i].Value...)
	}
	return u, nil
}

// unpacked is memory that is used again for each batch.
type unpacked struct {
	records []buffer.Record
	values  []byte
}

func (u *unpacked) Records() []byte { return u.values }

func (u *unpacked) Release() {
	clear(u.values)
	u.records, u.values = nil, u.values[:0]
}

func (u *unpacked) Original(offset int64) (buffer.Original, error) {
	for len(u.records) > 0 && u.records[0].Offset <= offset {
		r := u.records[0]
		u.records = u.records[1:]
		if r.Offset == offset {
			return buffer.Original{Offset: offset, Key: []byte("web_1"), Value: slices.Clone(r.Value)}, nil
		}
	}
	return buffer.Original{}, fmt.Errorf("no record at %d", offset)
}
