package kafka

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/twmb/franz-go/pkg/kgo"
)

// compressed is what a producer makes of bytes, by the name of how.
func compressed(tb testing.TB, src []byte) map[string]packed {
	tb.Helper()
	all := map[string]packed{"none": {src, kgo.CodecNone}, "xerial": {xerial(src), kgo.CodecSnappy}, "snappy": {s2.EncodeSnappy(nil, src), kgo.CodecSnappy}}
	var dst bytes.Buffer
	frame, codec := newLz4Compressor().Compress(&dst, src)
	all["lz4 of the edge"] = packed{bytes.Clone(frame), codec}
	for name, options := range map[string][]lz4.Option{
		"lz4 of the client": nil,
		"lz4 with sums":     {lz4.BlockChecksumOption(true), lz4.ChecksumOption(true), lz4.SizeOption(uint64(len(src))), lz4.BlockSizeOption(lz4.Block256Kb)},
		"lz4 with links":    {lz4.LegacyOption(true)},
	} {
		var b bytes.Buffer
		w := lz4.NewWriter(&b)
		if err := w.Apply(options...); err != nil {
			tb.Fatal(err)
		}
		all[name] = packed{written(tb, w, src, &b), kgo.CodecLz4}
	}
	var g, z bytes.Buffer
	all["gzip"] = packed{written(tb, gzip.NewWriter(&g), src, &g), kgo.CodecGzip}
	w, err := zstd.NewWriter(&z)
	if err != nil {
		tb.Fatal(err)
	}
	all["zstd"] = packed{written(tb, w, src, &z), kgo.CodecZstd}
	return all
}

type packed struct {
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
	for _, n := range []int{0, 1, 100, lz4BlockBytes, lz4BlockBytes + 1, 1_000_012, 5 << 20} {
		for kind, src := range map[string][]byte{"events": eventsText(n), "zeros": make([]byte, n), "noise": noise(n)} {
			for name, p := range compressed(t, src) {
				got, err := u.unpack(p.bytes, p.codec)
				if err != nil || !bytes.Equal(got, src) {
					t.Errorf("%d bytes of %s by %s: %d bytes, %v", n, kind, name, len(got), err)
				}
			}
		}
	}
}

func TestWhatUnpacksBeyondTheBoundIsRefused(t *testing.T) {
	t.Parallel()
	var u unpacker
	for name, p := range compressed(t, make([]byte, maxUnpacked)) {
		if got, err := u.unpack(p.bytes, p.codec); err != nil || len(got) != maxUnpacked {
			t.Errorf("%s at the bound: %d bytes, %v", name, len(got), err)
		}
	}
	for name, p := range compressed(t, make([]byte, maxUnpacked+1)) {
		if name == "none" { // as large as the broker lets it be
			continue
		}
		if _, err := u.unpack(p.bytes, p.codec); !errors.Is(err, errTooLarge) {
			t.Errorf("%s one beyond the bound: %v", name, err)
		}
		if cap(u.memory) > 2*maxUnpacked {
			t.Errorf("%s: %d bytes are kept", name, cap(u.memory))
		}
	}
	if _, err := u.unpack([]byte{1}, 7); !errors.Is(err, errCodec) {
		t.Errorf("a codec that is not known: %v", err)
	}
}

func FuzzUnpack(f *testing.F) {
	for _, p := range compressed(f, eventsText(1000)) {
		f.Add(byte(p.codec), p.bytes)
	}
	var u unpacker
	f.Fuzz(func(t *testing.T, codec byte, b []byte) {
		if got, err := u.unpack(b, kgo.CompressionCodecType(codec)); err == nil && len(got) > maxUnpacked {
			t.Errorf("%d bytes", len(got))
		}
	})
}
