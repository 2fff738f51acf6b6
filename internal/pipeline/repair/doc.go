// Package repair mends what the ledger found, while the sinks are stopped: Rebuild
// recreates the rollups of dirty days, Replay has records stored again.
//
// Both refuse to run while a member of a sink's group is there, and both can be stopped
// anywhere: what was begun stays on the list of dirty days, so that queries go on
// to answer it from the base, and the same command run again completes it.
//
// The package knows neither Kafka nor ClickHouse: Groups, Log and Store are
// declared here.
package repair
