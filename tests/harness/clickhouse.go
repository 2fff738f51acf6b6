package harness

import (
	"testing"
	"time"

	"github.com/millrace/millrace/internal/adapter/clickhouse"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/testkit"
)

// DialClickHouse connects to a server that is up, however long a busy machine keeps it
// from answering. The caller closes the connection.
func DialClickHouse(tb testing.TB, cfg config.ClickHouse) *clickhouse.Client {
	tb.Helper()
	var client *clickhouse.Client
	testkit.Eventually(tb, time.Minute, func() (err error) {
		client, err = clickhouse.Dial(tb.Context(), cfg)
		return err
	})
	return client
}
