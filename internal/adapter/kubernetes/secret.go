// Package kubernetes writes values into one Secret of the cluster that a process
// runs in, with nothing but the account of its pod and plain HTTPS.
//
// It promises to change a Secret that is there and to make none, so that the
// account needs one permission: to patch the Secret of that name. It reads no
// Secret, and its errors never show a value.
package kubernetes

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const (
	// DefaultAPI is how every cluster calls its own API server.
	DefaultAPI = "https://kubernetes.default.svc"
	// DefaultAccount is the folder in which a pod finds its account.
	DefaultAccount = "/var/run/secrets/kubernetes.io/serviceaccount"

	timeout     = 15 * time.Second
	maxResponse = 64 << 10 // bytes of a response that are read for its reason
)

// Account is who a process is to its cluster.
type Account struct {
	api, namespace, token string
	client                *http.Client
}

// ReadAccount reads the account of a pod from a folder, which holds the files
// token, ca.crt and namespace; api is the URL of the API server.
func ReadAccount(api, folder string) (*Account, error) {
	read := map[string][]byte{}
	for _, name := range []string{"token", "ca.crt", "namespace"} {
		content, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			return nil, fmt.Errorf("reading the pod's service account, which requires automountServiceAccountToken: %w",
				err)
		}
		read[name] = content
	}
	authorities := x509.NewCertPool()
	if !authorities.AppendCertsFromPEM(read["ca.crt"]) {
		return nil, fmt.Errorf("reading the pod's service account: %s contains no "+
			"certificate", filepath.Join(folder, "ca.crt"))
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: authorities, MinVersion: tls.VersionTLS12}}
	return &Account{
		api: strings.TrimSuffix(api, "/"), namespace: text(read["namespace"]), token: text(read["token"]),
		client: &http.Client{Transport: transport, Timeout: timeout},
	}, nil
}

func text(b []byte) string { return strings.TrimSpace(string(b)) }

// PatchSecret puts values into the Secret called name, in the account's
// namespace; what else stands in it stays.
func (a *Account) PatchSecret(ctx context.Context, name string, values map[string]string) error {
	patch, err := json.Marshal(map[string]any{"stringData": values})
	if err != nil {
		return fmt.Errorf("writing Secret %s: %w", name, err)
	}
	where := a.api + "/api/v1/namespaces/" + url.PathEscape(a.namespace) + "/secrets/" + url.PathEscape(name)
	req, err := http.NewRequestWithContext(ctx, http.MethodPatch, where, bytes.NewReader(patch))
	if err != nil {
		return fmt.Errorf("writing Secret %s: %w", name, err)
	}
	req.Header.Set("Authorization", "Bearer "+a.token)
	req.Header.Set("Content-Type", "application/merge-patch+json")
	resp, err := a.client.Do(req)
	if err != nil {
		return fmt.Errorf("writing Secret %s: %w", name, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("writing Secret %s in namespace %s: %w", name, a.namespace, rejection(resp))
	}
	return nil
}

// rejection is the API server's own sentence about what it did not do.
func rejection(resp *http.Response) error {
	var status struct {
		Message string `json:"message"`
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxResponse))
	if err == nil && json.Unmarshal(body, &status) == nil && status.Message != "" {
		return errors.New(status.Message)
	}
	return errors.New("the API server returned " + resp.Status)
}
