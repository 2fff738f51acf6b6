package kafka

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"testing"

	"github.com/pierrec/lz4/v4"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/millrace/millrace/internal/contract/record"
)

// The benchmarks of this file hold what is our own against the libraries that do the same;
// docs/adr/0024-libraries-and-what-is-our-own.md has the figures.

// A batch is packed by us, by the client, and by the library's writer told what ours does: blocks
// of 64 KiB, no sums, one after the other.
func BenchmarkPackLz4(b *testing.B) {
	byClient, err := kgo.DefaultCompressor(kgo.Lz4Compression())
	if err != nil {
		b.Fatal(err)
	}
	writer := lz4.NewWriter(nil)
	if err := writer.Apply(lz4.BlockSizeOption(lz4.Block64Kb), lz4.ChecksumOption(false),
		lz4.ConcurrencyOption(1)); err != nil {
		b.Fatal(err)
	}
	byLibrary := func(dst *bytes.Buffer, src []byte) []byte {
		writer.Reset(dst)
		if _, err := writer.Write(src); err != nil || writer.Close() != nil {
			b.Fatal(err)
		}
		return dst.Bytes()
	}
	ours := newLz4Compressor()
	for _, n := range []int{20_000, 500_000} {
		src, dst := eventsText(n), &bytes.Buffer{}
		for name, pack := range map[string]func() []byte{
			"ours":    func() []byte { out, _ := ours.Compress(dst, src); return out },
			"client":  func() []byte { out, _ := byClient.Compress(dst, src); return out },
			"library": func() []byte { return byLibrary(dst, src) },
		} {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				b.SetBytes(int64(n))
				b.ReportAllocs()
				for b.Loop() {
					dst.Reset()
					b.ReportMetric(float64(n)/float64(len(pack())), "ratio")
				}
			})
		}
	}
}

// A frame of a producer's is unpacked by us, by the client, and by the library's reader with
// the bound that ours has.
func BenchmarkUnpackLz4(b *testing.B) {
	for _, n := range []int{20_000, 500_000} {
		frame, _ := newLz4Compressor().Compress(&bytes.Buffer{}, eventsText(n))
		var u unpacker
		byClient, reader, into := kgo.DefaultDecompressor(), lz4.NewReader(nil), &bytes.Buffer{}
		for name, unpack := range map[string]func() (int, error){
			"ours":   func() (int, error) { out, err := u.unpack(frame, kgo.CodecLz4); return len(out), err },
			"client": func() (int, error) { out, err := byClient.Decompress(frame, kgo.CodecLz4); return len(out), err },
			"library": func() (int, error) {
				reader.Reset(bytes.NewReader(frame))
				into.Reset()
				_, err := into.ReadFrom(io.LimitReader(reader, maxUnpacked+1))
				return into.Len(), err
			},
		} {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				b.SetBytes(int64(n))
				b.ReportAllocs()
				for b.Loop() {
					if got, err := unpack(); err != nil || got != n {
						b.Fatal(got, err)
					}
				}
			})
		}
	}
}

// The records of one batch as a broker sends it, packed by lz4: by us, with what their headers
// say; by the client, as objects; and by the reader of the protocol's own types.
func BenchmarkRecords(b *testing.B) {
	const n = 1000
	frame, _ := newLz4Compressor().Compress(&bytes.Buffer{}, batchOf(b, n))
	batch := rawBatch(0, n, frame, kgo.CodecLz4)
	var u unpacker
	byClient := kgo.DefaultDecompressor()
	memory, _, _ := (&walk{}).portion(nil, 0)
	for name, read := range map[string]func() (int, error){
		"ours": func() (int, error) {
			h := headerOf(batch)
			records, err := u.unpack(batch[batchHeaderSize:], h.codec())
			if err != nil || !h.isWhole(batch) {
				return 0, errBatch
			}
			w := walk{batchHeader: h, rest: records, left: h.records}
			memory, _, err = w.portion(memory[:0], 0)
			return len(memory), err
		},
		"client": func() (int, error) {
			response := kmsg.FetchResponseTopicPartition{RecordBatches: batch, HighWatermark: n}
			got, _ := kgo.ProcessFetchPartition(
				kgo.ProcessFetchPartitionOpts{Topic: record.TopicEvents}, &response, byClient, nil,
			)
			return len(got.Records), got.Err
		},
		"protocol": func() (int, error) {
			var whole kmsg.RecordBatch
			if err := whole.ReadFrom(batch); err != nil {
				return 0, err
			}
			records, err := byClient.Decompress(whole.Records, kgo.CodecLz4)
			return readRecords(records), err
		},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if got, err := read(); err != nil || got != n {
					b.Fatal(got, err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/record")
		})
	}
}

// readRecords counts the records that the reader of the protocol's types reads.
func readRecords(b []byte) (n int) {
	for len(b) > 0 {
		length, size := binary.Varint(b)
		var r kmsg.Record
		if size <= 0 || int(length) > len(b)-size || r.ReadFrom(b[:size+int(length)]) != nil {
			return -1
		}
		b = b[size+int(length):]
		n++
	}
	return n
}
