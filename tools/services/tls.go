package main

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/millrace/millrace/internal/testkit"
	"github.com/millrace/millrace/internal/testkit/certs"
)

// redisPassword is the one of alice.
const redisPassword = "alice-secret"

// The servers of this file encrypt their connections. The line that tells where one
// listens begins with the folder of its certificates.

// newCerts makes an authority for the server of that name.
func newCerts(dir, name string) (certs.Folder, error) {
	a, err := certs.New(filepath.Join(dir, name+"-certs"))
	if err != nil {
		return "", err
	}
	return a.Folder(), nil
}

// buildKafkaTLS makes a broker that is reached in four ways, in this order: encrypted,
// encrypted with a client certificate, encrypted by who signs in, and in the clear.
func buildKafkaTLS(ctx context.Context, dir string) (*server, string, error) {
	folder, err := newCerts(dir, "kafka-tls")
	if err != nil {
		return nil, "", err
	}
	b := broker{Protocol: "PLAINTEXT", Users: users, Signed: "signed", Certs: folder, Secured: []listener{
		{Name: "ENCRYPTED", Protocol: "SSL"}, {Name: "MUTUAL", Protocol: "SSL"}, {Name: "SIGNED", Protocol: "SASL_SSL"},
	}}
	var line strings.Builder
	line.WriteString("KAFKA_TLS=" + string(folder))
	for i := range b.Secured {
		port, err := testkit.ReservePort()
		if err != nil {
			return nil, "", err
		}
		b.Secured[i].Port = port
		fmt.Fprintf(&line, ",127.0.0.1:%d", port)
	}
	s, port, err := newKafka(ctx, dir, "kafka-tls", b)
	return s, fmt.Sprintf("%s,127.0.0.1:%d", line.String(), port), err
}

// access lets people in: over TLS alone, client by its certificate, all others by
// their password.
const access = `hostssl all client 127.0.0.1/32 cert
hostssl all all 127.0.0.1/32 scram-sha-256
`

func buildPostgresTLS(ctx context.Context, dir string) (*server, string, error) {
	const name, password = "postgres-tls", "postgres-secret"
	secret := filepath.Join(dir, name+".password")
	if err := os.WriteFile(secret, []byte(password), 0o644); err != nil {
		return nil, "", err
	}
	s, port, err := newPostgres(ctx, dir, name, "-A", "scram-sha-256", "--pwfile="+secret)
	if err != nil {
		return nil, "", err
	}
	folder, err := newCerts(dir, name)
	if err != nil {
		return nil, "", err
	}
	hba := filepath.Join(string(folder), "pg_hba.conf")
	if err := os.WriteFile(hba, []byte(access), 0o644); err != nil {
		return nil, "", err
	}
	s.args = append(s.args,
		"-c", "hba_file="+hba, "-c", "ssl=on", "-c", "ssl_ca_file="+folder.CA(),
		"-c", "ssl_cert_file="+folder.Cert("server"), "-c", "ssl_key_file="+folder.Key("server"))
	if s.as != nil {
		for _, file := range []string{folder.CA(), folder.Cert("server"), folder.Key("server")} {
			if err := os.Chown(file, int(s.as.Uid), int(s.as.Gid)); err != nil {
				return nil, "", err
			}
		}
	}
	return s, fmt.Sprintf("POSTGRES_TLS=%s,postgres://postgres:%s@127.0.0.1:%d/postgres", folder, password, port), nil
}

func buildRedisTLS(_ context.Context, dir string) (*server, string, error) {
	s, port, err := newRedis(dir, "redis-tls")
	if err != nil {
		return nil, "", err
	}
	folder, err := newCerts(dir, "redis-tls")
	if err != nil {
		return nil, "", err
	}
	acl := strings.Fields("--user alice on >" + redisPassword + " ~* +@all --user default off")
	s.args = append(append(s.args,
		"--port", "0", "--tls-port", strconv.Itoa(port), "--tls-auth-clients", "yes", "--tls-ca-cert-file", folder.CA(),
		"--tls-cert-file", folder.Cert("server"), "--tls-key-file", folder.Key("server")), acl...)
	return s, fmt.Sprintf("REDIS_TLS=%s,%s", folder, (&url.URL{
		Scheme: "rediss",
		User:   url.UserPassword("alice", redisPassword),
		Host:   net.JoinHostPort("127.0.0.1", strconv.Itoa(port)),
	}).String()), nil
}
