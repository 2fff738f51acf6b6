package connections

import (
	"context"
	"testing"

	"github.com/millrace/millrace/internal/adapter/kafka"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/testkit/services"
)

const wrongPassword = "not-the-password"

func TestKafkaIsReachedInEveryWay(t *testing.T) {
	t.Parallel()
	k := services.Own(t, services.KindKafkaTLS).SecuredKafka(t)
	password := written(t, "alice-secret")
	ways := map[string]config.Kafka{
		"in the clear": k.Plain, "encrypted": k.Encrypted, "with a client certificate": k.Mutual,
	}
	with := func(cfg config.Kafka, tls config.TLS, sasl config.KafkaSASL) config.Kafka {
		cfg.TLS, cfg.SASL = tls, sasl
		return cfg
	}
	ways["encrypted"] = with(k.Encrypted, trusting(k.Certs), config.KafkaSASL{})
	ways["with a client certificate"] = with(k.Mutual, proving(k.Certs), config.KafkaSASL{})
	for _, mechanism := range []string{"plain", "scram-sha-256", "scram-sha-512"} {
		ways[mechanism] = with(k.Signed, trusting(k.Certs),
			config.KafkaSASL{Mechanism: mechanism, User: "alice", Password: "alice-secret"})
		ways[mechanism+", password in a file"] = with(k.Signed, trusting(k.Certs),
			config.KafkaSASL{Mechanism: mechanism, User: "alice", PasswordFile: password})
	}
	if _, err := kafka.EnsureTopics(t.Context(), ways["scram-sha-512"]); err != nil {
		t.Fatal(err)
	}
	for name, cfg := range ways {
		t.Run(name, func(t *testing.T) {
			if err := kafka.CheckTopics(t.Context(), cfg); err != nil {
				t.Error(err)
			}
		})
	}

	check := func(cfg config.Kafka) func(context.Context) error {
		return func(ctx context.Context) error { return kafka.CheckTopics(ctx, cfg) }
	}
	for _, r := range rejections(t, "kafka", k.Certs, true) {
		t.Run(r.name, func(t *testing.T) {
			checkRejected(t, r.says, r.another, "", check(with(k.Mutual, r.tls, config.KafkaSASL{})))
		})
	}
	for _, mechanism := range []string{"plain", "scram-sha-256", "scram-sha-512"} {
		t.Run("wrong password, "+mechanism, func(t *testing.T) {
			sasl := config.KafkaSASL{Mechanism: mechanism, User: "alice", Password: wrongPassword}
			checkRejected(t, `kafka.sasl.password: the broker does not let user "alice" in with it`, "", wrongPassword,
				check(with(k.Signed, trusting(k.Certs), sasl)))
		})
	}
	t.Run("TLS where there is none", func(t *testing.T) {
		checkRejected(t, "is TLS misconfigured", k.Plain.Brokers[0], "",
			check(with(k.Plain, trusting(k.Certs), config.KafkaSASL{})))
	})
}
