// Package operate tries what an operator does with an installation: starting it before
// its servers, asking how it is and what is wrong, upgrading it, letting topics grow,
// backing up, restoring, and rebuilding ClickHouse from Kafka. It runs the programs
// against real servers, and follows the guides' own commands.
package operate
