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
	next uint8 // the place after that of the last header
}

// HeaderInfo describes one header to whoever reads a topic.
type HeaderInfo struct {
	Key string
	// Help says in one sentence what the value holds.
	Help string
	// Pattern is a regular expression for the whole value; empty where any text
	// may stand.
	Pattern string
	// Always says that every record of the topic has it.
	Always bool
	// Example is a value.
	Example string
}

// HeaderTable lists the headers of a record in the order of writing. All values
// are text.
var HeaderTable = []HeaderInfo{
	{
		HeaderSchema, "Topic and version of the envelope. The backfill topic uses those of events.v1.", `^[a-z.]+\.v[0-9]+$`,
		true, TopicEvents,
	},
	{HeaderType, "Kind of event.", "", true, TypeCustom},
	{HeaderWebsite, "Website id; empty for an event without a website.", "", true, "web_01JQZ3F8Y4M2N6P8R0S2T4V6WA"},
	{HeaderOrganization, "Organization id.", "", true, "org_01JQZ3F8Y4M2N6P8R0S2T4V6W8"},
	{
		HeaderReceivedAt, "Time of receipt in Unix milliseconds; equal to the timestamp of the record.", `^[0-9]+$`,
		true, "1795000000000",
	},
	{
		HeaderRequestID, "Id of the request that sent the event; also in the service's log and in the response.", "", true,
		"3f0c2a9e-5f63-4d0b-9f0e-6f9f3c1f2a10",
	},
	{
		HeaderEventHash, "Identity of the event: the first 128 bits of SHA-256 over the length-prefixed owner and id.",
		`^[0-9a-f]{32}$`, true, "4da8fb10600576d2b955d1f591481015",
	},
	{
		HeaderTraceparent, "W3C trace context; only for traced requests.",
		`^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$`, false,
		"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
	},
	{
		HeaderReplay, "1 on a dead letter that was sent to its topic again; it is never taken for a duplicate.", `^1$`,
		false, "1",
	},
	{HeaderHops, "Number of times that a dead letter was sent again.", `^[0-9]+$`, false, "1"},
}

// headerKeys are the headers in the order of writing.
var headerKeys = [...]string{
	HeaderSchema, HeaderType, HeaderWebsite, HeaderOrganization,
	HeaderReceivedAt, HeaderRequestID, HeaderEventHash, HeaderTraceparent,
	HeaderReplay, HeaderHops,
}

// Their places in headerKeys. Those up to the trace context are required.
const (
	schemaHeader = iota
	typeHeader
	websiteHeader
	organizationHeader
	receivedAtHeader
	requestIDHeader
	eventHashHeader
	traceparentHeader
	replayHeader
	hopsHeader
)

// MaxHeaders is how many headers a record may have. Those of ours are few, and tools of
// others add a few more; a record with millions, which take two bytes each where they are
// empty, would take a hundred times its size in memory.
const MaxHeaders = 1000

// ErrTooManyHeaders is the error of a record with more than MaxHeaders.
var ErrTooManyHeaders = fmt.Errorf("a record has more than %d headers", MaxHeaders)

// maxHops is the largest number of hops that is read; replays end long before.
const maxHops = 1_000_000

// Expected returns the place in HeaderTable of the header that probably comes next: in the
// order of writing, the one behind the last one.
func (h *Headers) Expected() int { return int(h.next) }

// SetAt is Set for a key by its place in HeaderTable.
func (h *Headers) SetAt(place int, value []byte) error { return h.set(place, value) }

// Set reads one header. Keys that it does not know are passed over, as new ones
// may be added; of a key that occurs twice the last one counts.
func (h *Headers) Set(key string, value []byte) error {
	// Headers mostly come in the order of writing.
	if at := int(h.next); at < len(headerKeys) && key == headerKeys[at] {
		return h.set(at, value)
	}
	for i, known := range headerKeys {
		if key == known {
			return h.set(i, value)
		}
	}
	return nil
}

func (h *Headers) set(i int, value []byte) error {
	h.seen |= 1 << i
	h.next = uint8(i + 1)
	switch i {
	case schemaHeader:
		h.Schema = value
	case typeHeader:
		h.Type = value
	case websiteHeader:
		h.Website = value
	case organizationHeader:
		h.Organization = value
	case requestIDHeader:
		h.RequestID = value
	case traceparentHeader:
		h.Traceparent = value
	case replayHeader:
		h.Replay = string(value) == "1"
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
	case hopsHeader:
		n, next := integer(value, 0)
		if next == 0 || next != len(value) || n < 0 || n > maxHops {
			return fmt.Errorf("reading header %s: must be a number up to %d", HeaderHops, maxHops)
		}
		h.Hops = int(n)
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
	if len(list) > MaxHeaders {
		return Headers{}, fmt.Errorf("reading headers: %w", ErrTooManyHeaders)
	}
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
