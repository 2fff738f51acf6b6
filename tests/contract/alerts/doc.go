// Package alerts holds the tests of deploy/prometheus and deploy/grafana: that
// each alert fires when it should and only then, that each query is one, and that
// each alert has its runbook. It is a module of its own, so that the product does
// not depend on Prometheus.
package alerts
