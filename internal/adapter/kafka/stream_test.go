package kafka

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/pipeline/sink/buffer"
)

// recordBytes are n records without headers whose offsets begin with that of their batch.
func recordBytes(n int, value []byte) (all []byte) {
	for i := range n {
		body := binary.AppendVarint([]byte{0, 0}, int64(i))
		body = binary.AppendVarint(body, -1)
		body = append(binary.AppendVarint(body, int64(len(value))), value...)
		body = append(body, 0)
		all = append(binary.AppendVarint(all, int64(len(body))), body...)
	}
	return all
}

// rawBatch is a batch of n records, as a broker has it.
func rawBatch(first int64, n int, records []byte, codec kgo.CompressionCodecType) []byte {
	b := kmsg.RecordBatch{
		FirstOffset: first, Length: int32(batchHeaderSize - batchLengthSize + len(records)), Magic: currentMagic,
		Attributes: int16(codec), LastOffsetDelta: int32(n - 1), ProducerID: -1, ProducerEpoch: -1, FirstSequence: -1,
		NumRecords: int32(n), Records: records,
	}
	out := b.AppendTo(nil)
	return signed(out)
}

func signed(batch []byte) []byte {
	binary.BigEndian.PutUint32(batch[17:], crc32.Checksum(batch[batchCRCFrom:], castagnoli))
	return batch
}

func batchAt(first int64, n int) []byte {
	return rawBatch(first, n, recordBytes(n, []byte("v")), kgo.CodecNone)
}

func TestOnlyWholeBatchesOfAResponseAreKept(t *testing.T) {
	t.Parallel()
	a, b, c := batchAt(10, 5), batchAt(15, 5), batchAt(30, 1)
	broken := bytes.Clone(b)
	broken[len(broken)-1]++
	old := bytes.Clone(b)
	old[16] = 1
	join := func(all ...[]byte) []byte { return bytes.Join(all, nil) }
	for _, tc := range []struct {
		name     string
		response []byte
		from     int64
		want     []byte
		next     int64
		broken   bool
	}{
		{"nothing", nil, 10, nil, 10, false},
		{"all of it", join(a, b, c), 10, join(a, b, c), 31, false},
		{"the last one cut off", join(a, b, c[:len(c)-1]), 10, join(a, b), 20, false},
		{"cut off in its header", join(a, b[:batchHeaderSize-1]), 10, a, 15, false},
		{"half of the only one", a[:len(a)/2], 10, nil, 10, false},
		{"one that begins before the offset", join(a, b), 12, join(a, b), 20, false},
		{"one that ends before the offset", join(a, b), 15, b, 20, false},
		{"all before the offset", join(a, b), 20, nil, 20, false},
		{"offsets that nobody has", c, 22, c, 31, false},
		{"a broken one", join(a, broken, c), 10, a, 15, true},
		{"the first one broken", join(broken, c), 15, nil, 15, true},
		{"an old version, which says so when it is read", join(a, old), 15, old, 20, false},
	} {
		got, next, ok := wholeBatches(tc.response, tc.from)
		if !bytes.Equal(got, tc.want) || next != tc.next || ok == tc.broken {
			t.Errorf("%s: %d bytes up to %d, %v; want %d up to %d", tc.name, len(got), next, ok, len(tc.want), tc.next)
		}
	}
}

func TestAWalkTellsOfEachRecordOnce(t *testing.T) {
	t.Parallel()
	const n = 2*portionRecords + 10
	w := walkOf(batchAt(100, n))
	var sizes []int
	next := int64(105)
	for w.left > 0 {
		records, _, err := w.portion(nil, 105)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range records {
			if r.Offset != next || string(r.Value) != "v" || !r.BadHeaders {
				t.Fatalf("%+v, want offset %d", r, next)
			}
			next++
		}
		sizes = append(sizes, len(records))
	}
	if diff := cmp.Diff([]int{portionRecords, portionRecords, 5}, sizes); diff != "" {
		t.Errorf("portions (-want +got):\n%s", diff)
	}
	large := walkOf(rawBatch(0, 5, recordBytes(5, make([]byte, portionBytes/2)), kgo.CodecNone))
	if records, bytes, err := large.portion(nil, 0); len(records) != 2 || bytes != 2*inHand+portionBytes || err != nil {
		t.Errorf("%d records of %d bytes, %v", len(records), bytes, err)
	}
}

