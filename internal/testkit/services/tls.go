package services

import (
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/testkit/certs"
)

// The kinds of servers that encrypt their connections; for Own.
const (
	KindKafkaTLS    Kind = "kafka-tls"
	KindPostgresTLS Kind = "postgres-tls" // lets nobody in without TLS, and "client" by certificate
	KindRedisTLS    Kind = "redis-tls"    // asks for a client certificate; its only user is alice
)

// Secured tells where the certificates of a server that encrypts are, and its
// addresses or its URL.
func (s *Server) Secured(tb testing.TB) (certs.Folder, []string) {
	tb.Helper()
	all := strings.Split(s.value, ",")
	if len(all) < 2 {
		tb.Fatalf("%s tells nothing of certificates: %s", s.kind, s.value)
	}
	return certs.Folder(all[0]), all[1:]
}

// SecuredKafka is a Kafka that is reached in four ways.
type SecuredKafka struct {
	Certs certs.Folder
	// Encrypted asks nobody who they are, Mutual asks for a client certificate, and
	// at Signed one signs in; all of them over TLS. Plain is in the clear.
	Encrypted, Mutual, Signed, Plain config.Kafka
}

// SecuredKafka returns settings for this broker, without any of TLS or SASL.
func (s *Server) SecuredKafka(tb testing.TB) SecuredKafka {
	tb.Helper()
	folder, addrs := s.Secured(tb)
	base := s.Kafka()
	at := func(i int) config.Kafka {
		cfg := base
		cfg.Brokers = []string{addrs[i]}
		return cfg
	}
	return SecuredKafka{Certs: folder, Encrypted: at(0), Mutual: at(1), Signed: at(2), Plain: at(3)}
}
