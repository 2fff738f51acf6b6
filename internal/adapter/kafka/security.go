package kafka

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/platform/credential"
)

// tlsKey begins the keys of the settings of encryption.
const tlsKey = "kafka.tls"

// mechanisms are the ways to sign in that kafka.sasl.mechanism names. Each asks for
// the password anew whenever it signs in.
var mechanisms = map[string]func(cfg config.KafkaSASL) sasl.Mechanism{
	"plain": func(cfg config.KafkaSASL) sasl.Mechanism {
		return plain.Plain(func(context.Context) (plain.Auth, error) {
			password, err := passwordOf(cfg)
			return plain.Auth{User: cfg.User, Pass: password}, err
		})
	},
	"scram-sha-256": func(cfg config.KafkaSASL) sasl.Mechanism { return scram.Sha256(scramAuth(cfg)) },
	"scram-sha-512": func(cfg config.KafkaSASL) sasl.Mechanism { return scram.Sha512(scramAuth(cfg)) },
}

func scramAuth(cfg config.KafkaSASL) func(context.Context) (scram.Auth, error) {
	return func(context.Context) (scram.Auth, error) {
		password, err := passwordOf(cfg)
		return scram.Auth{User: cfg.User, Pass: password}, err
	}
}

func passwordOf(cfg config.KafkaSASL) (string, error) {
	return credential.Secret("kafka.sasl.password", cfg.Password, cfg.PasswordFile)
}

// securityOptions returns how connections are encrypted and signed in. Without
// settings they are neither. Brokers' certificates are always verified. What stands
// in files is read once here, so that a wrong one is told at the start.
func securityOptions(cfg config.Kafka) ([]kgo.Opt, error) {
	opts := []kgo.Opt{kgo.DialTimeout(dialTimeout)}
	if cfg.TLS.Enabled {
		if _, err := credential.Client(tlsKey, cfg.TLS, ""); err != nil {
			return nil, err
		}
		opts = []kgo.Opt{kgo.Dialer(func(ctx context.Context, network, addr string) (net.Conn, error) {
			return credential.Dial(ctx, tlsKey, cfg.TLS, dialTimeout, network, addr)
		})}
	}
	if name := cfg.SASL.Mechanism; name != "" {
		mechanism, ok := mechanisms[name]
		if !ok {
			return nil, fmt.Errorf("unknown kafka.sasl.mechanism %q", name)
		}
		if _, err := passwordOf(cfg.SASL); err != nil {
			return nil, err
		}
		opts = append(opts, kgo.SASL(mechanism(cfg.SASL)))
	}
	return opts, nil
}

// explain makes a Rejection of an error by which a broker says that it and the settings
// do not fit, and returns any other error as it is.
func explain(cfg config.Kafka, err error) error {
	switch {
	case err == nil || credential.Rejected(err):
		return err
	case errors.Is(err, kerr.SaslAuthenticationFailed):
		return credential.Reject("kafka.sasl.password", err,
			fmt.Sprintf("the broker does not let user %q in with it", cfg.SASL.User))
	case errors.Is(err, kerr.UnsupportedSaslMechanism):
		return credential.Reject("kafka.sasl.mechanism", err, "the broker does not offer "+cfg.SASL.Mechanism)
	case errors.Is(err, kerr.IllegalSaslState):
		return credential.Reject("kafka.sasl.mechanism", err, "the broker does not let anybody sign in at this address")
	}
	return err
}
