// Package chart tests deploy/helm/millrace. Its own tests need nothing but the
// chart and the daemons: every file of values in ci/ renders into objects that
// Kubernetes knows, a typo is rejected by its name, and the daemons accept the
// settings that they would be given. The package cluster installs, upgrades and
// removes the chart in a real API server. That the rendered settings run is told
// by tests/system/deployed, which starts the daemons with them.
//
// It is a module of its own because Helm brings many dependencies, and nothing of
// Millrace may depend on them.
package chart
