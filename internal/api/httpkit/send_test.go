package httpkit

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/gofiber/fiber/v2"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

func TestABodyIsCompressedWhereItIsWorthIt(t *testing.T) {
	t.Parallel()
	small, large := strings.Repeat("x", compressBytes-1), strings.Repeat("x", compressBytes)
	app := fiber.New()
	Handle(app, "GET", "/:size", func(c *fiber.Ctx) error {
		if c.Params("size") == "small" {
			return Send(c, "text/plain", []byte(small))
		}
		return Send(c, "text/plain", []byte(large))
	})
	for _, tc := range []struct{ path, accept, encoding, body string }{
		{"/small", "gzip, br, zstd", "", small},
		{"/large", "", "", large},
		{"/large", "identity", "", large},
		{"/large", "gzip", "gzip", large},
		{"/large", "br", "br", large},
		{"/large", "gzip, deflate, br, zstd", "zstd", large},
		{"/large", "gzip;q=1, br;q=0.5, zstd;q=0", "gzip", large},
	} {
		req := httptest.NewRequestWithContext(t.Context(), http.MethodGet, tc.path, nil)
		req.Header.Set("Accept-Encoding", tc.accept)
		resp, err := app.Test(req, -1)
		if err != nil {
			t.Fatal(err)
		}
		packed, err := io.ReadAll(resp.Body)
		if err := resp.Body.Close(); err != nil {
			t.Fatal(err)
		}
		if err != nil || resp.Header.Get("Content-Encoding") != tc.encoding || resp.Header.Get("Vary") != "Accept-Encoding" {
			t.Errorf("%s, %q: %v, Content-Encoding %q, Vary %q",
				tc.path, tc.accept, err, resp.Header.Get("Content-Encoding"), resp.Header.Get("Vary"))
			continue
		}
		if got := unpack(t, tc.encoding, packed); got != tc.body {
			t.Errorf("%s, %q: %d bytes, want %d", tc.path, tc.accept, len(got), len(tc.body))
		}
	}
}

func unpack(t *testing.T, encoding string, packed []byte) string {
	t.Helper()
	var r io.Reader = bytes.NewReader(packed)
	var err error
	switch encoding {
	case "gzip":
		r, err = gzip.NewReader(r)
	case "br":
		r = brotli.NewReader(r)
	case "zstd":
		r, err = zstd.NewReader(r)
	}
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
