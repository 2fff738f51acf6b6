package ratelimit

import "time"

// account is what is remembered about one caller. Its shard's lock guards it.
type account struct {
	who        Identity
	own        [families]*window
	all        *window // of a key's own limit
	inFlight   int
	seen       int64         // when it last asked
	keep       time.Duration // the longest of its windows
	newer, old *account      // in the order of seen
}

// Sizes of memory, in bytes, as good as they can be told.
const (
	accountBytes = 424 // with its place in the shard's map
	windowBytes  = 80
	stampBytes   = 8
)

// claim is what one request needs: up to two windows, and perhaps a slot among
// the requests under way.
type claim struct {
	windows [2]*window
	n       int
	slots   int // how many requests may be under way; 0 for any number
}

// claim finds or makes the windows of a request and returns how many bytes that
// took.
func (a *account) claim(f Family, limit, custom Limit, slots int) (c claim, bytes int) {
	c.slots = slots
	bytes = c.with(&a.own[f], limit)
	if custom.Requests > 0 {
		bytes += c.with(&a.all, custom)
	}
	a.keep = max(a.keep, limit.Window, custom.Window)
	return c, bytes
}

func (c *claim) with(w **window, l Limit) (bytes int) {
	if *w == nil {
		*w, bytes = &window{limit: l}, windowBytes
	}
	c.windows[c.n] = *w
	c.n++
	return bytes - (*w).relimit(l)*stampBytes
}

// reject returns what stands against the claim: of several windows that are used
// up, the one that takes longest. nil means that nothing does.
func (a *account) reject(c *claim, now int64) *Rejection {
	var longest *window
	var wait time.Duration
	for _, w := range c.windows[:c.n] {
		if d := w.wait(now); d > wait {
			longest, wait = w, d
		}
	}
	switch {
	case longest != nil:
		return &Rejection{Limit: longest.limit.Requests, Wait: wait}
	case c.slots > 0 && a.inFlight >= c.slots:
		return &Rejection{Concurrent: true, Limit: c.slots, Wait: concurrencyWait}
	}
	return nil
}

// take notes an admission and returns how many bytes that took.
func (a *account) take(c *claim, now int64) (bytes int) {
	for _, w := range c.windows[:c.n] {
		bytes += w.add(now) * stampBytes
	}
	if c.slots > 0 {
		a.inFlight++
	}
	return bytes
}

// bytes is how much memory the account takes.
func (a *account) bytes() int {
	n := accountBytes
	for _, w := range append(a.own[:], a.all) {
		if w != nil {
			n += windowBytes + len(w.stamps)*stampBytes
		}
	}
	return n
}

// idle reports whether nothing about the account counts any more.
func (a *account) idle(now int64) bool {
	return a.inFlight == 0 && now-a.seen >= int64(a.keep)
}
