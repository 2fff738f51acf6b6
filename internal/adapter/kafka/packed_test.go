package kafka

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/pipeline/sink/buffer"
)

// originalsFrom are n records from an offset on, of different sizes: some have no key, no
// value or no headers.
func originalsFrom(first int64, n int) []buffer.Original {
	all := make([]buffer.Original, n)
	for i := range all {
		o := buffer.Original{Offset: first + int64(i)}
		if i%3 > 0 {
			o.Key = fmt.Append(nil, "key ", i)
		}
		if i%5 > 0 {
			o.Value = bytes.Repeat([]byte{byte(i)}, i%700)
		}
		for h := range i % 4 {
			o.Headers = append(o.Headers, record.Header{Key: fmt.Sprint("header ", h), Value: fmt.Append(nil, i, "/", h)})
		}
		all[i] = o
	}
	return all
}

// bytesOf writes records as a batch has them.
func bytesOf(originals []buffer.Original) (all []byte) {
	text := func(to, b []byte) []byte {
		if b == nil {
			return binary.AppendVarint(to, -1)
		}
		return append(binary.AppendVarint(to, int64(len(b))), b...)
	}
	for i, o := range originals {
		body := binary.AppendVarint([]byte{0, 0}, int64(i))
		body = binary.AppendVarint(text(text(body, o.Key), o.Value), int64(len(o.Headers)))
		for _, h := range o.Headers {
			body = text(text(body, []byte(h.Key)), h.Value)
		}
		all = append(binary.AppendVarint(all, int64(len(body))), body...)
	}
	return all
}

// What was delivered of a batch is read from it again, whatever was opened before it.
func TestAPackedBatchGivesBackWhatWasDeliveredOfIt(t *testing.T) {
	t.Parallel()
	const first, n = 1000, 900
	originals := originalsFrom(first, n)
	records := bytesOf(originals)
	var memory buffer.Unpacked
	var all, copies []buffer.Original
	for name, pack := range codecs {
		c := pack(t, records)
		p := packedOf(rawBatch(first, n, c.bytes, c.codec), 1)[0]
		var delivered []buffer.Record
		share := p.share(n)
		w := walk{batchHeader: headerOf(p.batch), rest: records, size: len(records), share: share, left: n, next: first}
		for w.left > 0 {
			var err error
			if delivered, _, err = w.portion(delivered, 0); err != nil {
				t.Fatal(err)
			}
		}
		o, err := p.Open(memory)
		if err != nil {
			t.Fatal(err)
		}
		memory = o
		for i, r := range delivered {
			want := originals[i]
			if got := o.Records()[r.At : int(r.At)+len(r.Value)]; !bytes.Equal(got, want.Value) {
				t.Fatalf("%s: the value at %d has %d bytes, want %d", name, r.Offset, len(got), len(want.Value))
			}
			if counted := max(share, uint32(len(want.Value))); r.Size != counted {
				t.Fatalf("%s: the record at %d counts %d bytes, want %d", name, r.Offset, r.Size, counted)
			}
			if i%7 > 0 {
				continue
			}
			got, err := o.Original(r.Offset)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			all, copies = append(all, want), append(copies, got)
		}
		if _, err := o.Original(first + n); !errors.Is(err, errBatch) {
			t.Errorf("%s: a record behind the last one: %v", name, err)
		}
		clear(o.Records())
	}
	// Only now: copies outlive the memory that they were made of.
	if diff := cmp.Diff(all, copies, bytesAtOnce); diff != "" {
		t.Errorf("originals (-want +got):\n%s", diff)
	}
}

func TestABatchCountsForItsRecordsTogether(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 2, 3, 1000} {
		p := packedOf(batchAt(0, n), 1)[0]
		if got, size := int(p.share(n))*max(1, n), len(p.batch)+packedOverhead; got < size || got >= size+max(1, n) {
			t.Errorf("%d records of a batch of %d bytes count %d", n, size, got)
		}
	}
}

// The client's response is one piece of memory: a batch that is kept keeps no other.
func TestBatchesAreKeptApart(t *testing.T) {
	t.Parallel()
	response := append(batchAt(0, 5), batchAt(5, 3)...)
	all := packedOf(response, 7)
	clear(response)
	want := [][]byte{batchAt(0, 5), batchAt(5, 3)}
	for i, p := range all {
		if !bytes.Equal(p.batch, want[i]) || cap(p.batch) > 2*len(p.batch) || p.broker != 7 {
			t.Errorf("batch %d has %d bytes in %d, of broker %d", i, len(p.batch), cap(p.batch), p.broker)
		}
	}
	if len(all) != len(want) {
		t.Errorf("%d batches", len(all))
	}
}

// A malformed batch is an error, and no end of the process, for whoever opens it.
func FuzzOpen(f *testing.F) {
	f.Add(batchAt(3, 4), int64(4))
	f.Add(rawBatch(3, 9, bytesOf(originalsFrom(3, 9)), kgo.CodecNone), int64(9))
	f.Fuzz(func(_ *testing.T, b []byte, offset int64) {
		for _, p := range packedOf(b, 1) {
			if o, err := p.Open(nil); err == nil {
				_, _ = o.Original(offset)
			}
		}
	})
}
