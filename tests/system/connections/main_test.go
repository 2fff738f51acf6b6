package connections

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/testkit/certs"
	"github.com/millrace/millrace/tests/harness"
)

func TestMain(m *testing.M) { harness.MainBeside(m, 4) }

// soon is when a start has told what does not fit: before anybody has looked away.
const soon = 15 * time.Second

// trusting returns settings that believe an authority.
func trusting(f certs.Folder) config.TLS {
	return config.TLS{Enabled: true, CAFile: f.CA(), MinVersion: "1.2"}
}

// proving returns settings with a client certificate besides.
func proving(f certs.Folder) config.TLS {
	t := trusting(f)
	t.CertFile, t.KeyFile = f.Cert("client"), f.Key("client")
	return t
}

// rejection is a set-up that does not fit and what is said of it.
type rejection struct {
	name    string
	tls     config.TLS
	says    string // begins the part that tells
	another string // stands in it too
}

// rejections of a server whose certificates are in a folder. All of them hold for
// every kind of server.
func rejections(t *testing.T, key string, f certs.Folder, asksForCertificate bool) []rejection {
	t.Helper()
	stranger := certs.Temp(t).Folder()
	wrongAuthority, wrongName, missing := proving(f), proving(f), proving(f)
	wrongAuthority.CAFile = stranger.CA()
	wrongName.ServerName = "elsewhere.example"
	missing.CAFile = filepath.Join(t.TempDir(), "none.pem")
	all := []rejection{
		{"another authority", wrongAuthority, key + ".tls.ca_file: no authority in ", stranger.CA()},
		{
			"another name", wrongName, key + ".tls.server_name: the server's certificate is for another name",
			"elsewhere.example",
		},
		{"no file", missing, key + ".tls.ca_file: " + missing.CAFile + " cannot be read", "no such file"},
	}
	if asksForCertificate {
		unknown := proving(f)
		unknown.CertFile, unknown.KeyFile = stranger.Cert("client"), stranger.Key("client")
		all = append(all,
			rejection{
				"no client certificate", trusting(f),
				key + ".tls.cert_file: is empty, and the server asks for a client certificate", "",
			},
			rejection{
				"an unknown client certificate", unknown, key + ".tls.cert_file: the server does not accept the certificate in ",
				unknown.CertFile,
			},
		)
	}
	return all
}

// checkRejected expects an error that says a thing soon, and no secret.
func checkRejected(t *testing.T, want, another, secret string, try func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	began := time.Now()
	err := try(ctx)
	if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), another) {
		t.Errorf("%v, want %q and %q", err, want, another)
	}
	if err != nil && secret != "" && strings.Contains(err.Error(), secret) {
		t.Errorf("the password stands in %v", err)
	}
	if took := time.Since(began); took > soon {
		t.Errorf("it took %s to tell", took)
	}
}

// written writes a file of a secret, as Kubernetes mounts it.
func written(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(path, []byte(text+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
