package load

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Report is what a run tells in the end. Times are in milliseconds unless their name
// says seconds.
type Report struct {
	Began time.Time `json:"began"`
	// Seconds is how long requests were due, AnsweredSeconds until the last response.
	Seconds         float64 `json:"seconds"`
	AnsweredSeconds float64 `json:"answeredSeconds"`
	// Unit is what the rates and Sent and Accepted count.
	Unit string `json:"unit"`
	// RateWanted was due a second, RateReached was sent, and RateAccepted accepted.
	RateWanted   float64 `json:"rateWanted"`
	RateReached  float64 `json:"rateReached"`
	RateAccepted float64 `json:"rateAccepted"`
	// Requests were answered, or waited for in vain; Unsent were due and found no
	// connection before the end.
	Requests int `json:"requests"`
	Unsent   int `json:"unsent"`
	// Sent and Accepted are in units; what is neither accepted nor rejected by status
	// was left out by the host.
	Sent     int `json:"sent"`
	Accepted int `json:"accepted"`
	// FailedParts are the parts of good responses that failed.
	FailedParts int `json:"failedParts"`
	// Statuses counts requests by the status of their responses; "none" had none.
	Statuses map[string]int `json:"statuses"`
	// FirstError is why the first request without a response has none.
	FirstError string `json:"firstError,omitempty"`
	// Latency counts from the moment at which a request was due, Service from the one
	// at which it was sent.
	Latency Quantiles `json:"latencyMillis"`
	Service Quantiles `json:"serviceMillis"`
	// About says what was sent, and to whom.
	About any `json:"about,omitempty"`
}

// Quantiles of a distribution, in milliseconds.
type Quantiles struct {
	Mean float64 `json:"mean"`
	P50  float64 `json:"p50"`
	P90  float64 `json:"p90"`
	P95  float64 `json:"p95"`
	P99  float64 `json:"p99"`
	P999 float64 `json:"p999"`
	Max  float64 `json:"max"`
}

func quantiles(h *hdrhistogram.Histogram) Quantiles {
	at := func(q float64) float64 { return millis(h.ValueAtQuantile(q)) }
	return Quantiles{
		Mean: h.Mean() / 1000, P50: at(50), P90: at(90), P95: at(95), P99: at(99), P999: at(99.9), Max: millis(h.Max()),
	}
}

// report is what the run tells; nobody counts any more.
func (r *run) report(due, ended time.Time) *Report {
	t := r.tally
	answered := max(ended.Sub(r.begun).Seconds(), due.Sub(r.begun).Seconds())
	out := &Report{
		Began: r.begun.UTC(), Seconds: due.Sub(r.begun).Seconds(), AnsweredSeconds: answered, Unit: r.work.Unit(),
		RateWanted: r.opts.Rate, Requests: t.requests, Unsent: t.unsent, Sent: t.units, Accepted: t.accepted,
		FailedParts: t.failed,
		Statuses:    t.statuses, FirstError: t.firstError, Latency: quantiles(t.latency), Service: quantiles(t.service),
	}
	if answered > 0 {
		out.RateReached, out.RateAccepted = float64(t.units)/answered, float64(t.accepted)/answered
	}
	return out
}
