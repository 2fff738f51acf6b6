package edge

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/millrace/millrace/internal/platform/lifecycle"
	"github.com/millrace/millrace/internal/platform/telemetry"
	"github.com/millrace/millrace/internal/resource/link"
	"github.com/millrace/millrace/internal/resource/link/redirect"
)

// known is a directory that may be unknown.
type known struct{ index *link.Index }

// Directory implements redirect.Directory.
func (k known) Directory() *link.Index { return k.index }

func TestAProxyIsToldForWhichHostsItMayGetACertificate(t *testing.T) {
	t.Parallel()
	ask := func(index *link.Index, query string) int {
		tel := telemetry.Discard()
		tel.Handle("GET /domains/allowed",
			allowed(redirect.New(redirect.Config{SharedHost: "go.example"}, redirect.Deps{Directory: known{index}})))
		w := httptest.NewRecorder()
		telemetry.AdminHandler(tel, &lifecycle.Readiness{}).ServeHTTP(w,
			httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/domains/allowed"+query, nil))
		return w.Code
	}
	index := (&link.Directory{
		Domains:      []link.ServedDomain{{ID: "dom_1", Hostname: "xn--bcher-kva.example"}},
		BlockedHosts: []string{"evil.example"},
	}).Index()
	for query, want := range map[string]int{
		"?domain=xn--bcher-kva.example": 200, "?domain=B%C3%BCcher.example.": 200, "?domain=go.example": 200,
		"?domain=GO.example":   200,
		"?domain=a.go.example": 404, "?domain=evil.example": 404, "?domain=127.0.0.1": 404, "": 400, "?domain=": 400,
		"?host=go.example": 400,
	} {
		if got := ask(index, query); got != want {
			t.Errorf("%s: %d, want %d", query, got, want)
		}
	}
	if got := ask(nil, "?domain=go.example"); got != http.StatusServiceUnavailable {
		t.Errorf("not known: %d", got)
	}
}

func TestTheSharedHostHasANameThatOtherMachinesKnow(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"https://Go.Example:8443": "go.example", "http://192.0.2.1:8082": "192.0.2.1", "": "",
		"http://127.0.0.1:8082": "", "http://localhost:8082": "", "http://[::1]:8082": "",
	} {
		if got := sharedHost(url); got != want {
			t.Errorf("%s: %q, want %q", url, got, want)
		}
	}
}
