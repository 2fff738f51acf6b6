// Package e2e proves what the product promises as a whole, on its own programs:
// what was acknowledged is counted, exactly once, whatever is killed meanwhile.
//
// The bodies run in both modes, `millrace standalone` and the split daemons
// against real Apache Kafka, PostgreSQL and a ClickHouse server process. Under
// -short the package is left out.
package e2e
