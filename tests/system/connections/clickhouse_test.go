package connections

import (
	"context"
	"testing"

	"github.com/millrace/millrace/internal/adapter/clickhouse"
	"github.com/millrace/millrace/internal/adapter/clickhouse/clickhousetest"
	"github.com/millrace/millrace/internal/adapter/clickhouse/schema"
	"github.com/millrace/millrace/internal/testkit/certs"
)

func TestClickHouseIsReachedOverTLS(t *testing.T) {
	t.Parallel()
	folder := certs.Temp(t).Folder() // the engine of the tests has no port for TLS
	cfg := clickhousetest.Migrated(t, schema.Migrate)
	cfg.Addr = []string{folder.Decrypt(t, cfg.Addr[0], true)}
	cfg.TLS = proving(folder)
	if err := schema.CheckExactness(t.Context(), cfg); err != nil {
		t.Error(err)
	}
	for _, r := range rejections(t, "clickhouse", folder, true) {
		t.Run(r.name, func(t *testing.T) {
			other := cfg
			other.TLS = r.tls
			checkRejected(t, r.says, r.another, "", func(ctx context.Context) error { return schema.Check(ctx, other) })
		})
	}
	t.Run("no password in its file", func(t *testing.T) {
		other := cfg
		other.PasswordFile = written(t, "")
		checkRejected(t, "clickhouse.password_file: "+other.PasswordFile+" is empty", "", "",
			func(ctx context.Context) error { return clickhouse.Ping(ctx, other) })
	})
}
