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

// Whatever the sizes, and wherever ranges are cut: a value is what was delivered,
// and all chunks come back.
func TestValuesAreKeptUntilTheirRangeLetsGoOfThem(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := testMemory()
		out := map[*byte]bool{} // chunks in use
		m.fresh = func() []byte {
			c := make([]byte, 0, chunkSize)
			out[unsafe.SliceData(c)] = true
			return c
		}
		m.back = func(c []byte) { delete(out, unsafe.SliceData(c)) }
		sizes := rapid.SliceOfN(rapid.SampledFrom([]int{0, 1, 600, largeValue - 1, largeValue, 3 * chunkSize}), 1, 200).Draw(t, "sizes")
		var o open
		var want [][]byte
		for i, size := range sizes {
			value := bytes.Repeat([]byte{byte(i)}, size)
			want = append(want, bytes.Clone(value))
			o.append([]Record{{Offset: int64(i), Value: value}}, time.Time{}, m)
			clear(value) // the client's own again
		}
		for next := 0; len(o.records) > 0; {
			n := rapid.IntRange(1, len(o.records)).Draw(t, "range")
			r := o.freeze(n, o.records[n-1].offset, m)
			for i := range r.records {
				if got := r.values.at(r.records[i].value); !bytes.Equal(got, want[next]) {
					t.Fatalf("value %d has %d bytes, want %d", next, len(got), len(want[next]))
				}
				next++
			}
			r.letGo(m)
		}
		o.drop(m)
		if len(out) > 0 {
			t.Fatalf("%d chunks did not come back", len(out))
		}
	})
}
