// Command sink moves events from Kafka into ClickHouse, each one once. See --help
// for its settings.
package main

import (
	"os"

	"github.com/millrace/millrace/internal/app/daemon"
	"github.com/millrace/millrace/internal/app/sink"
)

func main() { os.Exit(daemon.Main(sink.Component, sink.Alone)) }
