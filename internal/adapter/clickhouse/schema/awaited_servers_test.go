package schema

import (
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/ClickHouse/ch-go/proto"

	"github.com/millrace/millrace/internal/adapter/clickhouse/clickhousetest"
	"github.com/millrace/millrace/internal/platform/lifecycle"
	"github.com/millrace/millrace/internal/testkit"
)

// What a server that is going down answers is no statement about a profile: a sink
// that starts then waits, and goes on when the server is back.
func TestASinkWaitsOutAServerThatIsGoingDown(t *testing.T) {
	t.Parallel()
	going := []proto.Error{
		proto.ErrAborted, proto.ErrAborted, proto.ErrTooManySimultaneousQueries, proto.ErrMemoryLimitExceeded,
		proto.ErrNetworkError, proto.ErrTimeoutExceeded,
	}
	migrated := clickhousetest.Migrated(t, Migrate) // which the checks only read
	for _, word := range []string{
		"getSetting(", "system.settings", "schema_migrations", "system.columns", "system.databases",
	} {
		t.Run(word, func(t *testing.T) {
			t.Parallel()
			cfg, r := clickhousetest.Rejected(t, migrated, word, going...)
			log := testkit.NewLog(t, "log")
			if err := lifecycle.AwaitServers(t.Context(), log.Logger(), new(lifecycle.Readiness),
				Awaited(cfg, CheckExactness)); err != nil {
				t.Errorf("the wait ends with %v", err)
			}
			if r.Met() != len(going) {
				t.Errorf("%d of %d exceptions were met; the test shows nothing", r.Met(), len(going))
			}
			if !log.Contains("server unavailable, waiting") {
				t.Error("nothing tells of the wait")
			}
		})
	}
}

func TestASettingThatTheProfileForbidsEndsASink(t *testing.T) {
	t.Parallel()
	migrated := clickhousetest.Migrated(t, Migrate)
	for _, code := range []proto.Error{proto.ErrReadonly, proto.ErrSettingConstraintViolation, proto.ErrUnknownSetting} {
		t.Run(strconv.Itoa(int(code)), func(t *testing.T) {
			t.Parallel()
			cfg, _ := clickhousetest.Rejected(t, migrated, "getSetting(", code)
			err := lifecycle.AwaitServers(t.Context(), testkit.NewLog(t, "log").Logger(), new(lifecycle.Readiness),
				Awaited(cfg, CheckExactness))
			if !errors.Is(err, ErrInexact) ||
				!strings.Contains(err.Error(), "user default may not set insert_deduplication_token to \"a token\"") {
				t.Errorf("the wait ends with %v, want ErrInexact with the user and the setting", err)
			}
		})
	}
}
