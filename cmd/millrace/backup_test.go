package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/adapter/clickhouse/clickhousetest"
	"github.com/millrace/millrace/internal/adapter/store"
	"github.com/millrace/millrace/internal/tenant/apikey"
	"github.com/millrace/millrace/internal/testkit"
	"github.com/millrace/millrace/internal/testkit/services"
)

// guideLines returns the lines of the backup guide's blocks of commands, in order,
// that begin with a program's name.
func guideLines(t *testing.T, programs ...string) (lines []string) {
	t.Helper()
	text, err := os.ReadFile("../../docs/guides/backup-and-restore.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		for line := range strings.Lines(block[1]) {
			program, _, _ := strings.Cut(strings.TrimSpace(line), " ")
			for _, p := range programs {
				if program == p {
					lines = append(lines, strings.TrimSpace(line))
				}
			}
		}
	}
	return lines
}

// runShell runs a line of the guide in a folder, with a store's URL in its environment.
func runShell(t *testing.T, dir, line, storeURL string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-ec", line)
	// Debian keeps the programs of PostgreSQL apart.
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin")
	if err != nil {
		t.Fatal(err)
	}
	cmd.Dir = dir
	cmd.Env = []string{
		"PATH=" + strings.Join(append(found, "/usr/local/bin", "/usr/bin", "/bin"), ":"), "MILLRACE_STORE_URL=" + storeURL,
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", line, err, out)
	}
}

// account makes a migrated store's first account and returns its website and key.
func account(t *testing.T, storeURL string) (website, key string) {
	t.Helper()
	db, err := store.Open(t.Context(), storeURL, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	out := mustMillrace(t, "bootstrap", "--store.url="+storeURL, "--organization", "Acme", "--domain", "shop.example",
		"--email", "owner@shop.example")
	m := regexp.MustCompile(`WEBSITE_ID=(\S+)\nAPI_KEY=(\S+)`).FindStringSubmatch(out)
	if m == nil {
		t.Fatalf("bootstrap prints\n%s", out)
	}
	return m[1], m[2]
}

// knows expects a restored store to be of this build, and to have the website and the key.
func knows(t *testing.T, storeURL, website, key string) {
	t.Helper()
	db, err := store.Open(t.Context(), storeURL, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.CheckSchema(t.Context()); err != nil {
		t.Error(err)
	}
	w, err := db.WebsiteByID(t.Context(), website)
	if err != nil {
		t.Fatalf("the restored store's website %s: %v", website, err)
	}
	k, err := db.KeyByHash(t.Context(), apikey.HashOf([]byte(key)))
	if err != nil || k.OrganizationID != w.OrganizationID {
		t.Errorf("the restored store's key: %+v, %v, want one of %s", k, err, w.OrganizationID)
	}
}

func TestTheMetadataStoreIsRestoredAsTheGuideSays(t *testing.T) {
	t.Parallel()
	t.Run("PostgreSQL", func(t *testing.T) {
		t.Parallel()
		lines := guideLines(t, "pg_dump", "pg_restore")
		if len(lines) != 2 || !strings.HasPrefix(lines[0], "pg_dump") {
			t.Fatalf("the guide's commands are %q, want a pg_dump and a pg_restore", lines)
		}
		lost, dir := services.Postgres(t), t.TempDir()
		website, key := account(t, lost)
		runShell(t, dir, lines[0], lost)
		empty := services.Postgres(t)
		runShell(t, dir, lines[1], empty)
		c := clickhousetest.Database(t)
		mustMillrace(t, "migrate", "--store.url="+empty, "--clickhouse.addr="+c.Addr[0], "--clickhouse.database="+c.Database)
		knows(t, empty, website, key)
	})
	t.Run("SQLite", func(t *testing.T) {
		t.Parallel()
		lines := guideLines(t, "sqlite3")
		m := regexp.MustCompile(`^sqlite3 data/millrace\.db "VACUUM INTO '([^'"/]+)'"$`).FindStringSubmatch(
			strings.Join(lines, "\n"))
		if m == nil {
			t.Fatalf("the guide's commands are %q, want a VACUUM INTO", lines)
		}
		dir := t.TempDir()
		file, saved := filepath.Join(dir, "millrace.db"), filepath.Join(dir, m[1])
		website, key := account(t, "sqlite:"+file)
		if _, err := testkit.Program("sqlite3"); err != nil {
			t.Fatal(err)
		}
		runShell(t, dir, strings.Replace(m[0], "data/millrace.db", file, 1), "")
		knows(t, "sqlite:"+saved, website, key)
	})
}
