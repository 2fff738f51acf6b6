package deadletter

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/millrace/millrace/internal/contract/record"
)

// Suffix is put after a topic's name for the topic of its dead letters.
const Suffix = ".dlq"

// The headers that a dead letter has after the original record's.
const (
	HeaderReason    = "dlq-reason"     // one of Reasons
	HeaderClass     = "dlq-class"      // the reason's Class
	HeaderTopic     = "dlq-topic"      // where the record stood, without prefix
	HeaderPartition = "dlq-partition"  // decimal
	HeaderOffset    = "dlq-offset"     // decimal
	HeaderError     = "dlq-error"      // for people, at most MaxErrorBytes
	HeaderHops      = "dlq-hops"       // how often the record had been sent again, decimal
	HeaderFirstSeen = "dlq-first-seen" // Unix milliseconds, decimal; of the first letter of all
	HeaderCut       = "dlq-cut"        // only of a record that was too large to be kept whole: its true sizes
)

// The headers that only a record sent again has, besides record.HeaderReplay and
// record.HeaderHops. HeaderFirstSeen goes along too.
const (
	HeaderTrace = "dlq-trace" // its earlier letters, oldest first: "reason topic/partition/offset", separated by commas
	HeaderRun   = "dlq-run"   // the replay that sent it, and the letter's id
)

// ours is what the keys of all these begin with.
const ours = "dlq-"

// MaxErrorBytes is how much of an error a letter keeps.
const MaxErrorBytes = 256

// MaxHops is how often a record is sent again; after that its letter is parked.
const MaxHops = 3

// Class says what kind of failure a reason is.
type Class string

// The classes.
const (
	ClassUndecodable Class = "undecodable" // the record cannot be read
	ClassInvariant   Class = "invariant"   // it can be read, and breaks a rule of the table
	ClassRejected    Class = "refused"     // ClickHouse rejects the row
)

// Kind is what is known of a reason.
type Kind struct {
	Reason Reason
	Class  Class
	// Futile says that the same record would come back whatever is repaired: what
	// is wrong is not in its value, and nothing else is changed.
	Futile bool
	// Help says what happened.
	Help string
}

// Reasons lists every reason.
var Reasons = []Kind{
	{ReasonHeaders, ClassUndecodable, true, "a header of the event is missing or malformed, or there are too many"},
	{ReasonValue, ClassUndecodable, false, "the value is not a valid JSON record of the topic"},
	{ReasonTime, ClassInvariant, false, "the event's time does not fit the table"},
	{ReasonRejected, ClassRejected, false, "ClickHouse rejects the row, for a constraint or a type"},
}

// ErrUnknownReason is wrapped where a reason is not in Reasons.
var ErrUnknownReason = errors.New("unknown reason")

// KindOf returns what is known of a reason; its error wraps ErrUnknownReason.
func KindOf(r Reason) (Kind, error) {
	for _, k := range Reasons {
		if k.Reason == r {
			return k, nil
		}
	}
	known := make([]string, len(Reasons))
	for i, k := range Reasons {
		known[i] = string(k.Reason)
	}
	return Kind{}, fmt.Errorf("%w %q; the reasons are %s", ErrUnknownReason, string(r), strings.Join(known, ", "))
}

// Note is what a sink knows of a record that it cannot store.
type Note struct {
	Source record.Position // of the record
	Reason Reason
	Err    error // for people
	At     time.Time
	Cut    *Sizes // of a record of which only the beginning is kept; else nil
}

