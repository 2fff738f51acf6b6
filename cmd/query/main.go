// Command query is the query host: it answers questions about stored events. See
// --help for its settings.
package main

import (
	"os"

	"github.com/millrace/millrace/internal/app/daemon"
	"github.com/millrace/millrace/internal/app/query"
)

func main() { os.Exit(daemon.Main(query.Component, query.Components)) }
