package edge

import (
	"net/http"

	"github.com/millrace/millrace/internal/resource/link"
	"github.com/millrace/millrace/internal/resource/link/redirect"
)

// allowed answers a proxy that asks whether it may get a certificate for a host, which it
// names in the parameter domain: 200 where visitors of it get short links, 404 for others,
// and 503 while that is not known.
func allowed(redirects *redirect.Host) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		host := req.URL.Query().Get("domain")
		if host == "" {
			http.Error(w, "the query parameter \"domain\" is required, as in ?domain=go.example.com", http.StatusBadRequest)
			return
		}
		switch is, err := redirects.Serves(link.HostKey(host)); {
		case err != nil:
			http.Error(w, "the domains cannot be read now", http.StatusServiceUnavailable)
		case !is:
			http.Error(w, "not served", http.StatusNotFound)
		}
	}
}
