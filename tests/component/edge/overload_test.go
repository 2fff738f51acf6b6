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

// answerOf is what a caller gets.
type answerOf struct {
	status, retryAfter int
	code               string
	retryable          bool
	took               time.Duration
}

// ask sends a body and reads all of the answer.
func (e *host) ask(ctx context.Context, client *http.Client, body string) (a answerOf, err error) {
	begin := time.Now()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url+"/track?website_id="+e.site.ID, strings.NewReader(body))
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
	a = answerOf{status: resp.StatusCode, code: said.Code, retryable: said.Retryable, took: time.Since(begin)}
	if after := resp.Header.Get("Retry-After"); after != "" {
		a.retryAfter, err = strconv.Atoi(after)
	}
	return a, err
}

// hold has the broker answer no producer until it is let go.
func (e *host) hold(t *testing.T) (letGo func()) {
	t.Helper()
	free := make(chan struct{})
	letGo = sync.OnceFunc(func() { close(free) })
	t.Cleanup(letGo)
	e.cluster.ControlKey(int16(kmsg.Produce), func(kmsg.Request) (kmsg.Response, error, bool) {
		e.cluster.KeepControl()
		select {
		case <-free:
		default:
			e.cluster.SleepControl(func() { <-free })
		}
		return nil, nil, false
	})
	return letGo
}

// events is a batch of so many events.
func events(n int) string { return "[" + strings.Repeat(`{"name":"a"},`, n-1) + `{"name":"a"}]` }

var errNotYet = errors.New("not yet")

func TestMemoryThatIsTakenIsRefusedBeforeItIsTakenAgain(t *testing.T) {
	t.Parallel()
	e := newHost(t)
	e.settings.Ingest.MaxMemory = 16 << 20
	e.settings.Ingest.QueueTime = 0
	e.run(t)
	letGo := e.hold(t)
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()

	const batches = 16 // of about 2 MB each, of which a website gets at most half
	var held sync.WaitGroup
	answers := make(chan answerOf, batches)
	for range batches {
		held.Go(func() {
			a, err := e.ask(t.Context(), client, events(1200))
			if err != nil {
				t.Error(err)
			}
			answers <- a
		})
	}
	var refused []answerOf
	testkit.Eventually(t, time.Minute, func() error {
		for {
			select {
			case a := <-answers:
				refused = append(refused, a)
			default:
				if len(refused) < batches/2 {
					return errNotYet
				}
				return nil
			}
		}
	})
	for _, a := range refused {
		if a.status != 503 || a.code != "SERVICE_UNAVAILABLE" || !a.retryable || a.retryAfter < 2 || a.retryAfter > 10 || a.took > 10*time.Second {
			t.Errorf("refused with %+v", a)
		}
	}
	// Somebody who holds nothing is not affected: 404, and not 503.
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, e.url+"/track?website_id=nobody", strings.NewReader(`{"name":"a"}`))
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
	letGo()
	held.Wait()
	close(answers)
	taken := 0
	late := 0 // refused between the look at the others and the end of the stall
	for a := range answers {
		switch a.status {
		case 200:
			taken++
		case 503:
			late++
		default:
			t.Errorf("answered %+v", a)
		}
	}
	if taken+late+len(refused) != batches || taken == 0 {
		t.Errorf("%d were taken and %d refused of %d", taken, late+len(refused), batches)
	}
	if a, err := e.ask(t.Context(), client, events(1200)); err != nil || a.status != 200 {
		t.Errorf("afterwards: %+v, %v", a, err)
	}
}

func TestWhileKafkaStandsStillNewRequestsAreRefusedAtOnceAndSoonTakenAgain(t *testing.T) {
	t.Parallel()
	e := newHost(t)
	e.settings.Ingest.Deadline, e.settings.Ingest.QueueTime = 2*time.Minute, 200*time.Millisecond
	e.run(t)
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 256}}
	defer client.CloseIdleConnections()
	if a, err := e.ask(t.Context(), client, `{"name":"a"}`); err != nil || a.status != 200 {
		t.Fatalf("before: %+v, %v", a, err)
	}
	letGo := e.hold(t)
	var waiting sync.WaitGroup
	for range 100 {
		waiting.Go(func() {
			if a, err := e.ask(t.Context(), client, `{"name":"a"}`); err != nil || a.status != 200 && a.status != 503 {
				t.Errorf("%+v, %v", a, err)
			}
		})
	}
	var refused answerOf
	testkit.Eventually(t, time.Minute, func() error {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		a, err := e.ask(ctx, client, `{"name":"a"}`)
		if err != nil || a.status == 200 {
			return errNotYet // it waits for Kafka, and is stored or not
		}
		refused = a
		return nil
	})
	if refused.status != 503 || refused.code != "SERVICE_UNAVAILABLE" || !refused.retryable ||
		refused.retryAfter < 2 || refused.retryAfter > 10 {
		t.Errorf("refused with %+v", refused)
	}
	letGo()
	waiting.Wait()
	testkit.Eventually(t, testkit.Promised(5*time.Second), func() error {
		if a, err := e.ask(t.Context(), client, `{"name":"a"}`); err != nil || a.status != 200 {
			return fmt.Errorf("afterwards: %+v, %w", a, err)
		}
		return nil
	})
}
