package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/testkit"
)

// planted are things that look like secrets, put together here so that this file
// holds none.
var planted = map[string]struct{ text, rule string }{
	"deploy/values.yaml":     {"key: " + "mlr_" + strings.Repeat("a1B2c3D4", 6), "millrace-api-key"},
	"docs/guide.md":          {"store: postgres" + "://millrace:hunter2hunter2@db.example/millrace", "url-with-password"},
	"cmd/x/main.go":          {"const token = \"" + "ghp_" + "x7Qm2Rk9Lw4Tz8Vb1Nc6Yd3Hf5Js0PgAeUoI" + "\"", "github-pat"},
	"data/dev.env":           {"API_KEY=" + "mlr_" + strings.Repeat("a1B2c3D4", 6), ""},
	"tests/contract/a.txtar": {"redis" + "://:hunter2hunter2@127.0.0.1/0", ""},
	"docs/reference/page.md": {"postgres" + "://USER:PASSWORD@HOST/DATABASE", ""},
	"deploy/compose/x.yaml":  {"postgres" + "://millrace:${POSTGRES_PASSWORD:?see .env.example}@postgres/millrace", ""},
	"internal/x/x_test.go":   {"const key = \"" + "mlr_" + strings.Repeat("a1B2c3D4", 6) + "\"", ""},
	"internal/x/hidden.go": {"-----BEGIN RSA " + "PRIVATE KEY-----\n" +
		strings.Repeat("MIIEpAIBAAKCAQEA7vG0q1Zr8sXn2PpWd\n", 12) + "-----END RSA " + "PRIVATE KEY-----", "private-key"},
	"internal/x/data/y.yaml":  {"key: " + "mlr_" + strings.Repeat("a1B2c3D4", 6), "millrace-api-key"},
	"internal/x/innocent.txt": {"prefix mlr_ and forty-eight characters", ""},
}

func TestAPlantedSecretIsFound(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("builds gitleaks")
	}
	dir := t.TempDir()
	var want, got []string
	for name, p := range planted {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(p.text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if p.rule != "" {
			want = append(want, name+": "+p.rule)
		}
	}
	found, err := scan(t.Context(), testkit.Root(t), dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range found {
		got = append(got, fmt.Sprintf("%s: %s", filepath.ToSlash(f.File), f.RuleID))
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, slices.Compact(got)); diff != "" {
		t.Errorf("found (-want +got):\n%s", diff)
	}
}
