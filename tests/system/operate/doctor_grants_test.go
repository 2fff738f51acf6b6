package operate

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/adapter/clickhouse/clickhousetest"
	"github.com/millrace/millrace/internal/testkit"
	"github.com/millrace/millrace/tests/harness"
)

// guideGrants reads what the guide grants the daemons' user in ClickHouse.
func guideGrants(t *testing.T) (all []string) {
	t.Helper()
	root, err := testkit.ModuleRoot()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "docs", "guides", "connections.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(?m)^GRANT ([^;]+) TO millrace;$`).FindAllStringSubmatch(string(text), -1) {
		all = append(all, strings.Join(strings.Fields(m[1]), " "))
	}
	if len(all) == 0 {
		t.Fatal("the guide grants nothing")
	}
	return all
}

// TestTheDoctorNamesWhatTheClickHouseUserMayNotDo asks a server that knows users, among
// them one who may do what the guide says, as whom daemons then work.
func TestTheDoctorNamesWhatTheClickHouseUserMayNotDo(t *testing.T) {
	t.Parallel()
	s := newServers(t)
	guide := guideGrants(t)
	without := func(gone string) []string {
		less := slices.Clone(guide)
		for i := range less {
			less[i] = strings.TrimPrefix(strings.ReplaceAll(less[i], gone, ""), ", ")
		}
		return less
	}
	s.clickhouse = clickhousetest.Users(t, map[string][]string{
		"millrace": guide,
		"reader":   {"SELECT ON millrace.*"},
		"undying":  without(", ALTER DELETE"),
		"blind":    without("SELECT ON system.disks"),
		"partless": without(", SELECT ON system.parts"),
	})
	s.settings["CLICKHOUSE_ADDR"], s.settings["CLICKHOUSE_DATABASE"] = s.clickhouse.Addr[0], s.clickhouse.Database
	s.must(t, "migrate")
	s.must(t, "topics create")

	as := func(user string) map[string]string { return map[string]string{"CLICKHOUSE_USER": user} }
	for user, lacks := range map[string]string{
		"reader": "user reader lacks INSERT ON `millrace`.*, ALTER DELETE ON `millrace`.*, CREATE ARBITRARY TEMPORARY " +
			"TABLE ON *.*, TABLE ENGINE ON `Null`, SELECT ON system.disks, ",
		"undying":  "user undying lacks ALTER DELETE ON `millrace`.*",
		"blind":    "user blind lacks SELECT ON system.disks",
		"partless": "user partless lacks SELECT ON system.parts",
	} {
		t.Run(user, func(t *testing.T) {
			illness{
				user, func(*testing.T, *site) map[string]string { return as(user) }, "clickhouse.rights", lacks, " TO " + user,
			}.found(t, s)
		})
	}
	s.settings["CLICKHOUSE_USER"] = "millrace"
	testkit.EventuallyEvery(t, time.Second, patience, func() error {
		if out, code := millrace(t, s.settings, "doctor", "--json"); code != 0 ||
			!strings.Contains(out, `{"check":"clickhouse.rights","level":"ok",`) {
			return fmt.Errorf("the doctor finds something although the user may do what the guide says, and ends with %d:\n%s",
				code, out)
		}
		return nil
	})
	delete(s.settings, "ADMIN_LISTEN") // each process has one of its own
	var daemons []*harness.Process
	for _, name := range []string{"ingest-edge", "sink", "query"} {
		daemons = append(daemons, harness.NewProcess(t, name, nil, s.settings))
	}
	harness.StartAll(t, daemons...)
	(&closedSite{site: s}).works(t)
	for _, p := range daemons {
		if strings.Contains(p.Log(), "ACCESS_DENIED") {
			t.Errorf("something was refused:\n%s", p.Log())
		}
	}
}
