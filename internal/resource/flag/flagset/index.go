package flagset

import (
	"hash/maphash"
	"iter"
	"maps"
	"sync/atomic"
)

const shards = 256

// index finds entries by organization. Its maps are replaced and do not change, so that readers
// take no lock; whoever replaces one has the memory's mu.
type index struct {
	seed   maphash.Seed
	shards [shards]atomic.Pointer[map[string]*entry]
}

func newIndex() *index {
	x := &index{seed: maphash.MakeSeed()}
	for i := range x.shards {
		x.shards[i].Store(&map[string]*entry{})
	}
	return x
}

func (x *index) shard(id string) *atomic.Pointer[map[string]*entry] {
	return &x.shards[maphash.String(x.seed, id)%shards]
}

// find returns the entry of an organization; nil where its set is not held.
func (x *index) find(id string) *entry { return (*x.shard(id).Load())[id] }

func (x *index) put(e *entry) {
	x.replace(e.id, func(of map[string]*entry) { of[e.id] = e })
}

func (x *index) remove(id string) {
	x.replace(id, func(of map[string]*entry) { delete(of, id) })
}

func (x *index) replace(id string, change func(map[string]*entry)) {
	shard := x.shard(id)
	of := maps.Clone(*shard.Load())
	change(of)
	shard.Store(&of)
}

// all goes through the entries, also without the memory's mu.
func (x *index) all() iter.Seq[*entry] {
	return func(yield func(*entry) bool) {
		for i := range x.shards {
			for _, e := range *x.shards[i].Load() {
				if !yield(e) {
					return
				}
			}
		}
	}
}
