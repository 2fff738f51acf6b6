package redirect

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/millrace/millrace/internal/contract/apierr"
)

// useTime is the longest wait for the store, which counts uses.
const useTime = 2 * time.Second

// exhausted reports whether a link has no use left, for requests that will take none and
// so would not find out. A link that is once stays so until it is changed.
func (h *Host) exhausted(ctx context.Context, v *Visit) (bool, error) {
	l := &v.link
	switch {
	case l.MaxClicks == 0:
		return false, nil
	case h.spent.has(l.ID, l.Version):
		return true, nil
	case v.takes():
		return false, nil
	}
	ctx, cancel := context.WithTimeout(ctx, useTime)
	defer cancel()
	is, err := h.deps.Uses.LinkByID(ctx, l.ID)
	if err != nil {
		return false, apierr.Wrap(apierr.ServiceUnavailable, err)
	}
	return is.Uses >= l.MaxClicks, nil
}

// takes reports whether the request takes one of the link's uses, if it leads anywhere:
// a person's does, who has given the password if there is one.
func (v *Visit) takes() bool {
	return !v.Head && !v.Posted && v.bot == "" && (v.passed || v.link.PasswordHash == "")
}

// use takes one of the link's uses.
func (h *Host) use(ctx context.Context, v *Visit) (bool, error) {
	l := &v.link
	if l.MaxClicks == 0 || !v.takes() {
		return false, nil
	}
	ctx, cancel := context.WithTimeout(ctx, useTime)
	defer cancel()
	ok, err := h.deps.Uses.UseLink(ctx, l.ID, l.MaxClicks)
	if err != nil {
		return false, apierr.Wrap(apierr.ServiceUnavailable, err)
	}
	if ok {
		return false, nil
	}
	h.spent.add(l.ID, l.Version)
	return over(v)
}

// maxSpent is how many links are known to be exhausted at least, if there are as many.
const maxSpent = 16384

// spent remembers links that have no use left by id, and the version of which that was
// found. It forgets, half at a time, those of which it has not been asked for longest.
type spent struct {
	mu         sync.Mutex
	young, old map[string]int64
}

func (s *spent) has(id string, version int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if found, ok := s.young[id]; ok {
		return found == version
	}
	found, ok := s.old[id]
	if !ok || found != version {
		return false
	}
	s.put(id, version)
	return true
}

func (s *spent) add(id string, version int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.put(id, version)
}

func (s *spent) put(id string, version int64) {
	if s.young == nil || len(s.young) >= maxSpent {
		s.young, s.old = map[string]int64{}, s.young
	}
	s.young[strings.Clone(id)] = version
}
