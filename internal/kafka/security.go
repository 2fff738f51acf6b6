package kafka

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"github.com/millrace/millrace/internal/config"
)

// mechanisms are the ways to sign in that kafka.sasl.mechanism names.
var mechanisms = map[string]func(user, password string) sasl.Mechanism{
	"plain": func(user, password string) sasl.Mechanism {
		return plain.Auth{User: user, Pass: password}.AsMechanism()
	},
	"scram-sha-256": func(user, password string) sasl.Mechanism {
		return scram.Auth{User: user, Pass: password}.AsSha256Mechanism()
	},
	"scram-sha-512": func(user, password string) sasl.Mechanism {
		return scram.Auth{User: user, Pass: password}.AsSha512Mechanism()
	},
}

// securityOptions returns how connections are encrypted and signed in. Without
// settings they are neither. Brokers' certificates are always verified.
func securityOptions(cfg config.Kafka) ([]kgo.Opt, error) {
	var opts []kgo.Opt
	if cfg.TLS.Enabled {
		t := &tls.Config{MinVersion: tls.VersionTLS12}
		if cfg.TLS.CAFile != "" {
			roots, err := certificates(cfg.TLS.CAFile)
			if err != nil {
				return nil, err
			}
			t.RootCAs = roots
		}
		opts = append(opts, kgo.DialTLSConfig(t))
	}
	if name := cfg.SASL.Mechanism; name != "" {
		mechanism, ok := mechanisms[name]
		if !ok {
			return nil, fmt.Errorf("kafka.sasl.mechanism %q is unknown", name)
		}
		opts = append(opts, kgo.SASL(mechanism(cfg.SASL.User, cfg.SASL.Password.Reveal())))
	}
	return opts, nil
}

func certificates(file string) (*x509.CertPool, error) {
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("reading kafka.tls.ca_file: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("reading kafka.tls.ca_file: %s holds no certificate in PEM form", file)
	}
	return pool, nil
}
