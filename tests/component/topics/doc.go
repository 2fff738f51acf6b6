// Package topics proves that the parts hold together at the broker: what is
// on the topics, where, and what the sink makes of it. The bodies run against
// kfake and against real Apache Kafka, so that the one is known to be a fair
// stand-in for the other. The examples of docs/guides/tapping-the-topics.md are
// run as they are printed.
package topics
