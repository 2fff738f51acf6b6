// Package deployed runs what the Helm chart would run: the commands of its jobs and
// its daemons, as processes, with the environment that its manifests give them,
// against real Kafka, PostgreSQL, Redis and ClickHouse. The first account goes into
// a Secret of a real API server, by the role that the chart makes for it.
//
// Only what a machine decides is replaced: the addresses of the servers, their
// users, how many brokers and ClickHouse servers there are, and where the files lie
// that a pod mounts.
package deployed
