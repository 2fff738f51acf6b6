package edge_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/millrace/millrace/internal/testkit"
)

// responseOf is what a caller gets.
type responseOf struct {
	status, retryAfter int
	code               string
	retryable          bool
	took               time.Duration
}

// ask sends a body and reads all of the response.
func (e *host) ask(ctx context.Context, client *http.Client, body string) (a responseOf, err error) {
	begin := time.Now()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url+"/track?website_id="+e.site.ID,
		strings.NewReader(body))
	if err != nil {
		return a, err
	}
	req.Header.Set("x-api-key", e.key)
	resp, err := client.Do(req)
	if err != nil {
		return a, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return a, err
	}
	said := struct {
		Code      string `json:"code"`
		Retryable bool   `json:"retryable"`
	}{}
	if err := json.Unmarshal(text, &said); err != nil {
		return a, fmt.Errorf("reading %s: %w", text, err)
	}
	a = responseOf{status: resp.StatusCode, code: said.Code, retryable: said.Retryable, took: time.Since(begin)}
	if after := resp.Header.Get("Retry-After"); after != "" {
		a.retryAfter, err = strconv.Atoi(after)
	}
	return a, err
}

// hold has the broker answer no producer until it is let go.
func (e *host) hold(t *testing.T) (release func()) {
	t.Helper()
	free := make(chan struct{})
	release = sync.OnceFunc(func() { close(free) })
	t.Cleanup(release)
	e.cluster.ControlKey(int16(kmsg.Produce), func(kmsg.Request) (kmsg.Response, error, bool) {
		e.cluster.KeepControl()
		select {
		case <-free:
		default:
			e.cluster.SleepControl(func() { <-free })
		}
		return nil, nil, false
	})
	return release
}

// events is a batch of so many events.
func events(n int) string { return "[" + strings.Repeat(`{"name":"a"},`, n-1) + `{"name":"a"}]` }

var errNotYet = errors.New("not yet")

func TestMemoryThatIsTakenIsRejectedBeforeItIsTakenAgain(t *testing.T) {
	t.Parallel()
	e := newHost(t)
	e.settings.Ingest.MaxMemory = 16 << 20
	e.settings.Ingest.QueueTime = 0
	e.run(t)
	release := e.hold(t)
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()

	const batches = 16 // of about 2 MB each, of which a website gets at most half
	var held sync.WaitGroup
	responses := make(chan responseOf, batches)
	for range batches {
		held.Go(func() {
			a, err := e.ask(t.Context(), client, events(1200))
			if err != nil {
				t.Error(err)
			}
			responses <- a
		})
	}
	var rejected []responseOf
	testkit.Eventually(t, time.Minute, func() error {
		for {
			select {
			case a := <-responses:
				rejected = append(rejected, a)
			default:
				if len(rejected) < batches/2 {
					return errNotYet
				}
				return nil
			}
		}
	})
	for _, a := range rejected {
		if a.status != 503 || a.code != "SERVICE_UNAVAILABLE" || !a.retryable || a.retryAfter < 2 || a.retryAfter > 10 ||
			a.took > 10*time.Second {
			t.Errorf("refused with %+v", a)
		}
	}
	// Somebody who holds nothing is not affected: 404, and not 503.
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, e.url+"/track?website_id=nobody",
		strings.NewReader(`{"name":"a"}`))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusNotFound {
		t.Errorf("another caller was answered %d", resp.StatusCode)
	}
	release()
	held.Wait()
	close(responses)
	taken := 0
	late := 0 // rejected between the look at the others and the end of the stall
	for a := range responses {
		switch a.status {
		case 200:
			taken++
		case 503:
			late++
		default:
			t.Errorf("answered %+v", a)
		}
	}
	if taken+late+len(rejected) != batches || taken == 0 {
		t.Errorf("%d were taken and %d refused of %d", taken, late+len(rejected), batches)
	}
	if a, err := e.ask(t.Context(), client, events(1200)); err != nil || a.status != 200 {
		t.Errorf("afterwards: %+v, %v", a, err)
	}
}

func TestWhileKafkaStandsStillNewRequestsAreRejectedAtOnceAndSoonTakenAgain(t *testing.T) {
	t.Parallel()
	e := newHost(t)
	e.settings.Ingest.Deadline, e.settings.Ingest.QueueTime = 2*time.Minute, 200*time.Millisecond
	e.run(t)
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 256}}
	defer client.CloseIdleConnections()
	if a, err := e.ask(t.Context(), client, `{"name":"a"}`); err != nil || a.status != 200 {
		t.Fatalf("before: %+v, %v", a, err)
	}
	release := e.hold(t)
	var waiting sync.WaitGroup
	for range 100 {
		waiting.Go(func() {
			if a, err := e.ask(t.Context(), client, `{"name":"a"}`); err != nil || a.status != 200 && a.status != 503 {
				t.Errorf("%+v, %v", a, err)
			}
		})
	}
	var rejected responseOf
	testkit.Eventually(t, time.Minute, func() error {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		a, err := e.ask(ctx, client, `{"name":"a"}`)
		if err != nil || a.status == 200 {
			return errNotYet // it waits for Kafka, and is stored or not
		}
		rejected = a
		return nil
	})
	if rejected.status != 503 || rejected.code != "SERVICE_UNAVAILABLE" || !rejected.retryable ||
		rejected.retryAfter < 2 || rejected.retryAfter > 10 {
		t.Errorf("refused with %+v", rejected)
	}
	release()
	waiting.Wait()
	testkit.Eventually(t, testkit.Promised(5*time.Second), func() error {
		if a, err := e.ask(t.Context(), client, `{"name":"a"}`); err != nil || a.status != 200 {
			return fmt.Errorf("afterwards: %+v, %w", a, err)
		}
		return nil
	})
}
