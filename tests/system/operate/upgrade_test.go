package operate

import (
	"strings"
	"sync"
	"testing"
)

// TestSeveralMigrateAtOnceAndOneDoes starts the command several times on empty
// databases.
func TestSeveralMigrateAtOnceAndOneDoes(t *testing.T) {
	t.Parallel()
	s := newServers(t)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if out, code := millrace(t, s.settings, "migrate"); code != 0 {
				t.Errorf("millrace migrate ends with %d: %s", code, out)
			}
		})
	}
	all.Wait()
	rows := query(t, s.clickhouse,
		"SELECT concat(toString(count()), ' of ', toString(max(version))) FROM schema_migrations")
	applied, newest, _ := strings.Cut(rows[0], " of ")
	if applied != newest || newest == "0" {
		t.Errorf("ClickHouse's migrations were applied %s times, want %s", applied, newest)
	}
}
