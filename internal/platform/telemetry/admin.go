package telemetry

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/millrace/millrace/internal/platform/lifecycle"
)

const (
	adminSetting      = "MILLRACE_ADMIN_LISTEN"
	readHeaderTimeout = 5 * time.Second
	idleTimeout       = time.Minute
	scrapeTimeout     = 10 * time.Second
	maxScrapes        = 4 // at the same time
	readyTimeout      = 2 * time.Second
	adminDrain        = time.Second
)

// AdminComponent returns the private listener: /metrics, /livez, /readyz, /debug/pprof and what
// Handle was given. List it first, so that it tells "starting" from the beginning
// and "draining" to the end. An empty address means no listener.
func AdminComponent(addr string, t *Telemetry, r *lifecycle.Readiness) lifecycle.Component {
	const name = "admin listener"
	if addr == "" {
		return lifecycle.Component{Name: name}
	}
	exportReadiness(t.Registry, r)
	var ln net.Listener
	srv := &http.Server{
		Handler:           AdminHandler(t, r),
		ReadHeaderTimeout: readHeaderTimeout,
		IdleTimeout:       idleTimeout, // no write timeout: a profile takes as long as it was asked to
		ErrorLog:          slog.NewLogLogger(t.Log.Handler(), slog.LevelWarn),
	}
	return lifecycle.Component{
		Name: name,
		Start: func(ctx context.Context) (err error) {
			if ln, err = lifecycle.Listen(ctx, addr, adminSetting); err != nil {
				return err
			}
			t.Log.LogAttrs(ctx, slog.LevelInfo, "admin listener started", slog.String("address", ln.Addr().String()))
			return nil
		},
		Run:  func(ctx context.Context) error { return serve(ctx, srv, ln) },
		Stop: func(context.Context) error { return srv.Close() },
	}
}

func serve(ctx context.Context, srv *http.Server, ln net.Listener) error {
	failed := make(chan error, 1)
	go func() { failed <- srv.Serve(ln) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), adminDrain)
	defer cancel()
	if err := srv.Shutdown(drain); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return nil // a profile still running is cut off by Stop
}

// exportReadiness has every scrape ask what /readyz is asked.
func exportReadiness(reg prometheus.Registerer, r *lifecycle.Readiness) {
	promauto.With(reg).NewGaugeFunc(prometheus.GaugeOpts{
		Name: "millrace_ready", Help: "1 while the process is ready. /readyz names the failing checks.",
	}, func() float64 {
		ctx, cancel := context.WithTimeout(context.Background(), readyTimeout)
		defer cancel()
		if r.Err(ctx) != nil {
			return 0
		}
		return 1
	})
}

// routes are what components of a daemon add to the private listener.
type routes struct {
	mu       sync.Mutex
	patterns []string
	handlers []http.Handler
}

// Handle adds a route to the private listener, by a pattern of net/http such as
// "GET /domains/allowed"; before AdminComponent is called, and each one once.
func (t *Telemetry) Handle(pattern string, h http.Handler) {
	t.routes.mu.Lock()
	defer t.routes.mu.Unlock()
	t.routes.patterns, t.routes.handlers = append(t.routes.patterns, pattern), append(t.routes.handlers, h)
}

// addTo adds the routes to a mux.
func (r *routes) addTo(mux *http.ServeMux) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, pattern := range r.patterns {
		mux.Handle(pattern, r.handlers[i])
	}
}

// AdminHandler returns the routes of the private listener.
func AdminHandler(t *Telemetry, r *lifecycle.Readiness) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics",
		promhttp.InstrumentMetricHandler(t.Registry, promhttp.HandlerFor(t.Registry, promhttp.HandlerOpts{
			ErrorLog:            slog.NewLogLogger(t.Log.Handler(), slog.LevelWarn),
			ErrorHandling:       promhttp.ContinueOnError,
			MaxRequestsInFlight: maxScrapes,
			Timeout:             scrapeTimeout,
		})))
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { respond(w, http.StatusOK, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, req *http.Request) {
		ctx, cancel := context.WithTimeout(req.Context(), readyTimeout)
		defer cancel()
		if err := r.Err(ctx); err != nil {
			respond(w, http.StatusServiceUnavailable, err.Error())
			return
		}
		respond(w, http.StatusOK, strings.Join(append([]string{"ready"}, r.Details()...), "\n"))
	})
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("POST /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	t.routes.addTo(mux)
	return mux
}

func respond(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text+"\n") // a prober that went away needs no response
}
