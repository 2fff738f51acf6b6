package httpkit

import (
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/platform/admission"
	"github.com/millrace/millrace/internal/testkit"
)

func TestAHeldBodyIsHeldUntilItsClientHasItOrIsGone(t *testing.T) {
	t.Parallel()
	const size = 24 << 20 // more than a connection buffers
	gate := admission.New(admission.Config{Host: "test", Memory: 64 << 20},
		admission.Deps{Metrics: prometheus.NewRegistry()})
	app := newApp(t, Config{Host: Query, Admission: gate})
	Handle(app, http.MethodGet, "/held", func(c *fiber.Ctx) error {
		claim := ClaimFor(c, "", "")
		if err := claim.Take(size); err != nil {
			return err
		}
		SendHeld(c, make([]byte, size), claim)
		return nil
	})
	addr := serve(t, app)
	for name, leave := range map[string]func(io.ReadCloser) error{
		"has it":  func(body io.ReadCloser) error { _, err := io.Copy(io.Discard, body); return err },
		"is gone": io.ReadCloser.Close,
	} {
		resp := get(t, "http://"+addr+"/held")
		if resp.ContentLength != size || gate.Used() != size {
			t.Errorf("%s: %d bytes of %d are held", name, gate.Used(), resp.ContentLength)
		}
		if err := leave(resp.Body); err != nil {
			t.Error(err)
		}
		testkit.Eventually(t, time.Minute, func() error {
			if n := gate.Used(); n != 0 {
				return fmt.Errorf("%s, and %d bytes are held", name, n)
			}
			return nil
		})
	}
	if got := do(t, app, http.MethodHead, "/held", nil, ""); got.status != http.StatusOK || gate.Used() != 0 {
		t.Errorf("only its header: %d, %d bytes are held", got.status, gate.Used())
	}
}

// get asks on a connection of its own, and returns once the header is there.
func get(t *testing.T, url string) streamed {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	return streamed{resp}
}
