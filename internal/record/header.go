package record

import (
	"fmt"
)

// Headers are a record's headers, read. The slices belong to the record.
type Headers struct {
	Schema       []byte
	Type         []byte
	Website      []byte // empty for an organization's event
	Organization []byte
	ReceivedAt   int64 // Unix milliseconds
	RequestID    []byte
	Hash         Hash
	Traceparent  []byte // empty on requests that were not traced
	Replay       bool   // a dead letter that was sent again
	Hops         int    // how often it was

	seen uint16
}

// headerKeys are the headers in the order of writing.
var headerKeys = [...]string{
	HeaderSchema, HeaderType, HeaderWebsite, HeaderOrganization,
	HeaderReceivedAt, HeaderRequestID, HeaderEventHash, HeaderTraceparent,
	HeaderReplay, HeaderHops,
}

// The places in headerKeys of those that are not plain text or not required.
const (
	receivedAtHeader  = 4
	eventHashHeader   = 6
	traceparentHeader = 7
	replayHeader      = 8
	hopsHeader        = 9
)

// maxHops is the largest number of hops that is read; replays end long before.
const maxHops = 1_000_000

// Set reads one header. Keys that it does not know are passed over, as new ones
// may be added; of a key that occurs twice the last one counts.
func (h *Headers) Set(key string, value []byte) error {
	for i, known := range headerKeys {
		if key == known {
			h.seen |= 1 << i
			return h.set(i, value)
		}
	}
	return nil
}

func (h *Headers) set(i int, value []byte) error {
	switch i {
	case receivedAtHeader:
		n, next := integer(value, 0)
		if next == 0 || next != len(value) {
			return fmt.Errorf("reading header %s: must be Unix milliseconds", HeaderReceivedAt)
		}
		h.ReceivedAt = n
	case eventHashHeader:
		hash, err := ParseHash(value)
		if err != nil {
			return fmt.Errorf("reading header %s: %w", HeaderEventHash, err)
		}
		h.Hash = hash
	case replayHeader:
		h.Replay = string(value) == "1"
	case hopsHeader:
		n, next := integer(value, 0)
		if next == 0 || next != len(value) || n < 0 || n > maxHops {
			return fmt.Errorf("reading header %s: must be a number up to %d", HeaderHops, maxHops)
		}
		h.Hops = int(n)
	default:
		texts := [...]*[]byte{
			&h.Schema, &h.Type, &h.Website, &h.Organization, 5: &h.RequestID, traceparentHeader: &h.Traceparent,
		}
		*texts[i] = value
	}
	return nil
}

// Check reports the first required header that Set has not seen. All are
// required but the trace context and what replays add.
func (h *Headers) Check() error {
	for i, key := range headerKeys[:traceparentHeader] {
		if h.seen&(1<<i) == 0 {
			return fmt.Errorf("reading headers: %s is missing", key)
		}
	}
	return nil
}

// ParseHeaders reads all headers of a record.
func ParseHeaders(list []Header) (Headers, error) {
	var h Headers
	for _, each := range list {
		if err := h.Set(each.Key, each.Value); err != nil {
			return Headers{}, err
		}
	}
	if err := h.Check(); err != nil {
		return Headers{}, err
	}
	return h, nil
}
