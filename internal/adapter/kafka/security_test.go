package kafka

import (
	"crypto/tls"
	"encoding/pem"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/millrace/millrace/internal/adapter/kafka/kafkatest"
	"github.com/millrace/millrace/internal/platform/config"
)

func TestEachMechanismSignsInWithTheRightPasswordOnly(t *testing.T) {
	t.Parallel()
	const user, password = "admin", "right"
	for mechanism, method := range map[string]string{
		"plain": "PLAIN", "scram-sha-256": "SCRAM-SHA-256", "scram-sha-512": "SCRAM-SHA-512",
	} {
		t.Run(mechanism, func(t *testing.T) {
			t.Parallel()
			_, cfg := kafkatest.Cluster(t, kfake.EnableSASL(), kfake.Superuser(method, user, password))
			cfg.SASL = config.KafkaSASL{Mechanism: mechanism, User: user, Password: password}
			if _, err := EnsureTopics(t.Context(), cfg); err != nil {
				t.Errorf("signing in: %v", err)
			}
			cfg.SASL.Password = "wrong"
			err := CheckTopics(t.Context(), cfg)
			if err == nil || strings.Contains(err.Error(), "wrong") {
				t.Errorf("signing in with another password: %v", err)
			}
		})
	}
}

func TestEncryptedConnectionsVerifyTheBrokersCertificate(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(nil) // for its certificate of 127.0.0.1
	server.StartTLS()
	t.Cleanup(server.Close)
	certificate := server.TLS.Certificates[0]
	_, cfg := kafkatest.Cluster(t, kfake.TLS(&tls.Config{Certificates: []tls.Certificate{certificate}}))

	cfg.TLS = config.TLS{Enabled: true, CAFile: filepath.Join(t.TempDir(), "ca.pem")}
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(cfg.TLS.CAFile, block, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := EnsureTopics(t.Context(), cfg); err != nil {
		t.Errorf("connecting: %v", err)
	}
	cfg.TLS.CAFile = "" // the system's authorities know nothing of this one
	if err := CheckTopics(t.Context(), cfg); err == nil {
		t.Error("a certificate of nobody known was accepted")
	}
}

func TestAFileWithoutCertificatesIsRejected(t *testing.T) {
	t.Parallel()
	empty := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(empty, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{empty, empty + ".missing"} {
		cfg := config.Kafka{TLS: config.TLS{Enabled: true, CAFile: file}}
		if _, err := securityOptions(cfg); err == nil || !strings.Contains(err.Error(), "kafka.tls.ca_file") {
			t.Errorf("%s: %v", file, err)
		}
	}
}

func TestAMechanismThatNobodyKnowsIsRejected(t *testing.T) {
	t.Parallel()
	cfg := config.Kafka{SASL: config.KafkaSASL{Mechanism: "gssapi", User: "u", Password: "p"}}
	if _, err := securityOptions(cfg); err == nil || !strings.Contains(err.Error(), "gssapi") {
		t.Errorf("securityOptions() = %v", err)
	}
}
