package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/fault"
	"github.com/millrace/millrace/internal/testkit"
	"github.com/millrace/millrace/tests/harness"
)

const (
	recovery = 60 * time.Second
	// deadline is the edge's wait for acknowledgements in these tests, and slack
	// what a busy machine may add to it.
	deadline = 2 * time.Second
	slack    = 3 * time.Second
)

// expect checks an answer's status and code.
func expect(t *testing.T, a harness.Answer, err error, status int, code fault.Code) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	if a.Status != status || code != "" && !strings.Contains(string(a.Body), `"`+string(code)+`"`) {
		t.Fatalf("answer %d %s, want %d %s", a.Status, a.Body, status, code)
	}
}

func TestKnownKeysAreServedWhileTheMetadataStoreIsAway(t *testing.T) {
	leaveOutWhenShort(t)
	s := harness.New(t, harness.Split, harness.Options{OwnServers: true, Settings: map[string]string{"LOOKUP_FRESH": "10ms"}})
	body := []byte(`{"name":"x","anonymousId":"visitor"}`)
	track := func(key string) (harness.Answer, error) {
		return harness.Post(t.Context(), s.IngestURL+"/track?website_id="+s.WebsiteID, key, body)
	}
	a, err := track(s.Key)
	expect(t, a, err, http.StatusOK, "")

	s.StoreServer.Stop(t)
	for range 20 { // each is older than the 10 ms for which an entry is fresh, or becomes so
		a, err := track(s.Key)
		expect(t, a, err, http.StatusOK, "")
	}
	a, err = track(s.WebsiteKey)
	expect(t, a, err, http.StatusServiceUnavailable, fault.ServiceUnavailable)
	if got := a.Header.Get("Retry-After"); got != "5" {
		t.Errorf("Retry-After is %q, want 5", got)
	}
	a, err = track(s.MalformedKey)
	expect(t, a, err, http.StatusUnauthorized, fault.AuthRequired)

	s.StoreServer.Start(t)
	testkit.Eventually(t, recovery, func() error {
		a, err := track(s.WebsiteKey)
		if err == nil && a.Status != http.StatusOK {
			err = fmt.Errorf("answer %d %s after the store came back", a.Status, a.Body)
		}
		return err
	})
}

func TestWithoutBrokerEventsAreRefusedInTimeAndMemoryStaysBounded(t *testing.T) {
	leaveOutWhenShort(t)
	s := harness.New(t, harness.Split, harness.Options{OwnServers: true, Settings: map[string]string{
		"INGEST_DEADLINE": deadline.String(), "KAFKA_MAX_BUFFERED_BYTES": "16777216",
	}})
	s.MustTrack(t, `{"name":"before","eventId":"before"}`)

	s.KafkaServer.Stop(t)
	// What one outage costs is what two cost: buffers fill, and then nothing
	// more is held.
	first := refuseAll(t, s)
	second := refuseAll(t, s)
	t.Logf("the edge occupies %d MB after a first flood, %d MB after a second", first>>20, second>>20)
	if second > first+first/2 {
		t.Errorf("the edge grew from %d MB to %d MB while it refused everything", first>>20, second>>20)
	}

	s.KafkaServer.Start(t)
	testkit.Eventually(t, recovery, func() error {
		a, err := s.Track(t.Context(), []byte(`{"name":"after","eventId":"after"}`))
		if err == nil && a.Status != http.StatusOK {
			err = fmt.Errorf("answer %d %s after the broker came back", a.Status, a.Body)
		}
		return err
	})
	testkit.Eventually(t, recovery, func() error { return s.Stores(t.Context(), "before", "after") })
}

// refuseAll sends far more than the edge may hold, 190 MB in requests of 1.5 MB,
// expects each to be refused in time, and returns the memory that the edge then
// occupies.
func refuseAll(t *testing.T, s *harness.System) int64 {
	t.Helper()
	large := []byte(`[` + strings.Repeat(`{"name":"x","properties":{"k":"`+strings.Repeat("v", 30_000)+`"}},`, 49) + `{"name":"x"}]`)
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			for range 8 {
				start := time.Now()
				a, err := s.Track(t.Context(), large)
				if err != nil || a.Status != http.StatusServiceUnavailable || !strings.Contains(string(a.Body), string(fault.DeliveryUnavailable)) {
					t.Errorf("answer %d %s, %v; want 503 %s", a.Status, a.Body, err, fault.DeliveryUnavailable)
				}
				if took := time.Since(start); took > deadline+slack {
					t.Errorf("answered after %s, want at most %s", took, deadline+slack)
				}
			}
		})
	}
	all.Wait()
	resident, err := s.Process(harness.Edge).ResidentBytes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return resident
}
