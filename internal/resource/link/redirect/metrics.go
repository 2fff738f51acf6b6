package redirect

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/millrace/millrace/internal/contract/fault"
)

// metrics lists everything this package exports.
type metrics struct {
	answers  [kinds]prometheus.Counter
	refusals map[fault.Code]prometheus.Counter
	failures prometheus.Counter
}

// answerNames are the outcomes of requests that were answered, by kind.
var answerNames = [kinds]string{
	Redirected: "redirected", Elsewhere: "expired_url", Rooted: "root_url", Missing: "not_found_url",
	AskPassword: "password_form", Accepted: "password_right", Previewed: "preview",
}

// refusalNames are those of requests that were refused, by code; others have failed.
var refusalNames = map[fault.Code]string{
	fault.NotFound: "unknown", fault.Gone: "gone", fault.Forbidden: "password_wrong", fault.RateLimited: "limited",
	fault.MethodNotAllowed: "method", fault.ServiceUnavailable: "unavailable",
}

func newMetrics(reg prometheus.Registerer) *metrics {
	outcomes := promauto.With(reg).NewCounterVec(prometheus.CounterOpts{
		Name: "millrace_link_requests_total",
		Help: "Requests for short links by outcome: redirected, expired_url (the link is over and leads elsewhere), root_url and not_found_url (a domain leads there without a slug, and for what is unknown), password_form, password_right, password_wrong, preview, unknown (no link, none that is open, a path that can be no slug, or a host that is not served), gone, limited (too many passwords or unknown slugs of one address), method (a password for a link without one), unavailable (the store had to be asked, and did not answer), failed.",
	}, []string{"outcome"})
	m := &metrics{refusals: map[fault.Code]prometheus.Counter{}, failures: outcomes.WithLabelValues("failed")}
	for kind, name := range answerNames {
		m.answers[kind] = outcomes.WithLabelValues(name)
	}
	for code, name := range refusalNames {
		m.refusals[code] = outcomes.WithLabelValues(name)
	}
	return m
}

func (m *metrics) count(kind Kind, err error) {
	if err == nil {
		m.answers[kind].Inc()
		return
	}
	if c := m.refusals[fault.Of(err).Code]; c != nil {
		c.Inc()
		return
	}
	m.failures.Inc()
}
