package deployed

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/millrace/millrace/internal/adapter/clickhouse/clickhousetest"
	"github.com/millrace/millrace/internal/testkit/certs"
	"github.com/millrace/millrace/internal/testkit/services"
)

// TestEverythingIsEncryptedOnItsWay runs the daemons of a chart whose backends somebody
// else runs, against servers that let nobody in without TLS and a password, and some of
// them nobody without a certificate.
func TestEverythingIsEncryptedOnItsWay(t *testing.T) {
	t.Parallel()
	leaveOutWhenShort(t)
	manifests := rendering(t, "external")
	unasked := map[string][]string{
		"ingest-edge": {"CLICKHOUSE_TLS_ENABLED"}, "sink": {"STORE_TLS_ENABLED", "REDIS_TLS_ENABLED"},
	}
	own := services.OwnAll(t, services.KindKafkaTLS, services.KindPostgresTLS, services.KindRedisTLS,
		services.KindKubernetes)
	for program, settings := range deploy(t, manifests, newCluster(t, own[3]), secured(t, own[0], own[1], own[2])) {
		for name, want := range map[string]string{
			"KAFKA_TLS_ENABLED": "true", "CLICKHOUSE_TLS_ENABLED": "true", "STORE_TLS_ENABLED": "true",
			"REDIS_TLS_ENABLED":    "true",
			"KAFKA_SASL_MECHANISM": "scram-sha-512",
		} {
			if slices.Contains(unasked[program], name) {
				want = ""
			}
			if settings[name] != want {
				t.Errorf("%s runs with %s=%s, want %s", program, name, settings[name], want)
			}
		}
	}
}

// secured returns what the manifests need to reach servers that encrypt.
func secured(t *testing.T, kafkaServer, store, limits *services.Server) machine {
	t.Helper()
	kafka := kafkaServer.SecuredKafka(t)
	postgres, postgresAt := store.Secured(t)
	redis, redisAt := limits.Secured(t)
	clickhouse, own := clickhousetest.Database(t), certs.Temp(t).Folder()
	clickhouse.Addr = []string{own.Decrypt(t, clickhouse.Addr[0], false)} // the engine of the tests has no port for TLS
	here := machine{
		settings: reached(kafka.Signed, clickhouse),
		files: map[string]map[string]string{
			"private-authorities":   {"ca-bundle.crt": together(t, kafka.Certs.CA(), postgres.CA(), redis.CA(), own.CA())},
			"millrace-kafka-client": {"tls.crt": kafka.Certs.Cert("client"), "tls.key": kafka.Certs.Key("client")},
			"millrace-redis-client": {"tls.crt": redis.Cert("client"), "tls.key": redis.Key("client")},
		},
	}
	here.settings["KAFKA_SASL_USER"], here.settings["KAFKA_SASL_PASSWORD"] = "alice", "alice-secret"
	here.settings["CLICKHOUSE_CLUSTER"], here.settings["CLICKHOUSE_INSERT_QUORUM"] = "", "0" // one server
	here.settings["STORE_URL"], here.settings["REDIS_URL"] = postgresAt[0], redisAt[0]
	return here
}

// together returns a file that holds what stands in all of these.
func together(t *testing.T, files ...string) string {
	t.Helper()
	var all bytes.Buffer
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	path := filepath.Join(t.TempDir(), "bundle.crt")
	if err := os.WriteFile(path, all.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
