package certs

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"os"
	"testing"
)

// Decrypt listens with the certificate of the server, asks for one of a client where
// it should, and passes on what comes to a server that has no port for TLS. It returns
// where it listens, which ends with the test.
func (f Folder) Decrypt(tb testing.TB, to string, mutual bool) (addr string) {
	tb.Helper()
	pair, err := tls.LoadX509KeyPair(f.Cert("server"), f.Key("server"))
	if err != nil {
		tb.Fatal(err)
	}
	pem, err := os.ReadFile(f.CA())
	if err != nil {
		tb.Fatal(err)
	}
	cfg := &tls.Config{Certificates: []tls.Certificate{pair}, ClientCAs: x509.NewCertPool(), MinVersion: tls.VersionTLS12}
	cfg.ClientCAs.AppendCertsFromPEM(pem)
	if mutual {
		cfg.ClientAuth = tls.RequireAndVerifyClientCert
	}
	l, err := tls.Listen("tcp", "127.0.0.1:0", cfg)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { l.Close() })
	go func() {
		for {
			from, err := l.Accept()
			if err != nil {
				return
			}
			go pass(from, to)
		}
	}()
	return l.Addr().String()
}

func pass(from net.Conn, to string) {
	defer from.Close()
	if err := from.(*tls.Conn).Handshake(); err != nil {
		return // the alert was sent
	}
	server, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	defer server.Close()
	go func() {
		io.Copy(server, from)
		server.Close()
	}()
	io.Copy(from, server)
}
