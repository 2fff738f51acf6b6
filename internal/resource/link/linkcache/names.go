package linkcache

import (
	"hash/maphash"
	"strings"
	"sync/atomic"
)

// maxNames is how many organizations are kept apart from their links.
const maxNames = 1 << 16

// names are the ids of organizations that have several links, so that not each link holds
// its own. An organization is taken in at its second link, unless others came between; those
// of one link only would take more room here.
type names struct {
	all    atomic.Pointer[[]string] // only appended to
	number map[string]uint32
	once   [1 << 12]string // by hash: the last that was seen and is not taken in
}

func newNames() *names {
	n := &names{number: map[string]uint32{}}
	n.all.Store(&[]string{})
	return n
}

// numberOf returns an organization's number, if it has one. It is for one caller at a time.
func (n *names) numberOf(seed maphash.Seed, name string) (number uint32, ok bool) {
	if number, ok = n.number[name]; ok {
		return number, true
	}
	all := *n.all.Load()
	last := &n.once[maphash.String(seed, name)%uint64(len(n.once))]
	if *last != name || len(all) >= maxNames {
		*last = strings.Clone(name)
		return 0, false
	}
	*last = ""
	number, name = uint32(len(all)), strings.Clone(name)
	all = append(all, name)
	n.number[name] = number
	n.all.Store(&all)
	return number, true
}

// name is the organization of a number. It may be called at any time.
func (n *names) name(number uint64) string { return (*n.all.Load())[number] }
