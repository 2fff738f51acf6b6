package sink

import (
	"bytes"
	"testing"
	"time"
	"unsafe"

	"pgregory.net/rapid"
)

func TestAHeldRecordCountsWhatItTakes(t *testing.T) {
	t.Parallel()
	if size := unsafe.Sizeof(held{}); size > heldOverhead {
		t.Errorf("%d bytes, counted as %d", size, heldOverhead)
	}
}

// Whatever the sizes, and wherever batches end and ranges are cut: a record is what was
// delivered, and no range keeps a batch that is another one's.
func TestRecordsAreReadAgainFromTheirBatches(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := testMemory()
		sizes := rapid.SliceOfN(rapid.SampledFrom([]int{0, 1, 600, 70_000}), 1, 200).Draw(t, "sizes")
		var o open
		var want [][]byte
		for len(want) < len(sizes) {
			var records []Record
			for range rapid.IntRange(1, min(50, len(sizes)-len(want))).Draw(t, "batch") {
				i := len(want)
				want = append(want, bytes.Repeat([]byte{byte(i)}, sizes[i]))
				records = append(records, Record{Offset: int64(i), Value: bytes.Clone(want[i])})
			}
			b := batchOf(records)
			cut := rapid.IntRange(0, len(records)).Draw(t, "portion")
			for _, some := range [][]Record{records[:cut], records[cut:]} {
				o.append(&Batch{Packed: b.Packed, Records: some}, time.Time{}, m)
			}
			for _, r := range records {
				clear(r.Value) // the client's own again
			}
		}
		var from reader
		for next := 0; len(o.records) > 0; {
			n := rapid.IntRange(1, len(o.records)).Draw(t, "range")
			r := o.freeze(n, o.records[n-1].offset, m)
			kept := map[Packed]bool{}
			for i := range r.records {
				if err := from.open(r.batches, &r.records[i]); err != nil {
					t.Fatal(err)
				}
				kept[from.batch] = true
				if got := from.value(&r.records[i]); !bytes.Equal(got, want[next]) {
					t.Fatalf("value %d has %d bytes, want %d", next, len(got), len(want[next]))
				}
				next++
			}
			offset := r.records[rapid.IntRange(0, n-1).Draw(t, "letter")].offset
			if got, err := r.original(&reader{}, offset); err != nil || !bytes.Equal(got.Value, want[offset]) {
				t.Fatalf("the original of %d is %v, %v", offset, got, err)
			}
			if len(r.batches) != len(kept) {
				t.Fatalf("%d batches are kept of %d", len(r.batches), len(kept))
			}
		}
		if len(o.batches) > 0 {
			t.Fatalf("%d batches are kept for nothing", len(o.batches))
		}
	})
}
