package doctor

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// certificate returns one that ends after some time from now, in PEM.
func certificate(t *testing.T, now time.Time, begins, ends time.Duration) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: now.Add(begins), NotAfter: now.Add(ends)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func TestCertificatesAreJudgedByHowTheyAreUsed(t *testing.T) {
	t.Parallel()
	const day, cert, ca = 24 * time.Hour, "kafka.tls.cert_file", "kafka.tls.ca_file"
	now := time.Now()
	made := func(begins, ends time.Duration) []byte { return certificate(t, now, begins, ends) }
	ended, soon, well, early := made(-2*day, -day), made(-day, 10*day), made(-day, 100*day), made(day, 100*day)
	for _, tt := range []struct {
		name, key string
		holds     [][]byte
		level     Level
		what      string
	}{
		{"a certificate", cert, [][]byte{well}, OK, ""},
		{"a certificate that ended", cert, [][]byte{ended}, Fail, "expired on"},
		{"a certificate that ends soon", cert, [][]byte{soon}, Warn, "expires on"},
		{"a certificate that is not valid yet", cert, [][]byte{early}, Fail, "valid from"},
		{"a chain of which one ended", cert, [][]byte{soon, ended}, Fail, "expired on"},
		{"an authority that ended beside its successor", ca, [][]byte{ended, well}, OK, ""},
		{"authorities that all ended", ca, [][]byte{ended, ended}, Fail, "expired on"},
		{"authorities of which the last one ends soon", ca, [][]byte{ended, soon}, Warn, "expires on"},
		{"no certificate", ca, nil, Fail, "nothing in PEM format"},
		{"another file", "store.url_file", nil, OK, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "file")
			var text []byte
			for _, c := range tt.holds {
				text = append(text, c...)
			}
			if err := os.WriteFile(path, text, 0o600); err != nil {
				t.Fatal(err)
			}
			if level, what := fileProblem(tt.key, path, now); level != tt.level || !strings.Contains(what, tt.what) {
				t.Errorf("it is %s: %s; want %s: %s", level, what, tt.level, tt.what)
			}
		})
	}
}
