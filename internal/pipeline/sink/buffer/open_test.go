package buffer_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/millrace/millrace/internal/pipeline/ledger"
	"github.com/millrace/millrace/internal/pipeline/sink/buffer"
	"github.com/millrace/millrace/internal/pipeline/sink/buffer/buffertest"
)

func TestAnOpenRangeTakesEachOffsetOnce(t *testing.T) {
	t.Parallel()
	o := buffer.NewOpen(0, -1)
	m := buffer.NewMemory(2)
	add := func(offsets ...int64) {
		var rs []buffer.Record
		for _, n := range offsets {
			rs = append(rs, buffer.Record{Offset: n})
		}
		o.Append(buffertest.Pack(rs), rs, time.Time{}, m)
	}
	add(5, 6, 9)
	add(6, 9)
	add(9, 10)
	r := o.Seal(3, 9, m)
	// What comes before the first record has none, and belongs to it.
	if r.Span != (ledger.Span{First: 0, Last: 9}) || o.First() != 10 || len(r.Records) != 3 ||
		o.Len() != 1 || o.At(0).Offset != 10 {
		t.Errorf("range %v of %d records, %d left", r.Span, len(r.Records), o.Len())
	}
	if o.Bytes() != buffer.Overhead || r.Bytes() != 3*buffer.Overhead {
		t.Errorf("%d bytes left, %d frozen", o.Bytes(), r.Bytes())
	}
}

// Where the record at the end of a range is gone, as by compaction, so is its epoch: that of
// the record before may have ended earlier. Those behind it keep theirs.
func TestTheEpochOfARecordThatIsGoneIsNotKnown(t *testing.T) {
	t.Parallel()
	type cut struct {
		last          int64
		before, atEnd int32
	}
	for _, tc := range []struct {
		name    string
		records []buffer.Record // from offset 1
		cuts    []cut
	}{
		{
			"nothing is gone",
			[]buffer.Record{{Offset: 1, LeaderEpoch: 5}, {Offset: 2, LeaderEpoch: 6}},
			[]cut{{1, 4, 5}, {2, 5, 6}},
		},
		{
			"the last one",
			[]buffer.Record{{Offset: 1, LeaderEpoch: 5}, {Offset: 3, LeaderEpoch: 5}},
			[]cut{{2, 4, -1}, {3, -1, 5}},
		},
		{
			"the last one, before another leader",
			[]buffer.Record{{Offset: 1, LeaderEpoch: 5}, {Offset: 3, LeaderEpoch: 7}},
			[]cut{{2, 4, -1}, {3, -1, 7}},
		},
		{"all of a range", []buffer.Record{{Offset: 3, LeaderEpoch: 4}}, []cut{{2, 4, -1}, {3, -1, 4}}},
		{"all of two", []buffer.Record{{Offset: 4, LeaderEpoch: 4}}, []cut{{2, 4, -1}, {3, -1, -1}, {4, -1, 4}}},
		{"one in the middle", []buffer.Record{{Offset: 1, LeaderEpoch: 5}, {Offset: 3, LeaderEpoch: 5}}, []cut{{3, 4, 5}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			m := buffer.NewMemory(2)
			o := buffer.NewOpen(1, 4)
			o.Append(buffertest.Pack(tc.records), tc.records, time.Time{}, m)
			var got []cut
			for _, c := range tc.cuts {
				r := o.Seal(o.UpTo(c.last), c.last, m)
				got = append(got, cut{r.Last, r.EpochBefore, r.EpochOfLast})
			}
			if diff := cmp.Diff(tc.cuts, got, cmp.AllowUnexported(cut{})); diff != "" {
				t.Errorf("ranges (-want +got):\n%s", diff)
			}
		})
	}
}

// Whatever the sizes, and wherever batches end and ranges are cut: a record is what was
// delivered, and no range keeps a batch that is another one's.
func TestRecordsAreReadAgainFromTheirBatches(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := buffer.NewMemory(2)
		sizes := rapid.SliceOfN(rapid.SampledFrom([]int{0, 1, 600, 70_000}), 1, 200).Draw(t, "sizes")
		o := buffer.NewOpen(0, -1)
		var want [][]byte
		for len(want) < len(sizes) {
			var records []buffer.Record
			for range rapid.IntRange(1, min(50, len(sizes)-len(want))).Draw(t, "batch") {
				i := len(want)
				want = append(want, bytes.Repeat([]byte{byte(i)}, sizes[i]))
				records = append(records, buffer.Record{Offset: int64(i), Value: bytes.Clone(want[i])})
			}
			b := buffertest.Pack(records)
			cut := rapid.IntRange(0, len(records)).Draw(t, "portion")
			for _, some := range [][]buffer.Record{records[:cut], records[cut:]} {
				o.Append(b, some, time.Time{}, m)
			}
			for _, r := range records {
				clear(r.Value) // the client's own again
			}
		}
		var from buffer.Reader
		for next := 0; o.Len() > 0; {
			n := rapid.IntRange(1, o.Len()).Draw(t, "range")
			r := o.Seal(n, o.At(n-1).Offset, m)
			kept := map[buffer.Packed]bool{}
			for i := range r.Records {
				if err := from.Open(r, &r.Records[i]); err != nil {
					t.Fatal(err)
				}
				kept[from.Batch()] = true
				if got := from.Value(&r.Records[i]); !bytes.Equal(got, want[next]) {
					t.Fatalf("value %d has %d bytes, want %d", next, len(got), len(want[next]))
				}
				next++
			}
			offset := r.Records[rapid.IntRange(0, n-1).Draw(t, "letter")].Offset
			if got, err := r.Original(&buffer.Reader{}, offset); err != nil || !bytes.Equal(got.Value, want[offset]) {
				t.Fatalf("the original of %d is %v, %v", offset, got, err)
			}
			if r.Batches() != len(kept) {
				t.Fatalf("%d batches are kept of %d", r.Batches(), len(kept))
			}
		}
		if o.Batches() > 0 {
			t.Fatalf("%d batches are kept for nothing", o.Batches())
		}
	})
}
