package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/testkit"
)

func TestHealthIsThatOfTheDaemon(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		status int
		text   string
		want   string
	}{
		"ready":   {http.StatusOK, "ok\n", ""},
		"waiting": {http.StatusServiceUnavailable, "starting\n", "not ready: starting"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/readyz" {
					t.Errorf("it asks for %s", r.URL.Path)
				}
				w.WriteHeader(tt.status)
				w.Write([]byte(tt.text))
			}))
			defer server.Close()
			addr := strings.TrimPrefix(server.URL, "http://")
			for _, listen := range []string{addr, strings.Replace(addr, "127.0.0.1", "0.0.0.0", 1)} {
				got := ""
				if err := askReady(t.Context(), listen); err != nil {
					got = err.Error()
				}
				if got != tt.want {
					t.Errorf("%s: %q, want %q", listen, got, tt.want)
				}
			}
		})
	}
	if err := askReady(t.Context(), testkit.FreeAddr(t)); err == nil {
		t.Error("where nobody listens it is well")
	}
}
