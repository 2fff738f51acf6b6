package clickhouse

import (
	"testing"

	"github.com/millrace/millrace/internal/clickhouse/clickhousetest"
)

func TestMain(m *testing.M) { clickhousetest.Main(m) }
