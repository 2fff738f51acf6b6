package quota

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/platform/control"
)

// Enforcer rejects the events of organizations whose month is used up, by what was
// announced. It asks nobody and does not allocate. It is safe for concurrent use.
type Enforcer struct {
	states *control.States

	mu   sync.RWMutex
	read map[string]span // by the state's text
}

// span is the time for which a state rejects events; an empty one for a state
// that rejects none.
type span struct{ start, end time.Time }

// maxRead bounds how many texts are remembered. Those of one month are two.
const maxRead = 64

// NewEnforcer returns an Enforcer over states of the kind control.Quota.
func NewEnforcer(states *control.States) *Enforcer {
	return &Enforcer{states: states, read: map[string]span{}}
}

// Check returns a QuotaExceeded error when an organization may send no more
// events in the month of now.
func (g *Enforcer) Check(_ context.Context, organizationID string, now time.Time) error {
	c, ok := g.states.Get(organizationID)
	if !ok {
		return nil
	}
	s := g.spanOf(c.State)
	if now.Before(s.start) || !now.Before(s.end) {
		return nil
	}
	return apierr.New(apierr.QuotaExceeded)
}

// spanOf reads a state. What cannot be read rejects nothing.
func (g *Enforcer) spanOf(state string) span {
	g.mu.RLock()
	s, ok := g.read[state]
	g.mu.RUnlock()
	if ok {
		return s
	}
	var d decision
	if err := json.Unmarshal([]byte(state), &d); err == nil && d.Exceeded {
		s.start, s.end = d.Month.Bounds()
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.read) >= maxRead {
		clear(g.read)
	}
	g.read[state] = s
	return s
}
