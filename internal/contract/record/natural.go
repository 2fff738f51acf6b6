package record

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"strconv"
)

// naturalPrefix tells ids made of what an event says from all others.
const naturalPrefix = "n_"

// appendNatural appends the id of an event that is known by what it says:
// naturalPrefix and the first 32 hexadecimal digits of SHA-256 over the owner, the
// type, and then key and text of each field that is there, in the order of
// writing, all length-prefixed. Only what the caller said counts, since whatever
// else is in the event may differ from one sending to the next: of the times the one
// that the caller gave, no text that is found out, and no visitor's id that varies, since
// it is hashed with the salt of the day, or from some countries is not, where a session
// says whose the event is. (Without one it does count: of many visitors some say the same
// in the same millisecond.) A field that a later revision adds changes no id of events
// without it. The room behind dst serves as scratch space.
func appendNatural(dst []byte, e *Event, varies bool) []byte {
	from := len(dst)
	dst = appendPart(dst, e.Owner)
	dst = appendPart(dst, e.Type)
	dst = appendField(dst, nameField, e.sentName())
	said := e.TimeMillis
	if e.HasRaw {
		said = e.RawMillis
	}
	dst = appendPart(dst, fieldKeys[tsField])
	dst = appendPrefixed(dst, func(dst []byte) []byte { return strconv.AppendInt(dst, said, 10) })
	for f := anonymousIDField; f <= sourceField; f++ {
		if f == anonymousIDField && varies && len(e.SessionID) > 0 {
			continue
		}
		dst = appendField(dst, f, *e.text(f))
	}
	if w := e.Web; w != nil {
		for t := range w.Texts {
			if WebText(t).foundOut() {
				continue
			}
			dst = appendField(dst, textField(WebText(t)), w.Texts[t])
		}
		for n := range w.Numbers {
			if w.Has&(1<<n) == 0 {
				continue
			}
			dst = appendPart(dst, fieldKeys[numberField(WebNumber(n))])
			dst = appendPrefixed(dst, func(dst []byte) []byte { return appendNumber(dst, w.Numbers[n]) })
		}
	}
	dst = appendField(dst, propertiesField, e.Properties)
	sum := sha256.Sum256(dst[from:])
	return hex.AppendEncode(append(dst[:from], naturalPrefix...), sum[:len(Hash{})])
}

// sentName is the name that the caller said, whether the event is stored under it or not.
func (e *Event) sentName() []byte {
	if e.Web != nil && len(e.Web.Texts[OriginalName]) > 0 {
		return e.Web.Texts[OriginalName]
	}
	return e.Name
}

// appendField appends key and text of a field that is there.
func appendField(dst []byte, f field, text []byte) []byte {
	if len(text) == 0 {
		return dst
	}
	return appendPart(appendPart(dst, fieldKeys[f]), text)
}

// appendPart appends the length of a part in four bytes, big-endian, and the part.
func appendPart(dst, part []byte) []byte {
	return append(binary.BigEndian.AppendUint32(dst, uint32(len(part))), part...)
}

// appendPrefixed is appendPart for what write appends.
func appendPrefixed(dst []byte, write func([]byte) []byte) []byte {
	from := len(dst)
	dst = write(append(dst, 0, 0, 0, 0))
	binary.BigEndian.PutUint32(dst[from:], uint32(len(dst)-from-4))
	return dst
}
