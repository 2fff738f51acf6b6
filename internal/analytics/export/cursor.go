package export

import (
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
	"time"
)

// RowKey is the place of a row in the order of an export: what of the table's
// sort key follows the owner.
type RowKey struct {
	Day  uint16 // since 1970, UTC
	Name string
	Key  uint64
}

// A cursor is, in base64url: its version, the position's day and key, its name,
// and a checksum over these that begins with what the export is of. So neither a
// damaged cursor nor one of another website, kind or range is taken for one of
// this export. It is no secret and no proof: whoever makes one up learns nothing
// that the export would not have told.
const (
	cursorVersion = 1
	cursorHead    = 1 + 2 + 8
	cursorSum     = 4
	// MaxCursorLen bounds the text of a cursor: names have at most 256 code points.
	MaxCursorLen = (cursorHead+4*256+cursorSum)*4/3 + 4
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// seal is the beginning of the checksums of an export's cursors.
type seal uint32

func newSeal(kind, owner string, start, end time.Time) seal {
	var text []byte
	for _, part := range []string{kind, owner} {
		text = append(binary.AppendUvarint(text, uint64(len(part))), part...)
	}
	text = binary.BigEndian.AppendUint64(text, uint64(start.UnixMilli()))
	text = binary.BigEndian.AppendUint64(text, uint64(end.UnixMilli()))
	return seal(crc32.Checksum(text, castagnoli))
}

// append appends the cursor of a position to dst; scratch is memory for it.
func (s seal) append(dst, scratch []byte, day uint16, name []byte, key uint64) (text, used []byte) {
	raw := scratch[:0]
	raw = append(raw, cursorVersion)
	raw = binary.BigEndian.AppendUint16(raw, day)
	raw = binary.BigEndian.AppendUint64(raw, key)
	raw = append(raw, name...)
	raw = binary.BigEndian.AppendUint32(raw, crc32.Update(uint32(s), castagnoli, raw))
	return base64.RawURLEncoding.AppendEncode(dst, raw), raw
}

func (s seal) text(p *RowKey) string {
	text, _ := s.append(nil, nil, p.Day, []byte(p.Name), p.Key)
	return string(text)
}

// open reads a cursor; ok is false for one that this export did not give.
func (s seal) open(text string) (p *RowKey, ok bool) {
	if len(text) > MaxCursorLen {
		return nil, false
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(raw) < cursorHead+cursorSum || raw[0] != cursorVersion {
		return nil, false
	}
	body, sum := raw[:len(raw)-cursorSum], binary.BigEndian.Uint32(raw[len(raw)-cursorSum:])
	if crc32.Update(uint32(s), castagnoli, body) != sum {
		return nil, false
	}
	return &RowKey{
		Day: binary.BigEndian.Uint16(body[1:]), Key: binary.BigEndian.Uint64(body[3:]), Name: string(body[cursorHead:]),
	}, true
}

// AppendCursor appends the cursor of a block's row to dst; scratch is memory for it,
// which is returned to be used again.
func (q *Query) AppendCursor(dst, scratch []byte, b *Block, row int) (text, used []byte) {
	return q.seal.append(dst, scratch, b.Days[row], b.Names(row), b.Keys[row])
}

// CursorAfter is the cursor that goes on after a position.
func (q *Query) CursorAfter(p *RowKey) string { return q.seal.text(p) }
