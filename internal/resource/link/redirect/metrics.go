package redirect

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/millrace/millrace/internal/contract/apierr"
)

// metrics lists everything this package exports.
type metrics struct {
	responses  [kinds]prometheus.Counter
	rejections map[apierr.Code]prometheus.Counter
	failures   prometheus.Counter
}

// responseNames are the outcomes of requests that were answered, by kind.
var responseNames = [kinds]string{
	Redirected: "redirected", Elsewhere: "expired_url", Rooted: "root_url", Missing: "not_found_url",
	AskPassword: "password_form", Accepted: "password_right", Previewed: "preview",
}

// rejectionNames are those of requests that were rejected, by code; others have failed.
var rejectionNames = map[apierr.Code]string{
	apierr.NotFound: "unknown", apierr.Gone: "gone", apierr.Forbidden: "password_wrong", apierr.RateLimited: "limited",
	apierr.MethodNotAllowed: "method", apierr.ServiceUnavailable: "unavailable",
}

func newMetrics(reg prometheus.Registerer) *metrics {
	outcomes := promauto.With(reg).NewCounterVec(prometheus.CounterOpts{
		Name: "millrace_link_requests_total",
		Help: "Requests for short links. outcome is redirected, expired_url (the URL for an ended link), root_url (the " +
			"domain's URL for an empty slug), not_found_url (the domain's URL for unknown slugs), password_form, " +
			"password_right, password_wrong, preview, unknown (no such link, an invalid path or an unknown host), gone, " +
			"limited (too many passwords or unknown slugs from one address), method (a password for a link without one), " +
			"unavailable (the metadata store did not answer) or failed.",
	}, []string{"outcome"})
	m := &metrics{rejections: map[apierr.Code]prometheus.Counter{}, failures: outcomes.WithLabelValues("failed")}
	for kind, name := range responseNames {
		m.responses[kind] = outcomes.WithLabelValues(name)
	}
	for code, name := range rejectionNames {
		m.rejections[code] = outcomes.WithLabelValues(name)
	}
	return m
}

func (m *metrics) count(kind Kind, err error) {
	if err == nil {
		m.responses[kind].Inc()
		return
	}
	if c := m.rejections[apierr.Of(err).Code]; c != nil {
		c.Inc()
		return
	}
	m.failures.Inc()
}