// Append returns the headers of the letter: those of the record, then ours. Its
// error wraps ErrUnknownReason.
func (n Note) Append(headers []record.Header) ([]record.Header, error) {
	kind, err := KindOf(n.Reason)
	if err != nil {
		return nil, err
	}
	past := historyOf(headers)
	firstSeen := n.At
	if past.replay && !past.firstSeen.IsZero() && past.firstSeen.Before(n.At) {
		firstSeen = past.firstSeen
	}
	add := func(key, value string) { headers = append(headers, record.Header{Key: key, Value: []byte(value)}) }
	add(HeaderReason, string(n.Reason))
	add(HeaderClass, string(kind.Class))
	add(HeaderTopic, n.Source.Topic)
	add(HeaderPartition, strconv.Itoa(int(n.Source.Partition)))
	add(HeaderOffset, strconv.FormatInt(n.Source.Offset, 10))
	add(HeaderError, clip(n.Err.Error(), MaxErrorBytes))
	add(HeaderHops, strconv.Itoa(past.hops))
	add(HeaderFirstSeen, strconv.FormatInt(firstSeen.UnixMilli(), 10))
	if n.Cut != nil {
		add(HeaderCut, cutText(*n.Cut))
	}
	return headers, nil
}

// history is what a record's own headers say of its earlier letters.
type history struct {
	replay    bool
	hops      int
	firstSeen time.Time
	trace     string
}

// historyOf reads leniently: the record may be a letter because of its headers.
func historyOf(headers []record.Header) (h history) {
	for _, header := range headers {
		text := string(header.Value)
		n, err := strconv.ParseInt(text, 10, 64)
		whole := err == nil && n >= 0
		switch header.Key {
		case record.HeaderReplay:
			h.replay = text == "1"
		case record.HeaderHops:
			h.hops = 0
			if whole {
				h.hops = int(min(n, maxReadHops))
			}
		case HeaderFirstSeen:
			h.firstSeen = time.Time{}
			if whole {
				h.firstSeen = time.UnixMilli(n).UTC()
			}
		case HeaderTrace:
			h.trace = text
		}
	}
	return h
}

// maxReadHops bounds what a header may make us count.
const maxReadHops = 1_000_000

// clip returns at most n bytes of s, without half a character at the end.
func clip(s string, n int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xC0 == 0x80 {
		n--
	}
	return s[:n]
}

// Letter is a dead letter, read.
type Letter struct {
	Position  record.Position // of the letter itself
	At        time.Time       // when it was written
	Source    record.Position // of the record that could not be stored
	Reason    Reason
	Class     Class
	Error     string
	Hops      int
	FirstSeen time.Time
	// Trace names the earlier letters of a record that was sent again, oldest
	// first, each as "reason topic/partition/offset".
	Trace []string
	// Cut are the true sizes, as HeaderCut has them, of a record that was too large to be
	// kept whole; empty of one that is whole.
	Cut string

	Key, Value []byte
	Headers    []record.Header // the original's
}

// Parse reads a record of a dead letter topic. A reason that is not known is an
// error, which wraps ErrUnknownReason; the letter is returned all the same, as
// far as it could be read. Its slices belong to r.
func Parse(r *record.Record, at record.Position) (*Letter, error) {
	l := &Letter{Position: at, At: r.Time, Key: r.Key, Value: r.Value}
	// Whatever stands before the last reason came with the record.
	split := len(r.Headers)
	for i := range slices.Backward(r.Headers) {
		if r.Headers[i].Key == HeaderReason {
			split = i
			break
		}
	}
	l.Headers = slices.Clip(r.Headers[:split])
	err := l.read(r.Headers[split:])
	return l, err
}

