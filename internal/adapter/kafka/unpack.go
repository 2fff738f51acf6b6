package kafka

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"slices"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/millrace/millrace/internal/pipeline/sink"
)

const (
	// maxUnpacked bounds what the records of one batch may take. Edges' batches are a
	// megabyte of records at most; a broker takes a megabyte of compressed ones, which
	// may be anything.
	maxUnpacked = 32 << 20
	// keepUnpacked is how much memory waits for the next batch.
	keepUnpacked = 8 << 20
)

var (
	errTooLarge = fmt.Errorf("the records of a batch take more than %d bytes", maxUnpacked)
	errCodec    = errors.New("a batch is compressed with an unknown codec")
	errLz4      = errors.New("an lz4 frame is malformed")
)

// unpacker decompresses one batch after the other into the same memory, each up to
// maxUnpacked. The client's own decompressor has no bound.
type unpacker struct {
	memory []byte
	gzip   gzip.Reader
	lz4    *lz4.Reader
	zstd   *zstd.Decoder
}

// unpack returns the records of a batch, which are valid until the next call. Its error
// wraps errTooLarge where they are beyond the bound, and sink.ErrPanicked where a decompressor
// panics.
func (u *unpacker) unpack(packed []byte, codec kgo.CompressionCodecType) (records []byte, err error) {
	if codec == kgo.CodecNone { // as large as the broker lets it be
		return packed, nil
	}
	defer func() {
		if cause := recover(); cause != nil {
			*u = unpacker{}
			records, err = nil, panicked(cause)
		}
	}()
	u.release()
	records, err = u.by(codec, u.memory[:0], packed)
	if err != nil {
		return nil, err
	}
	u.memory = records
	if len(records) > maxUnpacked {
		return nil, errTooLarge
	}
	return records, nil
}

// panicked is the error of a batch at which the code that reads it panicked. It has nothing of what
// the batch holds.
func panicked(cause any) error {
	return fmt.Errorf("%w: %v\n%s", sink.ErrPanicked, cause, debug.Stack())
}

// release says that the records of the batch before are of no use any more: memory that is
// large does not wait for the next one.
func (u *unpacker) release() {
	if cap(u.memory) > keepUnpacked {
		u.memory = nil
	}
}

func (u *unpacker) by(codec kgo.CompressionCodecType, to, packed []byte) ([]byte, error) {
	switch codec {
	case kgo.CodecGzip:
		if err := u.gzip.Reset(bytes.NewReader(packed)); err != nil {
			return nil, err
		}
		return readUpTo(room(to, gzipSize(packed)), &u.gzip)
	case kgo.CodecSnappy:
		return unpackSnappy(to, packed)
	case kgo.CodecLz4:
		return u.unpackLz4(to, packed)
	case kgo.CodecZstd:
		return u.unpackZstd(to, packed)
	case kgo.CodecNone:
	}
	return nil, fmt.Errorf("%w: %d", errCodec, codec)
}

// room makes room for as many bytes as a batch says that it has, up to the bound: to grow by
// and by leaves behind several times of what a large batch takes, all of which the process has to
// hold until the collector comes.
func room(to []byte, bytes int) []byte {
	needed := len(to) + min(max(0, bytes), maxUnpacked) + roomToEnd
	if cap(to) >= needed {
		return to
	}
	return append(make([]byte, 0, needed), to...)
}

// roomToEnd is what readUpTo needs beyond what it reads, so as to see the end.
const roomToEnd = 2 * bytes.MinRead

// gzipSize is what the end of a gzip stream says that its last member has
// (https://www.rfc-editor.org/rfc/rfc1952), 0 where there is none.
func gzipSize(packed []byte) int {
	const sizeBytes = 4
	if len(packed) < sizeBytes {
		return 0
	}
	return int(binary.LittleEndian.Uint32(packed[len(packed)-sizeBytes:]))
}

// readUpTo reads what r has, and one byte beyond the bound at most.
func readUpTo(to []byte, r io.Reader) ([]byte, error) {
	b := bytes.NewBuffer(to)
	_, err := b.ReadFrom(io.LimitReader(r, maxUnpacked+1))
	return b.Bytes(), err
}

func (u *unpacker) unpackZstd(to, packed []byte) (_ []byte, err error) {
	if u.zstd == nil {
		u.zstd, err = zstd.NewReader(nil,
			zstd.WithDecoderLowmem(true), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxUnpacked))
		if err != nil {
			return nil, err
		}
	}
	if size := zstdSize(packed); size > 0 {
		to = room(to, size)
	}
	to, err = u.zstd.DecodeAll(packed, to)
	if errors.Is(err, zstd.ErrDecoderSizeExceeded) {
		return nil, errTooLarge
	}
	return to, err
}

// zstdSize is what the blocks of a frame that does not say it may have together, as far as they
// can be read and within the bound; 0 for one that does say it, for which the decoder makes room
// (https://www.rfc-editor.org/rfc/rfc8878, 3.1.1.2).
func zstdSize(packed []byte) (size int) {
	const (
		headerBytes = 3
		rle         = 1
		most        = 128 << 10 // of a block that is compressed
	)
	var h zstd.Header
	if h.Decode(packed) != nil || h.HasFCS || h.Skippable {
		return 0
	}
	for b := packed[h.HeaderSize:]; len(b) > headerBytes && size <= maxUnpacked; {
		head := uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16
		n := int(head >> 3)
		size += max(n, most)
		if head>>1&3 == rle {
			n = 1
		}
		if last := head&1 == 1; last {
			break
		}
		b = b[min(headerBytes+n, len(b)):]
	}
	return size
}

// The frame of the Java client around blocks of snappy: a magic text and two versions,
// then each block behind its size.
const (
	xerialMagic  = "\x82SNAPPY\x00"
	xerialHeader = len(xerialMagic) + 8
)

func unpackSnappy(to, packed []byte) ([]byte, error) {
	if !bytes.HasPrefix(packed, []byte(xerialMagic)) || len(packed) < xerialHeader {
		return appendSnappy(to, packed)
	}
	to = room(to, xerialSize(packed[xerialHeader:]))
	for packed = packed[xerialHeader:]; len(packed) > 0; {
		if len(packed) < 4 || uint64(binary.BigEndian.Uint32(packed)) > uint64(len(packed)-4) {
			return nil, s2.ErrCorrupt
		}
		n := 4 + int(binary.BigEndian.Uint32(packed))
		var err error
		if to, err = appendSnappy(to, packed[4:n]); err != nil {
			return nil, err
		}
		packed = packed[n:]
	}
	return to, nil
}

// xerialSize adds up what the blocks say that they have, as far as they can be read.
func xerialSize(blocks []byte) (size int) {
	for len(blocks) > 4 && size <= maxUnpacked {
		n := min(int64(binary.BigEndian.Uint32(blocks)), int64(len(blocks)-4))
		of, err := s2.DecodedLen(blocks[4 : 4+n])
		if err != nil {
			break
		}
		size, blocks = size+of, blocks[4+n:]
	}
	return size
}

func appendSnappy(to, packed []byte) ([]byte, error) {
	n, err := s2.DecodedLen(packed)
	if err != nil {
		return nil, err
	}
	if n > maxUnpacked-len(to) {
		return nil, errTooLarge
	}
	to = slices.Grow(to, n)
	block, err := s2.Decode(to[len(to):len(to)+n], packed)
	return to[:len(to)+len(block)], err
}
