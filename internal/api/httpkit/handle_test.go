package httpkit

import (
	"net/http"
	"testing"

	"github.com/gofiber/fiber/v2"
)

func TestWhatCanBeGotCanBeAskedForWithoutItsBody(t *testing.T) {
	t.Parallel()
	app := newApp(t, Config{Host: Query})
	Handle(app, fiber.MethodGet, "/page", func(c *fiber.Ctx) error { return c.SendString("page") })
	Handle(app, fiber.MethodPost, "/change", func(c *fiber.Ctx) error { return c.SendString("changed") })
	addr := serve(t, app)
	for _, tc := range []struct {
		method, path string
		status       int
		body         string
	}{
		{http.MethodGet, "/page", http.StatusOK, "page"},
		{http.MethodHead, "/page", http.StatusOK, ""},
		{http.MethodHead, "/change", http.StatusMethodNotAllowed, ""},
	} {
		req, err := http.NewRequestWithContext(t.Context(), tc.method, "http://"+addr+tc.path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		length := resp.ContentLength
		if got := read(t, resp); got.status != tc.status || got.body != tc.body ||
			tc.status == http.StatusOK && length != int64(len("page")) {
			t.Errorf("%s %s: %d %q of %d bytes", tc.method, tc.path, got.status, got.body, length)
		}
	}
}
