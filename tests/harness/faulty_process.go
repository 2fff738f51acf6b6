package harness

import (
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/adapter/kafka"
	"github.com/millrace/millrace/internal/adapter/kafka/kafkatest"
	"github.com/millrace/millrace/internal/testkit"
	"github.com/millrace/millrace/internal/testkit/apitest"
	"github.com/millrace/millrace/tests/fault/faultproxy"
)

// faultyEdges starts edges of a Split system that something is wrong with, by the names of
// the variables of faultyHosts, in whose places they stand: processes of the program, with
// all that it is made of. Only the fault that nobody foresaw has none.
func faultyEdges(t *testing.T, s *System) apitest.Vars {
	t.Helper()
	full := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, `{"allowed":false}`)
	}))
	t.Cleanup(full.Close)
	once := map[string]string{"LIMITS_WINDOW": "1m"}
	for _, family := range []string{"TRACK", "PAGE", "VITALS", "ERRORS", "ENGAGEMENT", "IDENTIFY", "PIXEL"} {
		once["LIMITS_"+family] = "1"
	}
	store, storeURL := proxied(t, s.StoreURL)
	endBrokers, brokersOf := ownBrokers(t)
	vars, edges := apitest.Vars{}, map[string]*Process{}
	for name, settings := range map[string]map[string]string{
		"INGEST_ONCE":       once,
		"INGEST_NO_QUOTA":   {"BILLING_URL": full.URL},
		"INGEST_NO_BILLING": {"BILLING_URL": "http://" + testkit.FreeAddr(t)},
		"INGEST_NO_STORE":   {"STORE_URL": storeURL},
		"INGEST_NO_BROKER":  brokersOf,
	} {
		addr := testkit.FreeAddr(t)
		other := *s
		other.settings = merge(maps.Clone(s.settings), settings, map[string]string{"INGEST_LISTEN": addr})
		vars[name], edges[name] = "http://"+addr, Current(t).Process(t, &other, string(Edge))
	}
	for _, p := range edges {
		p.Launch(t)
	}
	for _, p := range edges {
		p.WaitReady(t)
	}
	store.Set(faultproxy.Rule{Kind: faultproxy.Refuse})
	endBrokers()
	t.Cleanup(func() { edges["INGEST_NO_BROKER"].Kill(t) }) // it would wait for them
	return vars
}

// proxied puts a proxy before a server and returns it with the URL through it.
func proxied(t *testing.T, server string) (proxy *faultproxy.Proxy, through string) {
	t.Helper()
	at, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	proxy = faultproxy.Start(t, at.Host)
	at.Host = proxy.Addr()
	return proxy, at.String()
}

// ownBrokers starts brokers with our topics, and returns what ends them and an edge's settings
// to reach them.
func ownBrokers(t *testing.T) (end func(), env map[string]string) {
	t.Helper()
	cluster, cfg := kafkatest.Cluster(t)
	if _, err := kafka.EnsureTopics(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	return cluster.Close, map[string]string{
		"KAFKA_BROKERS": strings.Join(cfg.Brokers, ","), "KAFKA_TOPIC_PREFIX": cfg.TopicPrefix,
		"KAFKA_PARTITIONS": strconv.Itoa(cfg.Partitions), "KAFKA_REPLICATION": strconv.Itoa(cfg.Replication),
		"INGEST_DEADLINE": "1s",
	}
}
