package kafka

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"runtime"
	"testing"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/millrace/millrace/internal/testkit"
)

// codecs are what producers make of bytes, by the name of how.
var codecs = map[string]func(tb testing.TB, src []byte) compressed{
	"none":   func(_ testing.TB, src []byte) compressed { return compressed{src, kgo.CodecNone} },
	"xerial": func(_ testing.TB, src []byte) compressed { return compressed{xerial(src), kgo.CodecSnappy} },
	"snappy": func(_ testing.TB, src []byte) compressed {
		return compressed{s2.EncodeSnappy(nil, src), kgo.CodecSnappy}
	},
	"zstd": byZstd,
	"gzip": func(tb testing.TB, src []byte) compressed {
		tb.Helper()
		var b bytes.Buffer
		w, err := gzip.NewWriterLevel(&b, gzip.BestSpeed) // all levels are unpacked alike
		if err != nil {
			tb.Fatal(err)
		}
		return compressed{written(tb, w, src, &b), kgo.CodecGzip}
	},
	"lz4 of the edge": func(_ testing.TB, src []byte) compressed {
		var dst bytes.Buffer
		frame, codec := newLz4Compressor().Compress(&dst, src)
		return compressed{frame, codec}
	},
	"lz4 of the client": func(tb testing.TB, src []byte) compressed { tb.Helper(); return byLz4(tb, src) },
	"lz4 with sums": func(tb testing.TB, src []byte) compressed {
		tb.Helper()
		return byLz4(tb, src, lz4.BlockChecksumOption(true), lz4.ChecksumOption(true),
			lz4.SizeOption(uint64(len(src))), lz4.BlockSizeOption(lz4.Block256Kb))
	},
	"lz4 of old": func(tb testing.TB, src []byte) compressed {
		tb.Helper()
		return byLz4(tb, src,
			lz4.LegacyOption(true))
	},
}

func byLz4(tb testing.TB, src []byte, options ...lz4.Option) compressed {
	tb.Helper()
	var b bytes.Buffer
	w := lz4.NewWriter(&b)
	if err := w.Apply(options...); err != nil {
		tb.Fatal(err)
	}
	return compressed{written(tb, w, src, &b), kgo.CodecLz4}
}

func byZstd(tb testing.TB, src []byte) compressed {
	tb.Helper()
	var b bytes.Buffer
	w, err := zstd.NewWriter(&b)
	if err != nil {
		tb.Fatal(err)
	}
	return compressed{written(tb, w, src, &b), kgo.CodecZstd}
}

type compressed struct {
	bytes []byte
	codec kgo.CompressionCodecType
}

func written(tb testing.TB, w interface {
	Write(b []byte) (int, error)
	Close() error
}, src []byte, to *bytes.Buffer,
) []byte {
	tb.Helper()
	_, err := w.Write(src)
	if err := errors.Join(err, w.Close()); err != nil {
		tb.Fatal(err)
	}
	return to.Bytes()
}

// xerial is the Java client's frame around snappy.
func xerial(src []byte) []byte {
	b := append([]byte(xerialMagic), 0, 0, 0, 1, 0, 0, 0, 1)
	for len(src) > 0 {
		n := min(len(src), 32<<10)
		block := s2.EncodeSnappy(nil, src[:n])
		b = append(binary.BigEndian.AppendUint32(b, uint32(len(block))), block...)
		src = src[n:]
	}
	return b
}

func TestEveryCodecIsUnpacked(t *testing.T) {
	t.Parallel()
	var u unpacker
	sizes := []int{0, 1, 100, lz4BlockBytes, lz4BlockBytes + 1, 1_000_012}
	if testkit.Strict() {
		sizes = append(sizes, 5<<20)
	}
	for _, n := range sizes {
		for kind, src := range map[string][]byte{"events": eventsText(n), "zeros": make([]byte, n), "noise": noise(n)} {
			for name, pack := range codecs {
				p := pack(t, src)
				got, err := u.unpack(p.bytes, p.codec)
				if err != nil || !bytes.Equal(got, src) {
					t.Errorf("%d bytes of %s by %s: %d bytes, %v", n, kind, name, len(got), err)
				}
			}
		}
	}
}

