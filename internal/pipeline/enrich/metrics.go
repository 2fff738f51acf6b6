package enrich

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// metrics lists everything this package exports.
type metrics struct {
	failures prometheus.Counter
	built    *prometheus.GaugeVec
}

func newMetrics(reg prometheus.Registerer) metrics {
	f := promauto.With(reg)
	return metrics{
		failures: f.NewCounter(prometheus.CounterOpts{
			Name: "millrace_enrich_geo_failures_total",
			Help: "New versions of geo files that could not be read. The previous version stays in use.",
		}),
		built: f.NewGaugeVec(prometheus.GaugeOpts{
			Name: "millrace_enrich_geo_built_timestamp_seconds",
			Help: "Build time of the geo file in use, in Unix seconds, as recorded in the file. path is the path of the file.",
		}, []string{"path"}),
	}
}

func (m metrics) opened(path string, data *geoData) {
	m.built.WithLabelValues(path).Set(float64(data.reader.Metadata.BuildTime().Unix()))
}
