package record

import (
	"strconv"

	"github.com/millrace/millrace/internal/contract/wire"
)

// Exposure is what the records of exposures have besides: which variant of the flag, which
// is the record's name, somebody was given, and why. Who it was stands in ProfileID or
// AnonymousID.
type Exposure struct {
	Variant     []byte // "variant": key of the variant
	Environment []byte // "environment": in which the flag was asked for; absent for the base
	Reason      []byte // "reason": such as rollout; absent where nobody knows, as of what a client tells
	Sample      int    // "samplePercent": of how many visitors exposures are told, 1 to 100
}

// The fields of Exposure, which stand behind those of Click.
const (
	variantField field = firstExposure + iota
	environmentField
	reasonField
	sampleField

	endOfExposure
)

const numExposureFields = endOfExposure - firstExposure

// exposureFieldNames are their names in the JSON.
var exposureFieldNames = [numExposureFields]string{"variant", "environment", "reason", "samplePercent"}

// text returns where the string of a field is kept; nil for a field of another type.
func (x *Exposure) text(f field) *[]byte {
	switch f {
	case variantField:
		return &x.Variant
	case environmentField:
		return &x.Environment
	case reasonField:
		return &x.Reason
	default:
		return nil
	}
}

// appendExposure appends what there is of an exposure's fields.
func appendExposure(dst []byte, x *Exposure) []byte {
	for f := variantField; f <= reasonField; f++ {
		if text := *x.text(f); len(text) > 0 {
			dst = wire.AppendText(append(dst, webMembers[f-firstText]...), text)
		}
	}
	return strconv.AppendInt(append(dst, webMembers[sampleField-firstText]...), int64(x.Sample), 10)
}

// ExposureRecord is the record of one exposure, in memory of its own that serves one after
// another. The zero value is ready; it is for one goroutine at a time.
type ExposureRecord struct{ single }

// Set makes the record of an exposure, of which nothing is kept. e has what all events
// have, but for type and owner, which are an exposure and its website; its name is the key
// of the flag.
func (r *ExposureRecord) Set(e *Event) {
	k := &kinds[exposed]
	e.Type, e.Owner = k.typeOf, e.Website
	r.set(k, e, nil)
}
