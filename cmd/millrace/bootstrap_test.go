package main

import (
	"encoding/pem"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/adapter/store"
)

// emptyStore returns the --store.url flag of a migrated store without records.
func emptyStore(t *testing.T) string {
	t.Helper()
	url := "sqlite:" + filepath.Join(t.TempDir(), "meta.db")
	db, err := store.Open(t.Context(), url, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return "--store.url=" + url
}

func TestBootstrapPrintsTheFirstAccountOnce(t *testing.T) {
	t.Parallel()
	url := emptyStore(t)
	args := []string{
		"bootstrap", url, "--organization", "Acme", "--domain", "shop.example", "--email", "owner@shop.example",
	}
	out := mustMillrace(t, args...)
	const want = `^ORGANIZATION_ID=org_\w+\nWEBSITE_ID=web_\w+\nAPI_KEY=mlr_\w{48}\nADMIN_EMAIL=owner@shop\.example\nADMIN_PASSWORD=\w+\n$`
	if !regexp.MustCompile(want).MatchString(out) {
		t.Errorf("it printed\n%s", out)
	}
	again, said, err := millrace(t, args...)
	if err != nil || again != "" || !strings.Contains(said, "nothing was changed") {
		t.Errorf("a second time: %q, %q, %v", again, said, err)
	}
	if keys := mustMillrace(t, "keys", "list", url); strings.Count(keys, "key_") != 1 {
		t.Errorf("there is not one key:\n%s", keys)
	}
}

func TestBootstrapSaysWhatIsMissingOrRejected(t *testing.T) {
	t.Parallel()
	url := emptyStore(t)
	for args, want := range map[string]string{
		"--domain shop.example --email a@b.example":                      "--organization is required",
		"--organization Acme --email a@b.example":                        "--domain is required",
		"--organization Acme --domain shop.example":                      "--email is required",
		"--organization Acme --domain shop..example --email a@b.example": "domain",
		"--organization Acme --domain shop.example --email not-an-mail":  "e-mail address",
	} {
		_, _, err := millrace(t, append([]string{"bootstrap", url}, strings.Fields(args)...)...)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("bootstrap %s: the error is %v, want %q in it", args, err, want)
		}
	}
}

func TestNothingIsMadeWhenTheSecretCannotBeWritten(t *testing.T) {
	t.Parallel()
	url := emptyStore(t)
	pod := t.TempDir()
	for name, content := range map[string]string{"token": "t", "namespace": "shop", "ca.crt": testAuthority(t)} {
		if err := os.WriteFile(filepath.Join(pod, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	args := []string{
		"bootstrap", url, "--organization", "Acme", "--domain", "shop.example", "--email", "owner@shop.example",
	}
	out, _, err := millrace(t, append(args, "--kubernetes-secret", "first", "--kubernetes-api", "https://127.0.0.1:1",
		"--kubernetes-account", pod)...)
	if err == nil || out != "" || !strings.Contains(err.Error(), "writing Secret first") {
		t.Errorf("it printed %q and ended with %v", out, err)
	}
	if out := mustMillrace(t, args...); !strings.Contains(out, "ORGANIZATION_ID=org_") {
		t.Errorf("afterwards nothing can be made any more:\n%s", out)
	}
}

// testAuthority returns the certificate of somebody.
func testAuthority(t *testing.T) string {
	t.Helper()
	srv := httptest.NewTLSServer(nil)
	defer srv.Close()
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw}))
}
