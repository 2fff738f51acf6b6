// Command ingest-edge is the ingestion host: it takes events in over HTTP and
// answers when Kafka has them. See --help for its settings.
package main

import (
	"os"

	"github.com/millrace/millrace/internal/app/daemon"
	"github.com/millrace/millrace/internal/app/edge"
)

func main() { os.Exit(daemon.Main(edge.Component, edge.Alone)) }
