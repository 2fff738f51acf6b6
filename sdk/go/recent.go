package millrace

// identity is what makes two events one: the website and the id.
type identity struct{ website, id string }

// recent remembers the identities of the last delivered events, the oldest being
// forgotten first. It is for one goroutine at a time.
type recent struct {
	most  int
	ids   map[identity]struct{}
	order []identity // a ring once it is full
	next  int        // of the ring: the oldest
}

func newRecent(most int) *recent { return &recent{most: most, ids: map[identity]struct{}{}} }

func (r *recent) has(id identity) bool {
	_, ok := r.ids[id]
	return ok
}

func (r *recent) add(id identity) {
	if r.most == 0 || r.has(id) {
		return
	}
	if len(r.order) < r.most {
		r.order = append(r.order, id)
	} else {
		delete(r.ids, r.order[r.next])
		r.order[r.next] = id
		r.next = (r.next + 1) % r.most
	}
	r.ids[id] = struct{}{}
}

func (r *recent) clear() { r.ids, r.order, r.next = map[identity]struct{}{}, nil, 0 }
