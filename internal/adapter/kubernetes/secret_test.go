package kubernetes

import (
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// account returns the account of a pod in namespace "shop" for a server. That the
// real API server takes the same requests is told by tests/contract/chart/cluster.
func account(t *testing.T, response http.HandlerFunc) *Account {
	t.Helper()
	srv := httptest.NewTLSServer(response)
	t.Cleanup(srv.Close)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw})
	a, err := ReadAccount(srv.URL+"/",
		folder(t, map[string]string{"token": "let-me\n", "namespace": "shop\n", "ca.crt": string(ca)}))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestPatchSecretSendsTheValuesAsThePod(t *testing.T) {
	t.Parallel()
	var got struct {
		StringData map[string]string `json:"stringData"`
	}
	a := account(t, func(_ http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPatch || r.URL.Path != "/api/v1/namespaces/shop/secrets/first" ||
			r.Header.Get("Authorization") != "Bearer let-me" {
			t.Errorf("it sent %s %s as %q", r.Method, r.URL.Path, r.Header.Get("Authorization"))
		}
		if err := json.NewDecoder(r.Body).Decode(&got); err != nil {
			t.Error(err)
		}
	})
	if err := a.PatchSecret(t.Context(), "first", map[string]string{"API_KEY": "mlr_1"}); err != nil {
		t.Fatal(err)
	}
	if got.StringData["API_KEY"] != "mlr_1" {
		t.Errorf("it sent %v", got)
	}
}

func TestARejectionIsToldWithoutTheValues(t *testing.T) {
	t.Parallel()
	a := account(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusForbidden)
		w.Write([]byte(`{"message":"secrets \"first\" is forbidden"}`))
	})
	err := a.PatchSecret(t.Context(), "first", map[string]string{"API_KEY": "mlr_secret"})
	if err == nil || !strings.Contains(err.Error(), `secrets "first" is forbidden`) ||
		strings.Contains(err.Error(), "mlr_secret") {
		t.Errorf("the error is %v", err)
	}
}

func TestAnAccountThatIsNotThereIsNamed(t *testing.T) {
	t.Parallel()
	for name, dir := range map[string]string{
		"token":                   "/nowhere",
		"contains no certificate": folder(t, map[string]string{"token": "x", "namespace": "x", "ca.crt": "x"}),
	} {
		if _, err := ReadAccount(DefaultAPI, dir); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("ReadAccount(%s): %v, want %q in it", dir, err, name)
		}
	}
}
