package kafka

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pierrec/lz4/v4"
	"github.com/twmb/franz-go/pkg/kgo"
)

// eventsText is n bytes that compress as batches of events do.
func eventsText(n int) []byte {
	random := rand.New(rand.NewPCG(1, 2))
	var b []byte
	for len(b) < n {
		b = fmt.Appendf(b, `{"name":"page_view","eventId":"%016x%016x","path":"/shop/%d","anonymousId":"visitor-%d","properties":{"price":%d,"stock":true}}`,
			random.Uint64(), random.Uint64(), random.IntN(500), random.IntN(100_000), random.IntN(10_000))
	}
	return b[:n]
}

// noise is n bytes that do not compress.
func noise(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(b)
	return b
}

func TestAFrameIsReadBackAsItWas(t *testing.T) {
	t.Parallel()
	var dst bytes.Buffer
	compressor := newLz4Compressor()
	for _, n := range []int{
		0, 1, 13, 14, 15, 100, lz4BlockBytes - 1, lz4BlockBytes, lz4BlockBytes + 1, 2 * lz4BlockBytes, 1_000_012,
	} {
		for name, src := range map[string][]byte{
			"events": eventsText(n), "noise": noise(n), "zeros": make([]byte, n),
			"both": append(eventsText(n/2), noise(n-n/2)...),
		} {
			dst.Reset()
			frame, codec := compressor.Compress(&dst, src)
			if codec != kgo.CodecLz4 {
				t.Fatalf("codec %d, want %d", codec, kgo.CodecLz4)
			}
			if len(frame) > len(src)+len(lz4FrameHeader)+lz4SizeBytes*(n/lz4BlockBytes+2) {
				t.Errorf("%d bytes of %s became %d", n, name, len(frame))
			}
			byWriter, err := io.ReadAll(lz4.NewReader(bytes.NewReader(frame)))
			if err != nil || !bytes.Equal(byWriter, src) {
				t.Errorf("%d bytes of %s: the library reads %d bytes: %v", n, name, len(byWriter), err)
			}
			byClient, err := kgo.DefaultDecompressor().Decompress(frame, kgo.CodecLz4)
			if err != nil || !bytes.Equal(byClient, src) {
				t.Errorf("%d bytes of %s: the client reads %d bytes: %v", n, name, len(byClient), err)
			}
		}
	}
}

func TestAFrameBeginsAndEndsAsTheLibrarysWithTheSameOptions(t *testing.T) {
	t.Parallel()
	var want bytes.Buffer
	w := lz4.NewWriter(&want)
	if err := w.Apply(lz4.BlockSizeOption(lz4.Block64Kb), lz4.ChecksumOption(false)); err != nil {
		t.Fatal(err)
	}
	src := noise(100_000) // stored as it is, whoever writes it
	if _, err := w.Write(src); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if got, _ := newLz4Compressor().Compress(new(bytes.Buffer), src); !bytes.Equal(got, want.Bytes()) {
		t.Errorf("%d bytes, want the library's %d", len(got), want.Len())
	}
}

//nolint:paralleltest // counts the allocations of the process
func TestCompressingReusesTheClientsMemory(t *testing.T) {
	var dst bytes.Buffer
	compressor, src := newLz4Compressor(), eventsText(300_000)
	n := testing.AllocsPerRun(20, func() {
		dst.Reset()
		compressor.Compress(&dst, src)
	})
	if diff := cmp.Diff(0.0, n); diff != "" {
		t.Errorf("allocations (-want +got):\n%s", diff)
	}
}
