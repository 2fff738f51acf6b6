package flagapi

import (
	"cmp"
	"errors"
	"net/netip"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/millrace/millrace/internal/contract/apierr"
)

// Limits of streams.
const (
	MaxStreams        = 10_000 // of a process, unless it is told otherwise
	MaxStreamsPerAddr = 50     // of a website and an address
)

const (
	// streamsWait is how long who finds too many streams is to wait.
	streamsWait = 10 * time.Second
	// ipv6Site is how many bits of an IPv6 address are one address here.
	ipv6Site = 64
)

var errStreams = errors.New("too many streams are open")

// streams counts those that are open. It is safe for concurrent use.
type streams struct {
	most int // of the process

	mu   sync.Mutex
	all  int
	from map[viewing]int

	rejectedAll, rejectedFrom prometheus.Counter
	changes, times            prometheus.Counter // events, by why they were sent
}

// viewing is a website that is looked at from an address.
type viewing struct {
	websiteID string
	addr      netip.Addr
}

// newStreams returns a count of at most so many; 0 means MaxStreams.
func newStreams(most int, reg prometheus.Registerer) *streams {
	s := &streams{most: cmp.Or(most, MaxStreams), from: make(map[viewing]int)}
	f := promauto.With(reg)
	f.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "millrace_flag_streams", Help: "Open streams of flag changes.",
	}, func() float64 { return float64(s.open()) })
	f.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "millrace_flag_streams_limit", Help: "Limit of millrace_flag_streams. The host rejects further streams.",
	}, func() float64 { return float64(s.most) })
	rejected := f.NewCounterVec(prometheus.CounterOpts{
		Name: "millrace_flag_streams_refused_total",
		Help: "Rejected streams of flag changes. reason is process (too many in the process) or address (too many of one " +
			"website and address).",
	}, []string{"reason"})
	events := f.NewCounterVec(prometheus.CounterOpts{
		Name: "millrace_flag_stream_events_total",
		Help: "Events sent on streams of flag changes. reason is change (an edit) or time (a schedule or a ramp).",
	}, []string{"reason"})
	s.rejectedAll, s.rejectedFrom = rejected.WithLabelValues("process"), rejected.WithLabelValues("address")
	s.changes, s.times = events.WithLabelValues("change"), events.WithLabelValues("time")
	return s
}

func (s *streams) open() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all
}

// enter counts a stream until leave is called. It rejects one too many of the process, as
// ServiceUnavailable, and of a website and an address, as RateLimited.
func (s *streams) enter(websiteID string, addr netip.Addr) (leave func(), err error) {
	from := viewing{websiteID, site(addr)}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.from[from] >= MaxStreamsPerAddr {
		s.rejectedFrom.Inc()
		return nil, &apierr.Error{
			Code: apierr.RateLimited, RetryAfter: streamsWait, Err: errStreams,
			Message: "Too many open streams for this website from this IP address",
			Rate:    &apierr.Rate{Limit: MaxStreamsPerAddr, Reset: time.Now().Add(streamsWait)},
		}
	}
	if s.all >= s.most {
		s.rejectedAll.Inc()
		return nil, &apierr.Error{Code: apierr.ServiceUnavailable, RetryAfter: streamsWait, Err: errStreams}
	}
	s.all++
	s.from[from]++
	return func() { s.leave(from) }, nil
}

func (s *streams) leave(from viewing) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all--
	if s.from[from]--; s.from[from] == 0 {
		delete(s.from, from)
	}
}

// site returns the address that stands for all those which one caller has.
func site(addr netip.Addr) netip.Addr {
	if addr.Is6() {
		if p, err := addr.Prefix(ipv6Site); err == nil {
			return p.Addr()
		}
	}
	return addr
}
