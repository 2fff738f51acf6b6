package config

import (
	"fmt"
	"strings"
	"testing"
)

func TestEverySecretMayStandInAFile(t *testing.T) {
	t.Parallel()
	for _, f := range Fields() {
		if !f.Secret {
			continue
		}
		file, ok := lookupField(f.Key + fileSuffix)
		if !ok || file.Type != "text" || file.rules.form != "path" {
			t.Errorf("%s has no %s", f.Key, f.Key+fileSuffix)
			continue
		}
		s := Default()
		f.of(&s).SetString("geheim")
		file.of(&s).SetString("/run/secrets/it")
		want := file.Key + ": must not be set together with " + f.Key
		if err := s.Validate(); !strings.Contains(fmt.Sprint(err), want) || strings.Contains(err.Error(), "geheim") {
			t.Errorf("both of %s: %v, want %q", f.Key, err, want)
		}
	}
}

func TestAFileIsAsGoodAsTheSecretInIt(t *testing.T) {
	t.Parallel()
	s := Default()
	if s.Store.IsSet() || s.Redis.IsSet() {
		t.Error("nothing is set, and IsSet() = true")
	}
	s.Kafka.SASL = KafkaSASL{Mechanism: "plain", User: "u", PasswordFile: "/p"}
	s.Mail = Mail{SMTP: SMTP{Addr: "h:25", TLS: "none", User: "u", PasswordFile: "/p"}, From: "a@b.example"}
	s.Store.URLFile, s.Store.PasswordFile = "/url", "/p"
	s.Redis.URLFile, s.Redis.PasswordFile = "/url", "/p"
	if err := s.Validate(); err != nil {
		t.Errorf("Validate() = %v", err)
	}
	if got := s.missing([]string{"store.url", "redis.url"}); len(got) != 0 {
		t.Errorf("a file is named, and %v are missing", got)
	}
	if !s.Store.IsSet() || !s.Redis.IsSet() {
		t.Error("a file is named, and IsSet() = false")
	}
}

func TestWhatEncryptionNeeds(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		change  func(*Settings)
		problem string // empty: valid
	}{
		{func(s *Settings) { s.Kafka.TLS = TLS{true, "ca", "cert", "key", "name", "1.3"} }, ""},
		{
			func(s *Settings) { s.ClickHouse.TLS.CAFile = "ca" },
			"clickhouse.tls.ca_file: requires clickhouse.tls.enabled, which is false",
		},
		{func(s *Settings) {
			s.Store.TLS.ServerName = "db"
		}, "store.tls.server_name: requires store.tls.enabled, which is false"},
		{
			func(s *Settings) { s.Kafka.TLS = TLS{Enabled: true, CertFile: "c", MinVersion: "1.2"} },
			"kafka.tls.cert_file: requires kafka.tls.key_file, which is empty",
		},
		{
			func(s *Settings) { s.Kafka.TLS = TLS{Enabled: true, KeyFile: "k", MinVersion: "1.2"} },
			"kafka.tls.key_file: requires kafka.tls.cert_file, which is empty",
		},
		{func(s *Settings) { s.Kafka.TLS.MinVersion = "1.1" }, `kafka.tls.min_version: "1.1" must be one of 1.2, 1.3`},
		{func(s *Settings) { s.Redis.TLS.CAFile = "ca" }, "redis.tls.ca_file: requires redis.tls.enabled, which is false"},
		{func(s *Settings) { s.Redis.TLS.CAFile, s.Redis.URL = "ca", "rediss://h" }, ""},
		{func(s *Settings) { s.Redis.TLS.CAFile, s.Redis.URLFile = "ca", "/url" }, ""},
		{func(s *Settings) { s.Redis.Password = "p" }, "redis.password: requires redis.url, which is empty"},
		{func(s *Settings) { s.Store.PasswordFile = "/p" }, "store.password: requires store.url, which is empty"},
		{func(s *Settings) { s.Billing.TokenFile = "/p" }, "billing.token: requires billing.url, which is empty"},
	} {
		s := Default()
		tc.change(&s)
		if err := s.Validate(); tc.problem == "" && err != nil || tc.problem != "" && fmt.Sprint(err) != tc.problem {
			t.Errorf("Validate() = %v, want %q", err, tc.problem)
		}
	}
}
