package kafka

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/twmb/franz-go/pkg/kgo"
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
	errCodec    = errors.New("a batch is compressed by a codec that is not known")
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
// wraps errTooLarge where they are beyond the bound.
func (u *unpacker) unpack(packed []byte, codec kgo.CompressionCodecType) ([]byte, error) {
	if codec == kgo.CodecNone { // as large as the broker lets it be
		return packed, nil
	}
	u.release()
	records, err := u.by(codec, u.memory[:0], packed)
	if err != nil {
		return nil, err
	}
	u.memory = records
	if len(records) > maxUnpacked {
		return nil, errTooLarge
	}
	return records, nil
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
		return readUpTo(to, &u.gzip)
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
	to, err = u.zstd.DecodeAll(packed, to)
	if errors.Is(err, zstd.ErrDecoderSizeExceeded) {
		return nil, errTooLarge
	}
	return to, err
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
