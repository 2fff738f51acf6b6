package mcp

import (
	"errors"
	"sync"
	"time"

	"github.com/millrace/millrace/internal/contract/apierr"
)

// placeWait is how long a caller waits for a place.
const placeWait = time.Second

var errPlaces = errors.New("all places are taken")

// places bound what runs at the same time, of one key and in all.
type places struct {
	perKey, most int // most is 0 for no bound

	mu  sync.Mutex
	all int
	of  map[string]int // by key
}

func newPlaces(perKey, most int) *places {
	return &places{perKey: perKey, most: most, of: map[string]int{}}
}

// enter acquires a place until leave is called. It returns a RateLimited error if the key holds perKey
// places, and a ServiceUnavailable error if most places are taken.
func (p *places) enter(key string) (leave func(), err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.of[key] >= p.perKey:
		return nil, &apierr.Error{
			Code: apierr.RateLimited, RetryAfter: placeWait, Err: errPlaces,
			Rate: &apierr.Rate{Limit: p.perKey, Reset: time.Now().Add(placeWait)},
		}
	case p.most > 0 && p.all >= p.most:
		return nil, &apierr.Error{Code: apierr.ServiceUnavailable, RetryAfter: placeWait, Err: errPlaces}
	}
	p.all++
	p.of[key]++
	return func() { p.leave(key) }, nil
}

func (p *places) leave(key string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all--
	if p.of[key]--; p.of[key] == 0 {
		delete(p.of, key)
	}
}

// taken returns how many places are taken in all.
func (p *places) taken() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.all
}
