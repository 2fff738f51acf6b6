package ingest

import (
	"hash/maphash"
	"sync"
	"time"

	"github.com/millrace/millrace/internal/contract/event"
	"github.com/millrace/millrace/internal/contract/record"
)

// otherName is the name of events whose website has too many names.
var otherName = []byte("(other)")

const (
	nameShards = 64
	// keptNames is how many names a shard remembers in each of its two generations, if the
	// limit of one website is not more: a million in all, in about 40 MB.
	keptNames = 8192
)

// names bounds how many different names the events of a website have in a UTC day of
// receipt, and how many types its errors: every name is a row in each quarter of an hour of
// the rollups. Whoever comes first has its name; what was decided stands in the record, so
// that everybody who reads it again decides the same. Each process counts by itself. Where
// others' new names use up the memory, owners that nothing came from meanwhile are forgotten
// and begin anew. It is safe for concurrent use.
type names struct {
	limit  int // 0 for none
	kept   int // of each generation of a shard
	seed   maphash.Seed
	shards [nameShards]nameShard
}

// nameShard holds some owners' names.
type nameShard struct {
	mu          sync.Mutex
	day         int64
	now, before map[string]nameSet // generations: who is not asked for goes with the second
	held        int                // names in now
}

// nameSet are the hashes of an owner's names.
type nameSet map[uint64]struct{}

func newNames(limit int) *names {
	return &names{limit: limit, kept: max(keptNames, limit), seed: maphash.MakeSeed()}
}

// admit reports whether an event of an owner may keep its name: it is one of the first of
// the day.
func (n *names) admit(kind event.Kind, owner string, name []byte, at time.Time) bool {
	if n.limit == 0 {
		return true
	}
	var buf [256]byte
	key := append(append(buf[:0], byte(kind)), owner...)
	hash := maphash.Bytes(n.seed, name)
	s := &n.shards[maphash.Bytes(n.seed, key)%nameShards]
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begin(at.Unix() / int64(24*time.Hour/time.Second))
	set := s.of(key)
	if _, known := set[hash]; known {
		return true
	}
	if len(set) >= n.limit {
		return false
	}
	if s.held >= n.kept {
		s.before, s.now, s.held = s.now, map[string]nameSet{string(key): set}, len(set)
	}
	set[hash] = struct{}{}
	s.held++
	return true
}

// begin begins a day, unless it has begun.
func (s *nameShard) begin(day int64) {
	if day > s.day || s.now == nil {
		s.day, s.now, s.before, s.held = max(day, s.day), map[string]nameSet{}, nil, 0
	}
}

// of returns an owner's names, in this generation from now on.
func (s *nameShard) of(key []byte) nameSet {
	if set, ok := s.now[string(key)]; ok {
		return set
	}
	set, ok := s.before[string(key)]
	if !ok {
		set = nameSet{}
	}
	s.now[string(key)] = set
	s.held += len(set)
	return set
}

// named are the kinds of events that callers name as they like.
var named = map[event.Kind]bool{event.Custom: true, event.Error: true}

// rename gives an event of which there are too many names the one that they share, and
// keeps its own beside it.
func (r *run) rename(e *event.Event, to record.Target, w *record.Web) *record.Web {
	owner := to.Website
	if owner == "" {
		owner = r.organization
	}
	if !named[e.Kind] || event.Reserved(e.Name) || r.names.admit(e.Kind, owner, e.Name, r.now) {
		return w
	}
	if w == nil {
		w = &r.found
		*w = record.Web{}
	}
	w.Texts[record.OriginalName], e.Name = e.Name, otherName
	r.metrics.renamed.Inc()
	return w
}
