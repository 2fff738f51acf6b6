package deployed

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/testkit/services"
)

// namespace is the one that the chart was rendered for.
const namespace = "analytics"

// cluster is an API server, asked as its administrator.
type cluster struct {
	url, token, authority string
	client                *http.Client
}

func newCluster(t *testing.T, server *services.Server) *cluster {
	t.Helper()
	u, err := url.Parse(server.Address())
	if err != nil {
		t.Fatal(err)
	}
	read := func(name string) []byte {
		content, err := os.ReadFile(filepath.Join(u.Query().Get("files"), name))
		if err != nil {
			t.Fatal(err)
		}
		return content
	}
	authorities, authority := x509.NewCertPool(), read("apiserver.crt")
	authorities.AppendCertsFromPEM(authority)
	return &cluster{
		url: "https://" + u.Host, token: string(read("admin.token")), authority: string(authority),
		client: &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: authorities}}},
	}
}

// call sends body, nil for none, and returns the response.
func (c *cluster) call(t *testing.T, method, path string, body any) map[string]any {
	t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), method, c.url+path, bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+c.token)
	req.Header.Set("Content-Type", "application/json")
	resp, err := c.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	response, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode >= http.StatusBadRequest {
		t.Fatalf("%s %s: %s %v\n%s", method, path, resp.Status, err, response)
	}
	out := map[string]any{}
	if err := json.Unmarshal(response, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// apply makes what the bootstrap job needs: its account, its role, its Secret.
func (c *cluster) apply(t *testing.T, objects []object) {
	t.Helper()
	c.call(t, http.MethodPost, "/api/v1/namespaces", map[string]any{"metadata": map[string]any{"name": namespace}})
	for _, o := range ofKind(objects, "Secret", "ServiceAccount", "Role", "RoleBinding") {
		group := "/api/v1"
		if strings.HasPrefix(o.Kind, "Role") {
			group = "/apis/rbac.authorization.k8s.io/v1"
		}
		c.call(t, http.MethodPost, group+"/namespaces/"+namespace+"/"+strings.ToLower(o.Kind)+"s", o.raw)
	}
}

// account writes what a pod of a service account finds in its folder.
func (c *cluster) account(t *testing.T, name string) (folder string) {
	t.Helper()
	response := c.call(t, http.MethodPost, "/api/v1/namespaces/"+namespace+"/serviceaccounts/"+name+"/token",
		map[string]any{"spec": map[string]any{"expirationSeconds": 3600}})
	folder = t.TempDir()
	for file, content := range map[string]string{
		"token": response["status"].(map[string]any)["token"].(string), "ca.crt": c.authority, "namespace": namespace,
	} {
		if err := os.WriteFile(filepath.Join(folder, file), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}
