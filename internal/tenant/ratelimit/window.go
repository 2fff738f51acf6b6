package ratelimit

import "time"

// window remembers when the last requests of one caller were admitted, so as to
// tell exactly whether one more fits.
//
// It is a ring whose next place holds the oldest of them. A ring as long as the
// limit needs to look at nothing else: when the admission as many requests ago as
// the limit allows has left the window, one more fits. The ring begins short and
// grows only while what it would overwrite still counts, so that it is never
// longer than the most requests that a window held.
type window struct {
	limit   Limit
	stamps  []int64 // times of the limiter's clock, in nanoseconds
	next    int     // the oldest once the ring is full, else the first free place
	full    bool
	blocked int64 // until when other processes have used the limit up
}

// firstRing is how many admissions a new ring holds.
const firstRing = 4

// wait returns how long after now one more request fits; 0 when it does now.
func (w *window) wait(now int64) time.Duration {
	if w.blocked > now {
		return time.Duration(w.blocked - now)
	}
	if !w.full || len(w.stamps) < w.limit.Requests {
		return 0
	}
	return max(0, time.Duration(w.stamps[w.next]-now)+w.limit.Window)
}

// add notes an admission and returns by how many stamps the ring has grown. A
// window that other processes' word has let overflow forgets its oldest.
func (w *window) add(now int64) (grown int) {
	if len(w.stamps) == 0 {
		grown = min(firstRing, w.limit.Requests)
		w.stamps = make([]int64, grown)
	} else if w.full && len(w.stamps) < w.limit.Requests && now-w.stamps[w.next] < int64(w.limit.Window) {
		grown = w.grow()
	}
	w.stamps[w.next] = now
	if w.next++; w.next == len(w.stamps) {
		w.next, w.full = 0, true
	}
	return grown
}

// grow doubles a full ring, up to the limit.
func (w *window) grow() int {
	n := len(w.stamps)
	longer := make([]int64, min(2*n, w.limit.Requests))
	copy(longer[copy(longer, w.stamps[w.next:]):], w.stamps[:w.next])
	w.stamps, w.next, w.full = longer, n, false
	return len(longer) - n
}

// relimit fits the window to a limit that may have changed and returns by how
// many stamps it has shrunk: of a lower limit, the newest count on.
func (w *window) relimit(l Limit) (shrunk int) {
	if w.limit == l {
		return 0
	}
	w.limit, w.blocked = l, 0
	n := len(w.stamps)
	if n <= l.Requests {
		return 0
	}
	ordered := make([]int64, 0, n)
	if w.full {
		ordered = append(ordered, w.stamps[w.next:]...)
	}
	ordered = append(ordered, w.stamps[:w.next]...)
	w.full = len(ordered) >= l.Requests
	w.stamps = make([]int64, l.Requests)
	w.next = copy(w.stamps, ordered[max(0, len(ordered)-l.Requests):]) % l.Requests
	return n - l.Requests
}
