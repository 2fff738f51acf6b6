package exposure

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"slices"
	"strconv"
	"unsafe"

	"github.com/millrace/millrace/internal/contract/event"
	"github.com/millrace/millrace/internal/contract/record"
)

// taken is a copy of an exposure, and is used again for another one. What belongs to the
// website and the flag is theirs, which do not change.
type taken struct {
	organization, website, flag, variant, environment, reason string
	sample                                                    int
	at                                                        int64 // Unix milliseconds
	id                                                        []byte
	is                                                        kind
	salt                                                      []byte // nil for an id that stays as it is
}

// copy makes t an exposure that nobody else knows. Where the flag has the environment, its
// name is taken of there.
func (t *taken) copy(e *Exposure, id string, is kind, salt []byte) {
	*t = taken{
		organization: e.Website.OrganizationID, website: e.Website.ID,
		flag: e.Flag.Key(), variant: e.Flag.Definition.Variants[e.Variant].Key, reason: e.reason(),
		sample: e.Flag.About.Exposures.SamplePercent, at: e.Time.UnixMilli(),
		id: append(t.id[:0], id...), is: is, salt: salt,
	}
	for name := range e.Flag.Definition.Environments {
		if name == e.Environment {
			t.environment = name
		}
	}
}

// draft is what a record is written from. It is used again and again, by one goroutine at a
// time.
type draft struct {
	event    record.Event
	exposure record.Exposure
	visitor  []byte
	said     []byte
	id       []byte
}

// write makes the record of an exposure.
func (d *draft) write(t *taken, r *record.ExposureRecord) {
	d.exposure = record.Exposure{
		Variant: bytesOf(t.variant), Environment: bytesOf(t.environment), Reason: bytesOf(t.reason), Sample: t.sample,
	}
	d.event = record.Event{
		Organization: bytesOf(t.organization), Website: bytesOf(t.website), Name: bytesOf(t.flag),
		TimeMillis: t.at, ReceivedAt: t.at, Exposure: &d.exposure,
	}
	d.setVisitor(t)
	d.event.ID = d.natural(t)
	r.Set(&d.event)
}

// setVisitor puts in whom the exposure is of.
func (d *draft) setVisitor(t *taken) {
	d.visitor = d.visitor[:0]
	switch {
	case t.is == address:
		d.visitor = event.AppendHashedEmail(d.visitor, bytesOf(t.website), t.id)
		d.event.ProfileID = d.visitor
	case t.is == user:
		d.event.ProfileID = t.id
	case t.salt != nil:
		d.visitor = event.AppendHashedVisitor(d.visitor, t.id, t.salt)
		d.event.AnonymousID = d.visitor
	default:
		d.event.AnonymousID = t.id
	}
}

// natural is the id of an exposure, which is made of what it is about: whoever tells of the
// same has the same.
func (d *draft) natural(t *taken) []byte {
	said := d.said[:0]
	for _, part := range [...][]byte{
		bytesOf(t.website), d.event.ProfileID, d.event.AnonymousID,
		bytesOf(t.flag), bytesOf(t.variant), bytesOf(t.environment),
	} {
		said = binary.BigEndian.AppendUint32(said, uint32(len(part)))
		said = append(said, part...)
	}
	d.said = strconv.AppendInt(said, int64(record.Day(t.at)), 10)
	sum := sha256.Sum256(d.said)
	d.id = hex.AppendEncode(append(slices.Grow(d.id[:0], len(idPrefix)+32), idPrefix...), sum[:16])
	return d.id
}

// idPrefix begins the ids of exposures.
const idPrefix = "x_"

// bytesOf returns the bytes of a text without copying it, for a reader.
func bytesOf(s string) []byte {
	return unsafe.Slice(unsafe.StringData(s), len(s)) //nolint:gosec // see above
}
