package mail

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// What became of a mail.
const (
	resultSent     = "sent"
	resultRejected = "refused" // by the server, for good
	resultDropped  = "dropped" // the server was away for too long, or too many waited
)

// metrics lists everything this package exports.
type metrics struct{ mails *prometheus.CounterVec }

func newMetrics(reg prometheus.Registerer) metrics {
	m := metrics{promauto.With(reg).NewCounterVec(prometheus.CounterOpts{
		Name: "millrace_mail_mails_total",
		Help: "Mails by result: sent, refused (rejected by the mail server) or dropped (the mail server was down for too " +
			"long, or too many mails waited).",
	}, []string{"result"})}
	for _, result := range []string{resultSent, resultRejected, resultDropped} {
		m.mails.WithLabelValues(result)
	}
	return m
}
