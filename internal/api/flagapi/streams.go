package flagapi

import (
	"cmp"
	"errors"
	"net/netip"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/platform/places"
	"github.com/millrace/millrace/internal/tenant/website"
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

// streams counts those that are open. It is safe for concurrent use.
type streams struct {
	*places.Places

	rejectedAll, rejectedFrom prometheus.Counter
	changes, times            prometheus.Counter // events, by why they were sent
}

// newStreams returns a count of at most so many; 0 means MaxStreams.
func newStreams(most int, reg prometheus.Registerer) *streams {
	s := &streams{Places: places.New(cmp.Or(most, MaxStreams))}
	f := promauto.With(reg)
	f.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "millrace_flag_streams", Help: "Open streams of flag changes.",
	}, func() float64 { return float64(s.Taken()) })
	f.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "millrace_flag_streams_limit", Help: "Limit of millrace_flag_streams. The host rejects further streams.",
	}, func() float64 { return float64(s.Most()) })
	rejected := f.NewCounterVec(prometheus.CounterOpts{
		Name: "millrace_flag_streams_refused_total",
		Help: "Rejected streams of flag changes. reason is process (too many in the process) or address (too many of one " +
			"website and address, of one address, or of one organization).",
	}, []string{"reason"})
	events := f.NewCounterVec(prometheus.CounterOpts{
		Name: "millrace_flag_stream_events_total",
		Help: "Events sent on streams of flag changes. reason is change (an edit) or time (a schedule or a ramp).",
	}, []string{"reason"})
	s.rejectedAll, s.rejectedFrom = rejected.WithLabelValues("process"), rejected.WithLabelValues("address")
	s.changes, s.times = events.WithLabelValues("change"), events.WithLabelValues("time")
	return s
}

// Parts of the streams of a process that one IP address and one organization may have, if they are more
// than MaxStreamsPerAddr.
const (
	addrPart         = 10
	organizationPart = 2
)

// enter counts a stream until leave is called. It rejects one too many of the process, as
// ServiceUnavailable, and of a website and an address, of an address or of an organization, as
// RateLimited.
func (s *streams) enter(w *website.Website, addr netip.Addr) (leave func(), err error) {
	from := site(addr).String()
	leave, err = s.Enter(
		places.Share{Of: w.ID + " " + from, Most: MaxStreamsPerAddr},
		places.Share{Of: from, Most: max(MaxStreamsPerAddr, s.Most()/addrPart)},
		places.Share{Of: w.OrganizationID, Most: max(MaxStreamsPerAddr, s.Most()/organizationPart)},
	)
	if share, ok := errors.AsType[*places.ShareError](err); ok {
		s.rejectedFrom.Inc()
		message := "Too many open streams for this website from this IP address"
		switch share.Of {
		case from:
			message = "Too many open streams from this IP address"
		case w.OrganizationID:
			message = "Too many open streams for this organization"
		}
		return nil, &apierr.Error{
			Code: apierr.RateLimited, RetryAfter: streamsWait, Err: err, Message: message,
			Rate: &apierr.Rate{Limit: share.Most, Reset: time.Now().Add(streamsWait)},
		}
	}
	if err != nil {
		s.rejectedAll.Inc()
		return nil, &apierr.Error{Code: apierr.ServiceUnavailable, RetryAfter: streamsWait, Err: err}
	}
	return leave, nil
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
