package session

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// results of a sign-in.
const (
	resultOK       = "ok"
	resultWrong    = "wrong" // no such account or a wrong password
	resultReturned = "error"
)

// metrics lists everything this package exports.
type metrics struct {
	signIns  *prometheus.CounterVec
	rejected prometheus.Counter
	dropped  prometheus.Counter
	// unrecorded counts what the audit lacks.
	unrecorded prometheus.Counter
}

func newMetrics(reg prometheus.Registerer) metrics {
	f := promauto.With(reg)
	m := metrics{
		signIns: f.NewCounterVec(prometheus.CounterOpts{
			Name: "millrace_session_sign_ins_total",
			Help: "Attempts to sign in by result: ok, wrong (unknown account or wrong password) or error.",
		}, []string{"result"}),
		rejected: f.NewCounter(prometheus.CounterOpts{
			Name: "millrace_session_refused_attempts_total",
			Help: "Attempts to sign in, to sign up or to reset a password that came too soon after others.",
		}),
		dropped: f.NewCounter(prometheus.CounterOpts{
			Name: "millrace_session_unsent_resets_total",
			Help: "Password reset requests whose mail could not be sent.",
		}),
		unrecorded: f.NewCounter(prometheus.CounterOpts{
			Name: "millrace_session_unrecorded_failures_total",
			Help: "Wrong passwords missing from the audit log, because the metadata store was down or too many came at once.",
		}),
	}
	for _, result := range []string{resultOK, resultWrong, resultReturned} {
		m.signIns.WithLabelValues(result)
	}
	return m
}