func walkOf(batch []byte) walk {
	h := headerOf(batch)
	return walk{batchHeader: h, rest: batch[batchHeaderSize:], left: h.records, next: h.first}
}

func TestARecordThatDoesNotFitItsBatchIsRejected(t *testing.T) {
	t.Parallel()
	whole := batchAt(7, 3)
	for name, spoil := range map[string]func(*walk){
		"cut off":                     func(w *walk) { w.rest = w.rest[:len(w.rest)-1] },
		"more than there are":         func(w *walk) { w.left++ },
		"offsets beyond its last one": func(w *walk) { w.last-- },
		"offsets that go back":        func(w *walk) { w.next = 9 },
	} {
		w := walkOf(whole)
		spoil(&w)
		if records, _, err := w.portion(nil, 0); !errors.Is(err, errBatch) {
			t.Errorf("%s: %d records, %v", name, len(records), err)
		}
	}
}

func FuzzBatches(f *testing.F) {
	f.Add(batchAt(3, 4), int64(4))
	f.Fuzz(func(t *testing.T, b []byte, from int64) {
		batches, _, _ := wholeBatches(b, from)
		for batch, rest := nextBatch(batches); batch != nil; batch, rest = nextBatch(rest) {
			for w := walkOf(batch); w.left > 0; {
				before := w.left
				if _, _, err := w.portion(nil, from); err != nil {
					break
				}
				if w.left == before {
					t.Fatal("does not go on")
				}
			}
		}
	})
}

func BenchmarkWalk(b *testing.B) {
	const n = 1000
	records := batchOf(b, n)
	var to []buffer.Record
	b.ReportAllocs()
	for b.Loop() {
		w := walk{batchHeader: batchHeader{last: n}, rest: records, left: n}
		var err error
		if to, _, err = w.portion(to[:0], 0); err != nil || len(to) != n || to[0].Hash == (record.Hash{}) {
			b.Fatal(err, len(to))
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/record")
}

// What was asked for before a partition was given up, or before what it had was dropped,
// may be answered later. It belongs to nobody.
func TestALateResponseIsDropped(t *testing.T) {
	t.Parallel()
	f := newFetcher(1 << 20)
	response := func() *kmsg.FetchResponseTopicPartition {
		got := kmsg.NewFetchResponseTopicPartition()
		got.RecordBatches, got.HighWatermark = batchAt(0, 5), 5
		return &got
	}
	f.begin(only, record.TopicEvents, [16]byte{1}, mark{0, -1})
	old := ask{stream: f.streams[only]}
	f.begin(only, record.TopicEvents, [16]byte{1}, mark{0, -1})
	f.add(1, old, response())
	if f.held != 0 || f.hasSomething() {
		t.Errorf("%d bytes of a partition that was given up are held", f.held)
	}
	now := ask{stream: f.streams[only]}
	f.add(1, now, response())
	f.add(1, now, response()) // of the same offset
	if got, ok := f.take(); !ok || f.held != int64(len(got.batch)) || f.streams[only].next.offset != 5 {
		t.Errorf("%d bytes are held up to %d", f.held, f.streams[only].next.offset)
	}
	f.stop(only)
	if f.held != 0 || len(f.order) != 0 {
		t.Errorf("%d bytes of %d partitions are held", f.held, len(f.order))
	}
}

// A batch is done with for the stream that it was taken of, whatever came meanwhile.
func TestWhatIsDoneWithCountsOnce(t *testing.T) {
	t.Parallel()
	f := newFetcher(1 << 20)
	add := func() {
		got := kmsg.NewFetchResponseTopicPartition()
		got.RecordBatches = append(batchAt(0, 5), batchAt(5, 5)...)
		f.add(1, ask{stream: f.streams[only]}, &got)
	}
	f.begin(only, record.TopicEvents, [16]byte{1}, mark{0, -1})
	add()
	first, _ := f.take()
	if _, ok := f.take(); ok {
		t.Error("a batch was taken while another one of its partition is")
	}
	f.done(&first, 3, false)
	again, ok := f.take()
	if !ok || again.from != 3 || !bytes.Equal(first.batch, again.batch) {
		t.Errorf("a batch that is not done with is gone on with at %d", again.from)
	}
	f.begin(only, record.TopicEvents, [16]byte{1}, mark{0, -1})
	add()
	f.done(&again, 5, true) // of the stream before
	if next, ok := f.take(); !ok || next.from != 0 {
		t.Errorf("the new stream begins at %d", next.from)
	}
}
