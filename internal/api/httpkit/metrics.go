package httpkit

import (
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// unmatched is the route label of a request that no route takes.
const unmatched = "unmatched"

// metrics lists everything this package exports. Both hosts of a process share
// one registry, so each is told apart by the constant label host.
type metrics struct {
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	bytes    *prometheus.CounterVec
	inFlight prometheus.GaugeFunc
	rejected [rejections]prometheus.Counter // connections, and requests over the bound
	cut      [cuts]prometheus.Counter       // streams

	routes sync.Map // *fiber.Route → *routeMetrics
	none   *routeMetrics
}

func newMetrics(reg prometheus.Registerer, k *kit) *metrics {
	f := promauto.With(prometheus.WrapRegistererWith(prometheus.Labels{"host": k.cfg.Host.String()}, reg))
	m := &metrics{
		requests: f.NewCounterVec(prometheus.CounterOpts{
			Name: "millrace_http_requests_total",
			Help: "Completed requests by route pattern, method and status. route is unmatched for a request that matches no " +
				"route.",
		}, []string{"route", "method", "status"}),
		seconds: f.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "millrace_http_request_duration_seconds",
			Help:    "Time from the header of a request until its response is ready, by route pattern.",
			Buckets: prometheus.ExponentialBuckets(0.0005, 2, 15), // 0.5 ms to 8 s
		}, []string{"route"}),
		bytes: f.NewCounterVec(prometheus.CounterOpts{
			Name: "millrace_http_body_bytes_total",
			Help: "Bytes of request bodies as sent, before decompression, by route pattern. Bodies discarded unread are not " +
				"counted.",
		}, []string{"route"}),
		inFlight: f.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "millrace_http_requests_in_flight",
			Help: "Requests in flight.",
		}, func() float64 { return float64(k.inFlight.Load()) }),
	}
	m.conns(f, k)
	m.streams(f, k)
	m.none = m.newRoute(unmatched, "")
	return m
}

// routeMetrics resolves a route's series once, so that a request costs no lookup
// by strings.
type routeMetrics struct {
	vec     *metrics
	route   string
	method  string
	seconds prometheus.Observer
	bytes   prometheus.Counter
	status  [maxStatus]atomic.Pointer[prometheus.Counter]
}

const maxStatus = 600

func (m *metrics) newRoute(route, method string) *routeMetrics {
	return &routeMetrics{
		vec: m, route: route, method: method,
		seconds: m.seconds.WithLabelValues(route), bytes: m.bytes.WithLabelValues(route),
	}
}

func (m *metrics) of(route *fiber.Route) *routeMetrics {
	if route == nil {
		return m.none
	}
	if v, ok := m.routes.Load(route); ok {
		return v.(*routeMetrics) // nothing else is stored
	}
	v, _ := m.routes.LoadOrStore(route, m.newRoute(route.Path, route.Method))
	return v.(*routeMetrics) // nothing else is stored
}

// observe counts one answered request; body is the bytes read of its body.
func (r *routeMetrics) observe(status int, took time.Duration, body int) {
	if status < 0 || status >= maxStatus {
		status = 0
	}
	c := r.status[status].Load()
	if c == nil {
		counter := r.vec.requests.WithLabelValues(r.route, r.method, strconv.Itoa(status))
		c = &counter
		r.status[status].Store(c)
	}
	(*c).Inc()
	r.seconds.Observe(took.Seconds())
	if body > 0 {
		r.bytes.Add(float64(body))
	}
}

// rejection is why a connection, or a request at once, was turned away.
type rejection uint8

const (
	tooMany     rejection = iota // connections at all
	tooManyFrom                  // connections of one address
	inFlight                     // requests
	slowHeader
	slowBody
	slowReader // of a large response
	longHeader
	madeRoom   // for a connection of another address
	rejections // how many
)

// String returns the rejection as it stands in metrics.
func (r rejection) String() string {
	return [rejections]string{
		"connections", "address", "in_flight", "slow_header", "slow_body", "slow_reader", "long_header", "made_room",
	}[r]
}

func (m *metrics) reject(why rejection) { m.rejected[why].Inc() }

// conns makes the metrics of connections.
func (m *metrics) conns(f promauto.Factory, k *kit) {
	rejected := f.NewCounterVec(prometheus.CounterOpts{
		Name: "millrace_http_turned_away_total",
		Help: "Connections closed and requests rejected before any work. reason is connections or address: too many open " +
			"connections, in total or of one address; in_flight: more requests than max_in_flight; slow_header or slow_body. " +
			"long_header: a header beyond its limit. slow_reader: a large response read at less than 1 KiB/s. " +
			"made_room: a waiting connection closed in favor of another address.",
	}, []string{"reason"})
	for r := range rejections {
		m.rejected[r] = rejected.WithLabelValues(r.String())
	}
	f.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "millrace_http_connections",
		Help: "Open connections.",
	}, func() float64 { return float64(k.connections.Load()) })
}

// cut is why a stream has no end.
type cut uint8

const (
	cutFailed   cut = iota // what was streamed could not be made
	cutGone                // its client is gone
	cutStop                // the host stops
	cutDeadline            // it took too long
	cutRevoked             // its caller may not have the rest
	cuts                   // how many
)

// String returns the reason as it stands in metrics.
func (c cut) String() string { return [cuts]string{"failed", "gone", "stop", "deadline", "revoked"}[c] }

// streams makes the metrics of streams.
func (m *metrics) streams(f promauto.Factory, k *kit) {
	cut := f.NewCounterVec(prometheus.CounterOpts{
		Name: "millrace_http_streams_cut_total",
		Help: "Streamed responses that ended early. reason is failed (their source failed), gone (the client left or " +
			"stopped reading), stop (the host stopped) or deadline. revoked: the key, session or right of the caller ended.",
	}, []string{"reason"})
	for c := range cuts {
		m.cut[c] = cut.WithLabelValues(c.String())
	}
	f.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "millrace_http_streams",
		Help: "Streamed responses in progress.",
	}, func() float64 { return float64(k.streams.open()) })
}
