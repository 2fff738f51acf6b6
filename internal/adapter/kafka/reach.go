package kafka

import (
	"net"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// downAfter is how long a client's attempts fail, all of them, before brokers count
// as away: one of several that is restarted is no outage.
const downAfter = 5 * time.Second

// reach is a hook that knows whether brokers answer a client. It costs an answered
// request one look at a word of memory.
type reach struct {
	failing atomic.Int64 // Unix time in ns of the first failure since a response; 0 for none
}

var (
	_ kgo.HookBrokerConnect = (*reach)(nil)
	_ kgo.HookBrokerE2E     = (*reach)(nil)
)

// newReach returns a reach that has seen no response.
func newReach() *reach {
	r := new(reach)
	r.failing.Store(1)
	return r
}

// OnBrokerConnect takes note of an attempt to connect.
func (r *reach) OnBrokerConnect(_ kgo.BrokerMetadata, _ time.Duration, _ net.Conn, err error) {
	r.note(err == nil)
}

// OnBrokerE2E takes note of a request.
func (r *reach) OnBrokerE2E(_ kgo.BrokerMetadata, _ int16, e kgo.BrokerE2E) {
	r.note(e.Err() == nil)
}

func (r *reach) note(answered bool) {
	switch {
	case !answered:
		r.failing.CompareAndSwap(0, time.Now().UnixNano())
	case r.failing.Load() != 0:
		r.failing.Store(0)
	}
}

// up is 1 while brokers answer, otherwise 0.
func (r *reach) up() float64 {
	if since := r.failing.Load(); since != 0 && time.Since(time.Unix(0, since)) >= downAfter {
		return 0
	}
	return 1
}