func TestWhatUnpacksBeyondTheBoundIsRejected(t *testing.T) {
	t.Parallel()
	beyond := make([]byte, maxUnpacked+1)
	for name, pack := range codecs {
		var u unpacker
		p := pack(t, beyond[:maxUnpacked])
		if got, err := u.unpack(p.bytes, p.codec); err != nil || len(got) != maxUnpacked {
			t.Errorf("%s at the bound: %d bytes, %v", name, len(got), err)
		}
		if name == "none" { // as large as the broker lets it be
			continue
		}
		p = pack(t, beyond)
		if _, err := u.unpack(p.bytes, p.codec); !errors.Is(err, errTooLarge) {
			t.Errorf("%s one beyond the bound: %v", name, err)
		}
		if cap(u.memory) > 2*maxUnpacked {
			t.Errorf("%s: %d bytes are kept", name, cap(u.memory))
		}
	}
	var u unpacker
	if _, err := u.unpack([]byte{1}, 7); !errors.Is(err, errCodec) {
		t.Errorf("a codec that is not known: %v", err)
	}
}

// What a large batch leaves behind is held until the collector comes, so it should be unpacked
// into one piece of memory.
func TestALargeBatchIsUnpackedIntoOnePiece(t *testing.T) { //nolint:paralleltest // it counts what the process allocates
	const size, besides = 12 << 20, 9 << 20 // a block of lz4, and windows
	src := eventsText(size)
	for name, pack := range codecs {
		switch name {
		case "none", "snappy": // which are one block already
			continue
		case "lz4 of old": // the library has blocks of 8 MB, and nobody writes it any more
			continue
		}
		p := pack(t, src)
		var u unpacker
		if _, err := u.unpack(p.bytes, p.codec); err != nil { // makes what it keeps
			t.Fatal(err)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		got, err := u.unpack(p.bytes, p.codec)
		runtime.ReadMemStats(&after)
		if err != nil || len(got) != size {
			t.Fatalf("%s: %d bytes, %v", name, len(got), err)
		}
		if took := after.TotalAlloc - before.TotalAlloc; took > size+besides {
			t.Errorf("%s: %d bytes were allocated to unpack %d", name, took, size)
		}
	}
}

// A process with many partitions has one unpacker for each insert, and most of the time none
// of them has a batch.
func TestMemoryOfALargeBatchDoesNotWaitForTheNextOne(t *testing.T) {
	t.Parallel()
	for name, pack := range codecs {
		if name == "none" { // which needs no memory
			continue
		}
		for size, kept := range map[int]bool{keepUnpacked / 4: true, keepUnpacked + 1: false} {
			p := pack(t, make([]byte, size))
			b := packedOf(rawBatch(0, 1, p.bytes, p.codec), 1)[0]
			o, err := b.Open(nil)
			if err != nil {
				t.Fatalf("%s of %d bytes: %v", name, size, err)
			}
			o.Release()
			if got := o.(*opened).unpack.memory != nil; got != kept || o.Records() != nil {
				t.Errorf("%s of %d bytes: memory is kept %v, want %v; its records: %d bytes",
					name, size, got, kept, len(o.Records()))
			}
		}
	}
}

func FuzzUnpack(f *testing.F) {
	for _, pack := range codecs {
		p := pack(f, eventsText(1000))
		f.Add(byte(p.codec), p.bytes)
	}
	var u unpacker
	f.Fuzz(func(t *testing.T, codec byte, b []byte) {
		if got, err := u.unpack(b, kgo.CompressionCodecType(codec)); err == nil && len(got) > maxUnpacked {
			t.Errorf("%d bytes", len(got))
		}
	})
}
