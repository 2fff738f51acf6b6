package flagapi

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/gofiber/fiber/v2"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/api/httpkit"
	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/platform/telemetry/telemetrytest"
)

// marker stands for a person in these tests.
const marker = "marker-7f3a@person.example"

// seen is all that a host tells of its requests: its log, with a line for each request, its
// traces and its metrics.
type seen struct {
	mu       sync.Mutex
	log      bytes.Buffer
	traces   *telemetrytest.Recorder
	registry *prometheus.Registry
}

func (s *seen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.Write(p)
}

func (s *seen) text(t *testing.T) string {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	families, err := s.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(s.log.String(), s.traces.Text(), families)
}

// watched is a host that tells all that it can.
func watched(t *testing.T, changes ...func(*Deps)) (*fiber.App, *seen) {
	t.Helper()
	s := &seen{traces: telemetrytest.Sampling(t), registry: prometheus.NewRegistry()}
	log := slog.New(slog.NewTextHandler(s, &slog.HandlerOptions{Level: slog.LevelDebug}))
	deps := tenants{set: testSet(t, testFlags())}.deps()
	deps.Log, deps.Metrics = log, s.registry
	for _, change := range changes {
		change(&deps)
	}
	app := httpkit.New(httpkit.Config{Host: httpkit.Query, AccessLog: true, Page: Page, Open: Elsewhere},
		httpkit.Deps{Log: log, Metrics: s.registry, Tracer: s.traces.Tracer})
	Mount(app, deps)
	return app, s
}

// TestNothingOfAContextIsTold asks each route, well and badly, with a marker wherever a
// caller may write something, and looks for it in all that the host tells.
func TestNothingOfAContextIsTold(t *testing.T) {
	t.Parallel()
	said := url.QueryEscape(marker)
	context := "&userId=" + said + "&email=" + said + "&anonymousId=" + said + "&organizationId=" + said +
		"&teamId=" + said + "&environment=" + said +
		"&properties=" + url.QueryEscape(`{"email":"`+marker+`","`+marker+`":["`+marker+`"]}`)
	long := strings.Repeat(said, 20)
	var queries []string
	for _, begin := range []string{"clientId=public-1&key=nav", "clientId=public-1&keys=nav,ramp", "clientId=public-1"} {
		for _, more := range []string{
			context, context + "&" + said + "=" + said, "&userId=" + long, "&key=" + long, "&keys=" + long,
			"&environment=" + long, "&properties=" + said, "&properties=" + url.QueryEscape(`{"a":"`+marker),
			"&key=" + said + "&keys=" + said, "&userId=%ff" + said, "&email=%" + said,
		} {
			queries = append(queries, begin+more)
		}
	}
	queries = append(queries, "clientId="+said, "clientId="+long, "key="+said+context, context)
	for name, change := range map[string]func(*Deps){
		"as always":       func(*Deps) {},
		"without sets":    func(d *Deps) { d.Sets = tenants{err: apierr.New(apierr.ServiceUnavailable)} },
		"a fault of sets": func(d *Deps) { d.Sets = tenants{err: http.ErrBodyNotAllowed} },
		"a fault of ours": func(d *Deps) {
			d.Country = func(netip.Addr) string { panic(marker) } //nolint:forbidigo // what is tested
		},
		"a fault of Go's":  func(d *Deps) { d.Country = func(netip.Addr) string { return []string{}[len(marker)] } },
		"a fault of flags": func(d *Deps) { d.Exposures = failing{} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			app, told := watched(t, change)
			for _, path := range append(routePaths(), "/public/v1/flags/"+said, "/public/v1/flags/"+said+"/ofrep") {
				for _, query := range queries {
					for _, secret := range []string{"", "manager", "powerless", "bad"} {
						got := send(t, app, http.MethodGet, path+"?"+query, "X-Api-Key", secret, "Cookie", "a="+marker,
							"Referer", "https://x.example/?"+said)
						if strings.Contains(got.Body, "marker-7f3a") {
							t.Errorf("GET %s?%s is answered %d %s", path, query, got.Status, got.Body)
						}
					}
				}
			}
			text := told.text(t)
			if !strings.Contains(text, `msg=request`) || !strings.Contains(text, "http.route") {
				t.Fatalf("the host tells nothing: %.2000s", text)
			}
			if at := strings.Index(text, "marker-7f3a"); at >= 0 {
				t.Errorf("the host tells …%s…", text[max(0, at-300):min(len(text), at+100)])
			}
		})
	}
}

// failing panics with what it is told.
type failing struct{}

func (failing) Expose(e *Exposure) { panic("exposing " + e.Email) } //nolint:forbidigo // what is tested

func routePaths() (paths []string) {
	for _, r := range Routes {
		paths = append(paths, r.Path)
	}
	return paths
}