// read takes the sink's own headers.
func (l *Letter) read(headers []record.Header) error {
	past := historyOf(l.Headers)
	if past.replay && past.trace != "" {
		l.Trace = strings.Split(past.trace, ",")
	}
	given := map[string]string{}
	for _, h := range headers {
		given[h.Key] = string(h.Value)
	}
	l.Reason, l.Error, l.Class = Reason(given[HeaderReason]), given[HeaderError], Class(given[HeaderClass])
	l.Source.Topic, l.Cut = given[HeaderTopic], given[HeaderCut]
	var errs []error
	number := func(key string, bits int) int64 {
		n, err := strconv.ParseInt(given[key], 10, bits)
		if err != nil || n < 0 {
			errs = append(errs, fmt.Errorf("reading header %s: must be a number", key))
		}
		return n
	}
	l.Source.Partition = int32(number(HeaderPartition, 32))
	l.Source.Offset = number(HeaderOffset, 64)
	l.Hops = int(number(HeaderHops, 32))
	l.FirstSeen = time.UnixMilli(number(HeaderFirstSeen, 64)).UTC()
	if l.Source.Topic+Suffix != l.Position.Topic {
		errs = append(errs, fmt.Errorf("reading header %s: must name the topic of this letter", HeaderTopic))
	}
	kind, err := KindOf(l.Reason)
	if err == nil && kind.Class != l.Class {
		err = fmt.Errorf("%w: %s has the class %q, not %q", ErrUnknownReason, l.Reason, kind.Class, l.Class)
	}
	return errors.Join(append(errs, err)...)
}

// ID tells a letter from all others: two letters of the same id are one, sent
// twice. It names the record's place and its content, for a topic that was recreated
// begins at offset 0 again.
func (l *Letter) ID() string {
	h := sha256.New()
	var size [8]byte
	binary.BigEndian.PutUint64(size[:], uint64(len(l.Key)))
	h.Write(size[:])
	h.Write(l.Key)
	h.Write(l.Value)
	return fmt.Sprintf("%s#%s", FormatPosition(l.Source), hex.EncodeToString(h.Sum(nil)[:8]))
}

// FormatPosition writes a position as "topic/partition/offset".
func FormatPosition(p record.Position) string {
	return fmt.Sprintf("%s/%d/%d", p.Topic, p.Partition, p.Offset)
}

// ParsePosition reads what FormatPosition writes.
func ParsePosition(text string) (record.Position, error) {
	parts := strings.Split(text, "/")
	if len(parts) == 3 && parts[0] != "" {
		partition, err1 := strconv.ParseInt(parts[1], 10, 32)
		offset, err2 := strconv.ParseInt(parts[2], 10, 64)
		if err1 == nil && err2 == nil && partition >= 0 && offset >= 0 {
			return record.Position{Topic: parts[0], Partition: int32(partition), Offset: offset}, nil
		}
	}
	return record.Position{}, fmt.Errorf("%q is not a position such as %s%s/3/1041", text, record.TopicEvents, Suffix)
}

// Header returns the value of an original header; empty when there is none.
func (l *Letter) Header(key string) string {
	for _, h := range slices.Backward(l.Headers) {
		if h.Key == key {
			return string(h.Value)
		}
	}
	return ""
}

// Website is the website id of the record's headers.
func (l *Letter) Website() string { return l.Header(record.HeaderWebsite) }

// Organization is the organization id of the record's headers.
func (l *Letter) Organization() string { return l.Header(record.HeaderOrganization) }

// again returns the record to be sent: the original with one hop more. run names
// the replay.
func (l *Letter) again(run string, now time.Time) record.Record {
	var headers []record.Header
	for _, h := range l.Headers {
		if h.Key != record.HeaderReplay && h.Key != record.HeaderHops && !strings.HasPrefix(h.Key, ours) {
			headers = append(headers, h)
		}
	}
	add := func(key, value string) { headers = append(headers, record.Header{Key: key, Value: []byte(value)}) }
	add(record.HeaderReplay, "1")
	add(record.HeaderHops, strconv.Itoa(l.Hops+1))
	add(HeaderFirstSeen, strconv.FormatInt(l.FirstSeen.UnixMilli(), 10))
	add(HeaderTrace, strings.Join(append(slices.Clone(l.Trace), string(l.Reason)+" "+FormatPosition(l.Position)), ","))
	add(HeaderRun, runHeader(run, l.ID()))
	return record.Record{Topic: l.Source.Topic, Key: l.Key, Value: l.Value, Headers: headers, Time: now}
}

// runHeader is the value of HeaderRun.
func runHeader(run, id string) string { return run + " " + id }
