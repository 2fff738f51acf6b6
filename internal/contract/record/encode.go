package record

import (
	"math"
	"math/bits"
	"strconv"

	"github.com/millrace/millrace/internal/contract/wire"
)

// AppendEvent appends the JSON value of e: one object, no insignificant white
// space, absent fields left out, properties last and as they are. Strings must be
// valid UTF-8, numbers finite. e.Version is not read; the value says EventVersion.
func AppendEvent(dst []byte, e *Event) []byte { return appendEvent(dst, e, nil) }

// shared is what the values of a batch have in common, written once.
type shared struct {
	belonging  []byte // what appendBelonging appends
	typed      []byte // and appendType
	receivedAt []byte // e.ReceivedAt in decimal
	plain      bool   // the caller's texts hold nothing that JSON wants escaped
}

// appendEvent is AppendEvent; with may be nil.
func appendEvent(dst []byte, e *Event, with *shared) []byte {
	plain := with != nil && with.plain
	dst = append(dst, head...)
	dst = appendText(dst, e.ID, plain)
	if e.IDGenerated {
		dst = append(dst, `,"idGenerated":true`...)
	}
	if with == nil {
		dst = appendType(appendBelonging(dst, e), e.Type)
	} else {
		dst = append(dst, with.belonging...)
		dst = append(dst, with.typed...)
	}
	dst = append(dst, `,"name":`...)
	dst = appendText(dst, e.Name, plain)
	dst = append(dst, `,"ts":`...)
	dst = strconv.AppendInt(dst, e.TimeMillis, 10)
	if e.HasRaw {
		dst = append(dst, `,"rawTs":`...)
		dst = strconv.AppendInt(dst, e.RawMillis, 10)
	}
	dst = append(dst, `,"receivedAt":`...)
	if with == nil {
		dst = strconv.AppendInt(dst, e.ReceivedAt, 10)
	} else {
		dst = append(dst, with.receivedAt...)
	}
	dst = appendOptional(dst, `,"anonymousId":`, e.AnonymousID, plain)
	dst = appendOptional(dst, `,"profileId":`, e.ProfileID, plain)
	dst = appendOptional(dst, `,"sessionId":`, e.SessionID, plain)
	dst = appendOptional(dst, `,"path":`, e.Path, plain)
	dst = appendOptional(dst, `,"namespace":`, e.Namespace, plain)
	dst = appendOptional(dst, `,"source":`, e.Source, plain)
	if e.Web != nil {
		dst = appendWeb(dst, e.Web)
	}
	if e.Click != nil {
		dst = appendClick(dst, e.Click)
	}
	if e.Exposure != nil {
		dst = appendExposure(dst, e.Exposure)
	}
	if len(e.Properties) > 0 {
		dst = append(dst, `,"properties":`...)
		dst = append(dst, e.Properties...)
	}
	return append(dst, '}')
}

var head = append(strconv.AppendInt([]byte(`{"v":`), EventVersion, 10), `,"id":`...)

// appendBelonging appends whose event it is.
func appendBelonging(dst []byte, e *Event) []byte {
	dst = append(dst, `,"organization":`...)
	dst = wire.AppendText(dst, e.Organization)
	dst = appendOptional(dst, `,"website":`, e.Website, false)
	dst = append(dst, `,"owner":`...)
	return wire.AppendText(dst, e.Owner)
}

func appendType(dst, name []byte) []byte {
	return wire.AppendText(append(dst, `,"type":`...), name)
}

// appendWeb appends what there is of the web's fields.
func appendWeb(dst []byte, w *Web) []byte {
	for t := range w.Texts {
		if text := w.Texts[t]; len(text) > 0 {
			dst = wire.AppendText(append(dst, webMembers[t]...), text)
		}
	}
	for has := w.Has; has != 0; has &= has - 1 {
		n := bits.TrailingZeros32(has)
		dst = appendNumber(append(dst, webMembers[NumWebTexts+n]...), w.Numbers[n])
	}
	return dst
}

// Below and above these, numbers are written with an exponent.
const (
	smallestPlain = 1e-6
	largestPlain  = 1e21
)

// appendNumber appends a number as the shortest text that means it.
func appendNumber(dst []byte, v float64) []byte {
	if whole := int64(v); float64(whole) == v && -maxWhole < whole && whole < maxWhole {
		return strconv.AppendInt(dst, whole, 10)
	}
	if abs := math.Abs(v); abs >= smallestPlain && abs < largestPlain {
		return strconv.AppendFloat(dst, v, 'f', -1, 64)
	}
	dst = strconv.AppendFloat(dst, v, 'e', -1, 64)
	if n := len(dst); string(dst[n-4:n-1]) == "e-0" { // as encoding/json has it
		dst = append(dst[:n-2], dst[n-1])
	}
	return dst
}

const maxWhole = 1 << 53 // up to here a float64 tells integers apart

func appendOptional(dst []byte, key string, value []byte, plain bool) []byte {
	if len(value) == 0 {
		return dst
	}
	return appendText(append(dst, key...), value, plain)
}

// appendText appends a string; a plain one is not searched for what to escape.
func appendText(dst, s []byte, plain bool) []byte {
	if !plain {
		return wire.AppendText(dst, s)
	}
	dst = append(dst, '"')
	dst = append(dst, s...)
	return append(dst, '"')
}
