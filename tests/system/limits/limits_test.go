// Package limits proves that processes which share a Redis limit their callers as
// one would: four ingest-edge and one query, as programs.
package limits

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/adapter/clickhouse/clickhousetest"
	"github.com/millrace/millrace/internal/adapter/clickhouse/schema"
	"github.com/millrace/millrace/internal/adapter/kafka"
	"github.com/millrace/millrace/internal/adapter/kafka/kafkatest"
	"github.com/millrace/millrace/internal/adapter/store"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/tenant/apikey"
	"github.com/millrace/millrace/internal/tenant/audit"
	"github.com/millrace/millrace/internal/tenant/auth"
	"github.com/millrace/millrace/internal/testkit"
	"github.com/millrace/millrace/internal/testkit/services"
	"github.com/millrace/millrace/tests/fault/faultproxy"
	"github.com/millrace/millrace/tests/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }

const edges = 4

// deployment is four edges and a query process on one store, one broker and, where
// there is one, one Redis.
type deployment struct {
	*harness.Fixture
	store      *store.Store
	clickhouse *faultproxy.Proxy  // through which ClickHouse is reached
	processes  []*harness.Process // the query process is the last one
	urls       []string           // to send to, of each process
}

func deploy(t *testing.T, redis string) *deployment {
	t.Helper()
	_, cfg := kafkatest.Cluster(t)
	url := "sqlite:" + filepath.Join(t.TempDir(), "meta.db")
	d := &deployment{Fixture: harness.Seed(t, url)}
	db, err := store.Open(t.Context(), url, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	d.store = db
	database := clickhousetest.Migrated(t, schema.Migrate)
	if _, err := kafka.EnsureTopics(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	d.clickhouse = faultproxy.Start(t, database.Addr[0])
	for i := range edges + 1 {
		program, path := "ingest-edge", "/track?website_id="
		if i == edges {
			program, path = "query", "/v1/query?website_id="
		}
		listen := testkit.FreeAddr(t)
		d.urls = append(d.urls, "http://"+listen+path+d.WebsiteID)
		d.processes = append(d.processes, harness.NewProcess(t, program, nil, map[string]string{
			"KAFKA_BROKERS": strings.Join(cfg.Brokers, ","), "KAFKA_TOPIC_PREFIX": cfg.TopicPrefix,
			"KAFKA_REPLICATION": strconv.Itoa(cfg.Replication),
			"CLICKHOUSE_ADDR":   d.clickhouse.Addr(), "CLICKHOUSE_DATABASE": database.Database,
			"STORE_URL": url, "REDIS_URL": redis, "REDIS_TIMEOUT": "5s", "LIMITS_WINDOW": "1h",
			"INGEST_LISTEN": listen, "QUERY_LISTEN": listen, "LOG_FORMAT": "text",
		}))
	}
	harness.StartAll(t, d.processes...)
	return d
}

// key makes a key with every scope and a limit of its own; 0 for none.
func (d *deployment) key(t *testing.T, limit int) string {
	t.Helper()
	k, secret, err := apikey.New(config.Default().Key.Prefix, apikey.Spec{
		OrganizationID: d.OrganizationID, Name: t.Name(), Scopes: auth.AllScopes().Strings(),
		RateLimit: apikey.RateLimit{Enabled: limit > 0, Limit: limit, Window: time.Hour},
	}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if err := d.store.CreateKey(t.Context(), audit.BySystem(), k); err != nil {
		t.Fatal(err)
	}
	return secret
}

// rejection is what a response of 429 says.
type rejection struct {
	Error      string `json:"error"`
	Code       string `json:"code"`
	Limit      int    `json:"limit"`
	RetryAfter int    `json:"retryAfter"`
	Reset      int64  `json:"reset"`
}

// send sends one request to a process and returns the rejection, nil for none.
func (d *deployment) send(t *testing.T, process int, key string) *rejection {
	t.Helper()
	body := `{"name":"signup"}`
	if process == edges {
		body = `{"parameters":["summary_metrics"],"preset":"today"}`
	}
	a, err := harness.Post(t.Context(), d.urls[process], key, []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	if a.Status == http.StatusOK {
		return nil
	}
	var r rejection
	if err := json.Unmarshal(a.Body, &r); err != nil || a.Status != http.StatusTooManyRequests {
		t.Fatalf("process %d: %d %s", process, a.Status, a.Body)
	}
	if got := a.Header.Get("Retry-After"); got != strconv.Itoa(r.RetryAfter) || r.Code != "RATE_LIMITED" ||
		a.Header.Get("X-RateLimit-Limit") != strconv.Itoa(r.Limit) ||
		a.Header.Get("X-RateLimit-Reset") != strconv.FormatInt(r.Reset, 10) {
		t.Errorf("body %s and header %v say different things", a.Body, a.Header)
	}
	return &r
}

// admitted sends n requests in turn to the edges, or to the query process, and
// returns how many were admitted before the first rejection.
func (d *deployment) admitted(t *testing.T, query bool, key string, n int) int {
	t.Helper()
	for i := range n {
		process := i % edges
		if query {
			process = edges
		}
		if d.send(t, process, key) != nil {
			return i
		}
	}
	return n
}

func TestFourEdgesAndAQueryProcessLimitAsOne(t *testing.T) {
	t.Parallel()
	d := deploy(t, services.Redis(t))

	t.Run("a key's own limit", func(t *testing.T) {
		key := d.key(t, 300)
		if got := d.admitted(t, false, key, 200); got != 200 {
			t.Errorf("%d of 200 events were taken", got)
		}
		if got := d.admitted(t, true, key, 100); got != 100 {
			t.Errorf("%d of 100 queries were answered", got)
		}
		for process := range d.processes {
			if r := d.send(t, process, key); r == nil || r.Limit != 300 || r.Error != "Rate limit exceeded" {
				t.Errorf("the 301st request, at process %d: %+v", process, r)
			}
		}
	})
	t.Run("a higher one does not lift the routes'", func(t *testing.T) {
		key := d.key(t, 5000)
		if got := d.admitted(t, false, key, 605); got != 600 {
			t.Errorf("%d events were taken, want 600", got)
		}
		if got := d.admitted(t, true, key, 125); got != 120 {
			t.Errorf("%d queries were answered, want 120", got)
		}
	})
	t.Run("requests under way", func(t *testing.T) { d.underWay(t) })
}

// underWay has 20 queries wait for ClickHouse.
func (d *deployment) underWay(t *testing.T) {
	t.Helper()
	key := d.key(t, 0)
	for process := range d.processes { // which know the key from now on
		if r := d.send(t, process, key); r != nil {
			t.Fatalf("the first request, at process %d: %+v", process, r)
		}
	}
	d.clickhouse.Set(faultproxy.Rule{Kind: faultproxy.BlackHole})
	answered := make(chan int, 20)
	for range 20 {
		go func() { answered <- d.query(t.Context(), key) }()
	}
	// They are all under way when an event is rejected for it.
	testkit.Eventually(t, 20*time.Second, func() error {
		if r := d.send(t, 0, key); r == nil || r.Error != "Too many concurrent API key requests" {
			return fmt.Errorf("an event beside 20 queries: %+v", r)
		}
		return nil
	})
	for process := range d.processes {
		if r := d.send(t, process, key); r == nil || r.Limit != 20 || r.RetryAfter != 1 {
			t.Errorf("the 21st, at process %d: %+v", process, r)
		}
	}
	d.clickhouse.Clear()
	for range 20 {
		if status := <-answered; status != http.StatusOK {
			t.Errorf("a query under way was answered %d", status)
		}
	}
	for process := range d.processes {
		if r := d.send(t, process, key); r != nil {
			t.Errorf("process %d refuses after all were answered: %+v", process, r)
		}
	}
}

// query asks until it is admitted, since an event that looks whether all queries
// are under way takes a place itself, and returns the status. Nobody has asked this
// before, so that no response is kept.
func (d *deployment) query(ctx context.Context, key string) int {
	for {
		a, err := harness.Post(ctx, d.urls[edges], key, []byte(`{"parameters":["custom_events"],"preset":"yesterday"}`))
		switch {
		case err != nil:
			return -1
		case a.Status != http.StatusTooManyRequests:
			return a.Status
		}
	}
}

func TestNothingFailsWhileRedisIsAway(t *testing.T) {
	t.Parallel()
	server := services.Own(t, services.KindRedis)
	d := deploy(t, server.Redis(t))
	key := d.key(t, 0)
	d.admitted(t, false, key, 40)
	server.Stop(t)
	began := time.Now()
	if got := d.admitted(t, false, key, 400); got != 400 {
		t.Errorf("%d of 400 events were taken while Redis was away", got)
	}
	if took := time.Since(began); took > testkit.Promised(30*time.Second) {
		t.Errorf("400 events took %s", took)
	}
	for i, p := range d.processes[:edges] {
		shared, err := p.Metric(t.Context(), "millrace_limits_shared")
		if err != nil || shared != 0 {
			t.Errorf("edge %d says that it shares its limits: %v, %v", i, shared, err)
		}
		if !strings.Contains(d.readyz(t, p), "Redis does not respond") {
			t.Errorf("edge %d is ready and does not say that Redis is away", i)
		}
	}
	server.Start(t)
	testkit.Eventually(t, 30*time.Second, func() error {
		for i, p := range d.processes[:edges] {
			if shared, err := p.Metric(t.Context(), "millrace_limits_shared"); err != nil || shared != 1 {
				return fmt.Errorf("edge %d has not found Redis back: %w", i, err)
			}
		}
		return nil
	})
}

func TestProcessesWithoutRedisSaySo(t *testing.T) {
	t.Parallel()
	d := deploy(t, "")
	for _, p := range []*harness.Process{d.processes[0], d.processes[edges]} {
		const says = "redis.url is empty: each process counts alone"
		if !strings.Contains(p.Log(), says) {
			t.Errorf("the log does not say it:\n%s", p.Log())
		}
		if got := d.readyz(t, p); !strings.HasPrefix(got, "ready\nlimits: "+says) {
			t.Errorf("/readyz: %s", got)
		}
	}
	key := d.key(t, 0)
	if got := d.admitted(t, false, key, 605); got != 605 {
		t.Errorf("%d of 605 were taken by four processes that count apart", got)
	}
}

// readyz returns what a process that is ready says about itself.
func (*deployment) readyz(t *testing.T, p *harness.Process) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+p.Admin()+"/readyz", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := harness.Client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("/readyz: %d %s, %v", resp.StatusCode, body, err)
	}
	return string(body)
}
