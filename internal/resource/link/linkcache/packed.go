package linkcache

import (
	"encoding/binary"
	"time"
	"unsafe"

	"github.com/millrace/millrace/internal/resource/link"
)

// A packed link is its flags, its numbers, and its texts, each behind its length; those
// that few links have come last and only where there is one. An organization of several
// links has a number instead, and a domain stands in the key. Targets are kept beside it.
const (
	isEnabled = 1 << iota
	forwards
	hasTargets
	hasRare
	isNumbered
)

// pack appends a link, whose organization has a number where numbered says so.
func pack(b []byte, l *link.Served, number uint32, numbered bool) []byte {
	rare := [...]string{
		l.ExpiredURL, l.PasswordHash, l.UTM.Source, l.UTM.Medium, l.UTM.Campaign, l.UTM.Term, l.UTM.Content,
		l.Preview.Title, l.Preview.Description, l.Preview.ImageURL,
	}
	has := byte(0)
	for i := range rare {
		if rare[i] != "" {
			has = hasRare
		}
	}
	b = append(b, has|flag(l.Enabled, isEnabled)|flag(l.ForwardQuery, forwards)|flag(l.Targets != nil, hasTargets)|
		flag(numbered, isNumbered))
	for _, n := range [...]uint64{
		uint64(l.Version), uint64(l.RedirectStatus), uint64(l.MaxClicks), moment(l.StartsAt), moment(l.ExpiresAt),
	} {
		b = binary.AppendUvarint(b, n)
	}
	for _, text := range [...]string{l.SlugKey, l.ID, l.URL} {
		b = appendText(b, text)
	}
	if numbered {
		b = binary.AppendUvarint(b, uint64(number))
	} else {
		b = appendText(b, l.OrganizationID)
	}
	b = append(binary.AppendUvarint(b, uint64(len(l.Secret))), l.Secret...)
	if has == 0 {
		return b
	}
	for i := range rare {
		b = appendText(b, rare[i])
	}
	return b
}

func appendText(b []byte, text string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}

func flag(is bool, bit byte) byte {
	if is {
		return bit
	}
	return 0
}

// moment is a time in Unix milliseconds, such that small numbers are left for none and
// those before 1970.
func moment(t time.Time) uint64 {
	if t.IsZero() {
		return 0
	}
	ms := t.UnixMilli()
	return uint64(ms<<1^ms>>63) + 1
}

// momentOf is the time of a moment.
func momentOf(n uint64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	n--
	return time.UnixMilli(int64(n>>1) ^ -int64(n&1)).UTC()
}

// reader takes a packed link apart.
type reader string

func (r *reader) number() (n uint64) {
	for shift, s := 0, string(*r); ; shift += 7 {
		b := s[0]
		s = s[1:]
		n |= uint64(b&0x7f) << shift
		if b < 0x80 {
			*r = reader(s)
			return n
		}
	}
}

func (r *reader) text() string {
	n := r.number()
	s := string((*r)[:n])
	*r = (*r)[n:]
	return s
}

// packedKey is the slug key of a packed link.
func packedKey(packed string) string {
	r := reader(packed[1:])
	for range 5 {
		r.number()
	}
	return r.text()
}

// unpack tells what a packed link is; its texts are parts of it.
func unpack(packed string, l *link.Served, n *names) {
	flags, r := packed[0], reader(packed[1:])
	*l = link.Served{Enabled: flags&isEnabled != 0, ForwardQuery: flags&forwards != 0}
	l.Version, l.RedirectStatus, l.MaxClicks = int64(r.number()), int(r.number()), int64(r.number())
	l.StartsAt, l.ExpiresAt = momentOf(r.number()), momentOf(r.number())
	l.SlugKey, l.ID, l.URL = r.text(), r.text(), r.text()
	l.DomainID = link.DomainOf(l.SlugKey)
	if flags&isNumbered != 0 {
		l.OrganizationID = n.name(r.number())
	} else {
		l.OrganizationID = r.text()
	}
	if secret := r.text(); secret != "" {
		//nolint:gosec // nobody writes to it: it is told as one not to be changed
		l.Secret = unsafe.Slice(unsafe.StringData(secret), len(secret))
	}
	if flags&hasRare == 0 {
		return
	}
	l.ExpiredURL, l.PasswordHash = r.text(), r.text()
	l.UTM = link.UTM{Source: r.text(), Medium: r.text(), Campaign: r.text(), Term: r.text(), Content: r.text()}
	l.Preview = link.Preview{Title: r.text(), Description: r.text(), ImageURL: r.text()}
}
