package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/testkit"
	"github.com/millrace/millrace/tests/harness"
)

const (
	recovery = 60 * time.Second
	// deadline is the edge's wait for acknowledgements in these tests.
	deadline = 2 * time.Second
)

// slack is what a busy machine may add to the deadline; less than clients here wait.
var slack = testkit.Promised(3 * time.Second)

// expect checks a response's status and code.
func expect(t *testing.T, a harness.Response, err error, status int, code apierr.Code) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	if a.Status != status || code != "" && !strings.Contains(string(a.Body), `"`+string(code)+`"`) {
		t.Fatalf("answer %d %s, want %d %s", a.Status, a.Body, status, code)
	}
}

// lookups counts the edge's reads of the metadata store, cached ones too, with an outcome.
func lookups(t *testing.T, s *harness.System, outcome string) float64 {
	t.Helper()
	n, err := s.Process(harness.Edge).Metric(t.Context(), "millrace_lookup_requests_total", `outcome="`+outcome+`"`)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestKnownKeysAreServedWhileTheMetadataStoreIsAway(t *testing.T) {
	leaveOutWhenShort(t)
	t.Parallel()
	s := harness.New(t, harness.Split,
		harness.Options{OwnServers: true, Settings: map[string]string{"LOOKUP_FRESH": "10ms"}})
	body := []byte(`{"name":"x","anonymousId":"visitor"}`)
	track := func(key string) (harness.Response, error) {
		return harness.Post(t.Context(), s.IngestURL+"/track?website_id="+s.WebsiteID, key, body)
	}
	// What is read while change events arrive, as those of the fixture do at first, is
	// answered with and not kept; so a key is known once nothing has to be read for it.
	testkit.Eventually(t, recovery, func() error {
		before := lookups(t, s, "miss")
		a, err := track(s.Key)
		expect(t, a, err, http.StatusOK, "")
		if n := lookups(t, s, "miss") - before; n > 0 {
			return fmt.Errorf("%v entries had to be read", n)
		}
		return nil
	})

	s.StoreServer.Stop(t)
	// Relied on for as long as change events are expected, and then served although they are old.
	testkit.Eventually(t, recovery, func() error {
		a, err := track(s.Key)
		expect(t, a, err, http.StatusOK, "")
		if n := lookups(t, s, "stale"); n < 20 {
			return fmt.Errorf("%v old entries were served", n)
		}
		return nil
	})
	a, err := track(s.WebsiteKey)
	expect(t, a, err, http.StatusServiceUnavailable, apierr.ServiceUnavailable)
	if got := a.Header.Get("Retry-After"); got != "5" {
		t.Errorf("Retry-After is %q, want 5", got)
	}
	a, err = track(s.MalformedKey)
	expect(t, a, err, http.StatusUnauthorized, apierr.AuthRequired)

	s.StoreServer.Start(t)
	testkit.Eventually(t, recovery, func() error {
		a, err := track(s.WebsiteKey)
		if err == nil && a.Status != http.StatusOK {
			err = fmt.Errorf("answer %d %s after the store came back", a.Status, a.Body)
		}
		return err
	})
}

func TestWithoutBrokerEventsAreRejectedInTimeAndMemoryStaysBounded(t *testing.T) {
	leaveOutWhenShort(t)
	harness.Beside(t)
	s := harness.New(t, harness.Split, harness.Options{OwnServers: true, Settings: map[string]string{
		"INGEST_DEADLINE": deadline.String(), "KAFKA_MAX_BUFFERED_BYTES": "16777216",
	}})
	s.MustTrack(t, `{"name":"before","eventId":"before"}`)

	s.KafkaServer.Stop(t)
	// What one outage costs is what two cost: buffers fill, and then nothing
	// more is held.
	first := rejectAll(t, s)
	second := rejectAll(t, s)
	t.Logf("the edge occupies %d MB after a first flood, %d MB after a second", first>>20, second>>20)
	most := first + first/2
	if !testkit.Strict() { // when the collector was here last is a matter of chance
		most = first + floodBytes/2
	}
	if second > most {
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

// floodBytes is what rejectAll sends.
const floodBytes = 190 << 20

// rejectAll sends far more than the edge may hold, 190 MB in requests of 1.5 MB,
// expects each to be rejected in time, and returns the memory that the edge then
// occupies.
func rejectAll(t *testing.T, s *harness.System) int64 {
	t.Helper()
	large := []byte(`[` +
		strings.Repeat(`{"name":"x","properties":{"k":"`+strings.Repeat("v", 30_000)+`"}},`, 49) + `{"name":"x"}]`)
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			for range 8 {
				start := time.Now()
				a, err := s.Track(t.Context(), large)
				// Kafka has not answered in time, or there is no room to wait for it.
				body := string(a.Body)
				rejected := strings.Contains(body, string(apierr.DeliveryUnavailable)) ||
					strings.Contains(body, string(apierr.ServiceUnavailable))
				if err != nil || a.Status != http.StatusServiceUnavailable || !rejected || a.Header.Get("Retry-After") == "" {
					t.Errorf("answer %d %s, %v; want 503 %s or %s with Retry-After",
						a.Status, a.Body, err, apierr.DeliveryUnavailable, apierr.ServiceUnavailable)
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
