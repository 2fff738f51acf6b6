package credential

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/millrace/millrace/internal/platform/config"
)

// Client returns how to encrypt a connection to a host, from what stands in the
// files now. Prefix begins the keys of the settings, such as "kafka.tls".
func Client(prefix string, cfg config.TLS, host string) (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: host}
	if cfg.MinVersion == "1.3" {
		c.MinVersion = tls.VersionTLS13
	}
	if cfg.ServerName != "" {
		c.ServerName = cfg.ServerName
	}
	if cfg.CAFile != "" {
		pem, err := read(prefix+".ca_file", cfg.CAFile)
		if err != nil {
			return nil, err
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, rejectf(prefix+".ca_file", nil, "%s holds no certificate in PEM form", cfg.CAFile)
		}
	}
	if cfg.CertFile == "" {
		return c, nil
	}
	pair, err := keyPair(prefix, cfg)
	if err != nil {
		return nil, err
	}
	// Given whatever authorities the server names: what it refuses it says.
	c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return pair, nil }
	return c, nil
}

func keyPair(prefix string, cfg config.TLS) (*tls.Certificate, error) {
	cert, err := read(prefix+".cert_file", cfg.CertFile)
	if err != nil {
		return nil, err
	}
	key, err := read(prefix+".key_file", cfg.KeyFile)
	if err != nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, rejectf(prefix+".cert_file", err, "%s and the key in %s are no pair in PEM form",
			cfg.CertFile, cfg.KeyFile)
	}
	return &pair, nil
}

// Dial connects to an address, host:port, within a time, and encrypts the connection
// where the settings say so. What the certificates have to do with a failure is told
// as a RejectionError, also one that the server tells of when it is first asked something.
func Dial(
	ctx context.Context, prefix string, cfg config.TLS, within time.Duration, network, addr string,
) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	raw, err := new(net.Dialer).DialContext(ctx, network, addr)
	if err != nil || !cfg.Enabled {
		return raw, err
	}
	conn, err := encrypt(ctx, prefix, cfg, raw, addr)
	if err != nil {
		raw.Close()
		return nil, err
	}
	return conn, nil
}

func encrypt(ctx context.Context, prefix string, cfg config.TLS, raw net.Conn, addr string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("reading the address: %w", err)
	}
	c, err := Client(prefix, cfg, host)
	if err != nil {
		return nil, err
	}
	conn := &explained{prefix: prefix, cfg: cfg}
	give := c.GetClientCertificate
	c.GetClientCertificate = func(r *tls.CertificateRequestInfo) (*tls.Certificate, error) {
		conn.asked = true
		if give == nil {
			return new(tls.Certificate), nil
		}
		return give(r)
	}
	encrypted := tls.Client(raw, c)
	if err := encrypted.HandshakeContext(ctx); err != nil {
		return nil, Explain(prefix, cfg, err)
	}
	conn.Conn = encrypted
	return conn, nil
}

// explained is a connection whose first response may be that the server does not
// accept our certificate: with TLS 1.3 it comes after the handshake.
type explained struct {
	net.Conn

	prefix   string
	cfg      config.TLS
	asked    bool        // the server wanted a certificate of us
	answered atomic.Bool // it has said something
}

// Read explains the server's alerts.
func (c *explained) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 {
		c.answered.Store(true)
	}
	return n, c.explain(err)
}

// Write explains them too: an alert that has arrived ends both directions.
func (c *explained) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	return n, c.explain(err)
}

// explain takes a reset for the alert that a server sends before it, which a reset
// takes along.
func (c *explained) explain(err error) error {
	reset := errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
	if reset && c.asked && !c.answered.Load() {
		return unaccepted(c.prefix, c.cfg, err)
	}
	return Explain(c.prefix, c.cfg, err)
}
