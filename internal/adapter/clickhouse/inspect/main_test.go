package inspect

import (
	"testing"

	"github.com/millrace/millrace/internal/adapter/clickhouse/clickhousetest"
)

func TestMain(m *testing.M) { clickhousetest.Main(m) }
