// Package edge_test proves the ingestion host on a broker: what it answers and
// stores while brokers reject, lag, go away and come back, and during a stop.
package edge_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/millrace/millrace/internal/adapter/kafka"
	"github.com/millrace/millrace/internal/adapter/kafka/kafkatest"
	"github.com/millrace/millrace/internal/adapter/store"
	"github.com/millrace/millrace/internal/app/edge"
	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/platform/lifecycle"
	"github.com/millrace/millrace/internal/platform/telemetry"
	"github.com/millrace/millrace/internal/tenant/apikey"
	"github.com/millrace/millrace/internal/tenant/audit"
	"github.com/millrace/millrace/internal/tenant/org"
	"github.com/millrace/millrace/internal/tenant/website"
	"github.com/millrace/millrace/internal/testkit"
)

// host is a running ingestion host with a store, a broker and a key of its own.
type host struct {
	url, key string
	site     *website.Website
	cluster  *kfake.Cluster
	settings config.Settings
	stop     func() error

	readiness lifecycle.Readiness
}

// newHost prepares the backends of an ingestion host.
func newHost(t *testing.T) *host {
	t.Helper()
	s := config.Default()
	cluster, cfg := kafkatest.Cluster(t)
	s.Kafka, s.Limits = cfg, testkit.WideLimits()
	s.Ingest.Listen, s.Ingest.Deadline = testkit.FreeAddr(t), time.Minute
	s.Store.URL = config.Secret("sqlite:" + filepath.Join(t.TempDir(), "meta.db"))
	db, err := store.Open(t.Context(), s.Store.URL.Reveal(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	now := time.Now()
	o, err := org.New("Acme", now)
	if err != nil {
		t.Fatal(err)
	}
	site, err := website.New(o.ID, "Shop", "shop.example", now)
	if err != nil {
		t.Fatal(err)
	}
	key, secret, err := apikey.New(s.Key.Prefix,
		apikey.Spec{OrganizationID: o.ID, Name: "test", Scopes: []string{"track:events"}}, now)
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []func(context.Context) error{
		db.Migrate,
		func(ctx context.Context) error { return db.CreateOrganization(ctx, audit.BySystem(), o) },
		func(ctx context.Context) error { return db.CreateWebsite(ctx, audit.BySystem(), site) },
		func(ctx context.Context) error { return db.CreateKey(ctx, audit.BySystem(), key) },
	} {
		if err := step(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	return &host{url: "http://" + s.Ingest.Listen, key: secret, site: site, cluster: cluster, settings: s}
}

// run starts the host and waits until it serves.
func (e *host) run(t *testing.T) *host {
	t.Helper()
	if _, err := kafka.EnsureTopics(t.Context(), e.settings.Kafka); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ready, ended := make(chan struct{}), make(chan error, 1)
	go func() { ended <- e.lifecycle(ctx, func() { close(ready) }) }()
	var once sync.Once
	var result error
	e.stop = func() error {
		once.Do(func() { cancel(); result = <-ended })
		return result
	}
	t.Cleanup(func() {
		if err := e.stop(); err != nil {
			t.Errorf("stopping: %v", err)
		}
	})
	select {
	case <-ready:
	case err := <-ended:
		t.Fatalf("starting: %v", err)
	}
	return e
}

func (e *host) lifecycle(ctx context.Context, onReady func()) error {
	tel := telemetry.Discard()
	components, err := edge.Components(ctx, e.settings, tel, &e.readiness)
	if err != nil {
		return err
	}
	return lifecycle.Run(ctx,
		lifecycle.Options{Log: tel.Log, Readiness: &e.readiness, OnReady: onReady, Grace: 20 * time.Second}, components...)
}

// track sends a body and returns the status and the response.
func (e *host) track(ctx context.Context, client *http.Client, id, body string) (int, string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url+"/track?website_id="+e.site.ID,
		strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	req.Header.Set("x-api-key", e.key)
	req.Header.Set("x-request-id", id)
	resp, err := client.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(text), err
}

// stored reads everything from the events topic, by request id.
func (e *host) stored(t *testing.T) map[string][]*kgo.Record {
	t.Helper()
	want := int64(0)
	for _, p := range e.cluster.PartitionInfos(record.TopicEvents) {
		want += p.HighWatermark
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(e.settings.Kafka.Brokers...), kgo.ConsumeTopics(record.TopicEvents))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	got := map[string][]*kgo.Record{}
	for n := int64(0); n < want; {
		client.PollFetches(t.Context()).EachRecord(func(r *kgo.Record) {
			n++
			for _, h := range r.Headers {
				if h.Key == record.HeaderRequestID {
					got[string(h.Value)] = append(got[string(h.Value)], r)
				}
			}
		})
	}
	return got
}

func TestNothingOfARequestIsMixedWithAnothers(t *testing.T) {
	t.Parallel()
	e := newHost(t).run(t)
	const workers, rounds = 8, 100
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			client := &http.Client{Transport: &http.Transport{}}
			defer client.CloseIdleConnections()
			for i := range rounds {
				id := fmt.Sprintf("request-%d-%d", w, i)
				one := fmt.Sprintf(`{"name":"event of %s","path":"/%s","properties":{"request":%q}}`,
					id, strings.Repeat(id, 1+i%30), id)
				body := "[" + strings.Repeat(one+",", i%4) + one + "]"
				status, text, err := e.track(t.Context(), client, id, body)
				if want := fmt.Sprintf(`{"status":"success","type":"custom_event","count":%d}`, 1+i%4); err != nil ||
					status != 200 || text != want {
					t.Errorf("%s: %d %s %v, want 200 %s", id, status, text, err, want)
				}
			}
		})
	}
	wg.Wait()
	got := e.stored(t)
	for w := range workers {
		for i := range rounds {
			id := fmt.Sprintf("request-%d-%d", w, i)
			if len(got[id]) != 1+i%4 {
				t.Errorf("%s: %d records, want %d", id, len(got[id]), 1+i%4)
			}
			for _, r := range got[id] {
				var v struct {
					Name       string          `json:"name"`
					Path       string          `json:"path"`
					Owner      string          `json:"owner"`
					Properties json.RawMessage `json:"properties"`
				}
				if err := json.Unmarshal(r.Value, &v); err != nil {
					t.Fatalf("%s: %v", r.Value, err)
				}
				if v.Name != "event of "+id || v.Path != "/"+strings.Repeat(id, 1+i%30) ||
					string(v.Properties) != `{"request":"`+id+`"}` ||
					v.Owner != e.site.ID || string(r.Key) != e.site.ID {
					t.Errorf("%s: key %s, value %s", id, r.Key, r.Value)
				}
			}
		}
	}
}

func TestAnUnconfirmedRequestIs503AndNever200(t *testing.T) {
	t.Parallel()
	e := newHost(t)
	e.settings.Ingest.Deadline = time.Second // the client's shortest
	e.run(t)
	fault := e.cluster.Fault(
		kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Topic: record.TopicEvents, Err: kerr.NotEnoughReplicas, Count: -1})
	status, text, err := e.track(t.Context(), http.DefaultClient, "refused", `{"name":"a"}`)
	if err != nil || status != 503 || !strings.Contains(text, `"code":"DELIVERY_UNAVAILABLE","retryable":true`) {
		t.Errorf("without replicas: %d %s %v", status, text, err)
	}
	fault.Remove()
	accepted, tries := "", 0
	testkit.Eventually(t, time.Minute, func() error {
		tries++
		id := fmt.Sprint("accepted-", tries) // one that was given up may be stored all the same
		status, text, err := e.track(t.Context(), http.DefaultClient, id, `{"name":"a"}`)
		if err != nil || status != 200 {
			return fmt.Errorf("with replicas again: %d %s %w", status, text, err)
		}
		accepted = id
		return nil
	})
	http.DefaultClient.CloseIdleConnections()
	if len(e.stored(t)[accepted]) != 1 {
		t.Error("the accepted event is not stored")
	}
}

