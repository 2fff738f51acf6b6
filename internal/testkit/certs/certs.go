// Package certs makes certificates for tests: an authority, a server on loopback
// and a client, as PEM files. They guard nothing and end with the day.
package certs

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// lifetime of a certificate; it begins as long before now.
const lifetime = 24 * time.Hour

// Folder holds the files of one authority.
type Folder string

// CA is the authority's certificate.
func (f Folder) CA() string { return filepath.Join(string(f), "ca.pem") }

// Cert is the certificate of a name that was issued, "server" or "client" or another.
func (f Folder) Cert(name string) string { return filepath.Join(string(f), name+".pem") }

// Key is the key of a name that was issued, in PKCS #8.
func (f Folder) Key(name string) string { return filepath.Join(string(f), name+".key") }

// Both holds key and certificate of a name that was issued.
func (f Folder) Both(name string) string { return filepath.Join(string(f), name+".both.pem") }

// Authority signs certificates.
type Authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	dir  Folder
}

// New makes an authority whose files are in dir, with the certificates of a server
// on 127.0.0.1 and localhost, and of a client.
func New(dir string) (*Authority, error) {
	a := &Authority{dir: Folder(dir)}
	var err error
	if a.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		return nil, err
	}
	a.cert = template("millrace test authority")
	a.cert.IsCA, a.cert.BasicConstraintsValid, a.cert.KeyUsage = true, true, x509.KeyUsageCertSign|x509.KeyUsageCRLSign
	der, err := x509.CreateCertificate(rand.Reader, a.cert, a.cert, &a.key.PublicKey, a.key)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	return a, errors.Join(write(a.dir.CA(), block("CERTIFICATE", der)),
		a.Issue("server", "127.0.0.1", "localhost"), a.Issue("client"))
}

// Folder returns where the files are.
func (a *Authority) Folder() Folder { return a.dir }

// Issue writes a certificate for hosts, and its key. Without hosts it is a client's,
// with the name as its common name.
func (a *Authority) Issue(name string, hosts ...string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	c := template(name)
	c.KeyUsage = x509.KeyUsageDigitalSignature
	c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	for _, h := range hosts {
		if ip := net.ParseIP(h); ip != nil {
			c.IPAddresses = append(c.IPAddresses, ip)
		} else {
			c.DNSNames = append(c.DNSNames, h)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, c, a.cert, &key.PublicKey, a.key)
	if err != nil {
		return fmt.Errorf("signing the certificate of %s: %w", name, err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	cert, private := block("CERTIFICATE", der), block("PRIVATE KEY", pkcs8)
	return errors.Join(
		write(a.dir.Cert(name), cert), write(a.dir.Key(name), private), write(a.dir.Both(name), append(private, cert...)),
	)
}

func template(name string) *x509.Certificate {
	return &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-lifetime), NotAfter: time.Now().Add(lifetime),
	}
}

func block(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

func write(path string, text []byte) error { return os.WriteFile(path, text, 0o600) }
