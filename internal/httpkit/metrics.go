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
	inFlight prometheus.GaugeFunc

	routes sync.Map // *fiber.Route → *routeMetrics
	none   *routeMetrics
}

func newMetrics(reg prometheus.Registerer, k *kit) *metrics {
	f := promauto.With(prometheus.WrapRegistererWith(prometheus.Labels{"host": k.cfg.Host.String()}, reg))
	m := &metrics{
		requests: f.NewCounterVec(prometheus.CounterOpts{
			Name: "millrace_http_requests_total",
			Help: "Answered requests by route pattern, method and status; route is unmatched where none took the request.",
		}, []string{"route", "method", "status"}),
		seconds: f.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "millrace_http_request_duration_seconds",
			Help:    "Time from a request's header to its answer being ready, by route pattern.",
			Buckets: prometheus.ExponentialBuckets(0.0005, 2, 15), // 0.5 ms to 8 s
		}, []string{"route"}),
		inFlight: f.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "millrace_http_requests_in_flight",
			Help: "Requests being served.",
		}, func() float64 { return float64(k.inFlight.Load()) }),
	}
	f.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "millrace_http_large_body_bytes",
		Help: "Memory held by request bodies over 64 KiB.",
	}, func() float64 { return float64(k.budget.used.Load()) })
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
	status  [maxStatus]atomic.Pointer[prometheus.Counter]
}

const maxStatus = 600

func (m *metrics) newRoute(route, method string) *routeMetrics {
	return &routeMetrics{vec: m, route: route, method: method, seconds: m.seconds.WithLabelValues(route)}
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

func (r *routeMetrics) observe(status int, took time.Duration) {
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
}