func TestAStopUnderLoadStoresWhatWasConfirmed(t *testing.T) {
	t.Parallel()
	e := newHost(t).run(t)
	var mu sync.Mutex
	confirmed := map[string]bool{}
	var wg sync.WaitGroup
	enough := make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	defer wg.Wait()
	defer cancel() // for who gives up before the host has ended
	for w := range 8 {
		wg.Go(func() {
			client := &http.Client{Transport: &http.Transport{}}
			defer client.CloseIdleConnections()
			for i := 0; ; i++ {
				id := fmt.Sprintf("request-%d-%d", w, i)
				status, text, err := e.track(ctx, client, id, `{"name":"a"}`)
				if ctx.Err() != nil || err != nil && strings.Contains(err.Error(), "connection refused") {
					return
				}
				if err != nil || status != 200 {
					t.Errorf("%s: %d %s %v", id, status, text, err)
					return
				}
				mu.Lock()
				confirmed[id] = true
				if len(confirmed) == 200 {
					close(enough)
				}
				mu.Unlock()
			}
		})
	}
	select {
	case <-enough:
	case <-time.After(2 * time.Minute):
		t.Fatal("200 requests were not confirmed within two minutes")
	}
	if err := e.stop(); err != nil {
		t.Errorf("stopping: %v", err)
	}
	wg.Wait()
	got := e.stored(t)
	for id := range confirmed {
		if len(got[id]) != 1 {
			t.Errorf("%s was confirmed and is stored %d times", id, len(got[id]))
		}
	}
}

func TestAHostWithoutTopicsWaitsForThem(t *testing.T) {
	t.Parallel()
	e := newHost(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- e.lifecycle(ctx, stop) }()
	testkit.Eventually(t, time.Minute, func() error {
		err := e.readiness.Err(ctx)
		if err == nil || !strings.Contains(err.Error(), "waiting for Kafka: missing topics: events.v1") ||
			!strings.Contains(err.Error(), "millrace topics create") {
			return fmt.Errorf("without topics it says: %w", err)
		}
		return nil
	})
	if _, err := kafka.EnsureTopics(t.Context(), e.settings.Kafka); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-ended: // it stops when it is ready
		if err != nil {
			t.Errorf("lifecycle.Run() = %v", err)
		}
	case <-time.After(time.Minute):
		t.Fatalf("with topics it still runs after a minute, and says: %v", e.readiness.Err(ctx))
	}
}
