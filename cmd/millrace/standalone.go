package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/millrace/millrace/internal/app/standalone"
)

func newStandalone() *cobra.Command {
	return &cobra.Command{
		Use:   "standalone",
		Short: "Run everything in one process, on loopback",
		Long: `Runs the ingestion host, the sink and the query host in one process, with an embedded
Kafka broker, an embedded ClickHouse and a SQLite file. All data is kept in the data
folder and survives a restart.

The first start creates an organization, a user, a website and an API key. It writes
addresses, ids and secrets to dev.env in the data folder, and prints the line "millrace
ready" when events can be sent and queried.

Set --kafka.brokers, --clickhouse.addr or --store.url to use that backend instead of the
embedded one.`,
		Example: `  millrace standalone
  millrace standalone --data.dir /tmp/try --query.listen 127.0.0.1:9080
  millrace standalone --kafka.brokers kafka-1:9092,kafka-2:9092
  MILLRACE_STORE_URL=postgres://millrace@127.0.0.1/millrace millrace standalone`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, meta, err := settingsOf(cmd, "ingest.listen", "query.listen", "link.listen")
			if errors.Is(err, errShown) {
				return nil
			}
			if err != nil {
				return err
			}
			return standalone.Run(cmd.Context(), standalone.Options{
				Settings: standalone.Defaults(s, meta), Stdout: cmd.OutOrStdout(), Stderr: cmd.ErrOrStderr(),
			})
		},
	}
}
