package kafka

import (
	"bytes"
	"encoding/binary"
	"slices"

	"github.com/pierrec/lz4/v4"
)

// The flags of an lz4 frame (https://github.com/lz4/lz4/blob/dev/doc/lz4_Frame_format.md).
const (
	lz4Magic       = 0x184d2204
	lz4Independent = 0x60 // version 1, and blocks that do not refer to each other
	lz4FixedFlags  = 0xe1 // what must be as in lz4Independent: version, blocks, no dictionary
	lz4BlockSums   = 0x10
	lz4ContentSize = 0x08
	lz4ContentSum  = 0x04
	lz4SumBytes    = 4
)

// unpackLz4 unpacks the frames that producers of Kafka write block by block into its
// memory; the library's reader, which all others go through, copies each block twice.
// The batch has a checksum of its own, those of the frame are passed over.
func (u *unpacker) unpackLz4(to, packed []byte) ([]byte, error) {
	for len(packed) > 0 {
		f := lz4FrameOf(packed)
		if f.blocks == nil {
			if u.lz4 == nil {
				u.lz4 = lz4.NewReader(nil)
			}
			u.lz4.Reset(bytes.NewReader(packed))
			return readUpTo(to, u.lz4)
		}
		var err error
		if to, packed, err = f.append(to); err != nil {
			return nil, err
		}
	}
	return to, nil
}

// lz4Frame is one frame without its header.
type lz4Frame struct {
	blocks   []byte // and all that follows; nil where it is no frame that is read here
	most     int    // bytes of a block, unpacked
	blockSum int    // bytes behind each block
	sum      int    // bytes behind the end mark
}

// lz4FrameOf reads the header of a frame.
func lz4FrameOf(b []byte) (f lz4Frame) {
	const header = 7 // magic number, flags, block size, hash
	if len(b) < header || binary.LittleEndian.Uint32(b) != lz4Magic || b[4]&lz4FixedFlags != lz4Independent {
		return f
	}
	flags, size, at := b[4], b[5]>>4&7, header
	if flags&lz4ContentSize != 0 {
		at += 8
	}
	if size < 4 || len(b) < at {
		return f
	}
	f.blocks, f.most = b[at:], 1<<(2*size+8) // 64 KiB, 256 KiB, 1 MiB, 4 MiB
	if flags&lz4BlockSums != 0 {
		f.blockSum = lz4SumBytes
	}
	if flags&lz4ContentSum != 0 {
		f.sum = lz4SumBytes
	}
	return f
}

// size is what the blocks may have together, which is less than a block too much, as far as they
// can be read and within the bound.
func (f *lz4Frame) size() (bytes int) {
	for b := f.blocks; len(b) >= lz4SizeBytes && bytes <= maxUnpacked; {
		size := binary.LittleEndian.Uint32(b)
		n := min(int64(size&^lz4Stored)+int64(f.blockSum), int64(len(b)-lz4SizeBytes))
		switch {
		case size == 0:
			return bytes
		case size&lz4Stored != 0:
			bytes += int(n)
		default:
			bytes += f.most
		}
		b = b[lz4SizeBytes+n:]
	}
	return bytes
}

// append unpacks the blocks up to the end mark, and returns what follows the frame.
func (f *lz4Frame) append(to []byte) (_, rest []byte, err error) {
	to = room(to, f.size())
	for b := f.blocks; len(b) >= lz4SizeBytes; {
		size := binary.LittleEndian.Uint32(b)
		b = b[lz4SizeBytes:]
		if size == 0 {
			return to, b[min(f.sum, len(b)):], nil
		}
		n := int(size &^ lz4Stored)
		if n > len(b)-f.blockSum {
			break
		}
		if size&lz4Stored != 0 {
			to = append(to, b[:n]...)
		} else if to, err = f.appendBlock(to, b[:n]); err != nil {
			return nil, nil, err
		}
		if len(to) > maxUnpacked {
			return nil, nil, errTooLarge
		}
		b = b[n+f.blockSum:]
	}
	return nil, nil, errLz4
}

func (f *lz4Frame) appendBlock(to, block []byte) ([]byte, error) {
	to = slices.Grow(to, f.most)
	n, err := lz4.UncompressBlock(block, to[len(to):len(to)+f.most])
	if err != nil {
		return nil, err
	}
	return to[:len(to)+n], nil
}
