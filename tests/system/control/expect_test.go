package control_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/millrace/millrace/tests/harness"
)

// is returns an error unless the host answers so to a key, or to a query such as
// "?website_id=x". Whoever may send is told from others by a body that is wrong;
// a website is looked for only with one that is right.
func (h *host) is(ctx context.Context, key, query string, want int) error {
	body := `{"name":1}`
	if query != "" {
		body = h.body
	}
	a, err := harness.Post(ctx, h.url+query, key, []byte(body))
	if err == nil && a.Status != want {
		err = fmt.Errorf("%s answers %d %s, want %d", h.name, a.Status, a.Body, want)
	}
	return err
}

// ask sends what the host answers with 200 to whoever may.
func (h *host) ask(ctx context.Context, key, website string) (harness.Response, error) {
	return harness.Post(ctx, h.url+"?website_id="+website, key, []byte(h.body))
}

// expect asks every host until each answers so, and fails when one takes longer
// than the limit after since.
func (s *stage) expect(t *testing.T, what, key string, want int, since time.Time, limit time.Duration) {
	t.Helper()
	s.expectOf(t, s.hosts, what, key, "", want, since, limit)
}

func (s *stage) expectOf(
	t *testing.T, hosts []*host, what, key, query string, want int, since time.Time, limit time.Duration,
) {
	t.Helper()
	within(t, hosts, what, since, limit, func(h *host) error { return h.is(t.Context(), key, query, want) })
}

// within asks hosts again and again until each is as it has to be, and fails when one takes
// longer than the limit after since.
func within(t *testing.T, hosts []*host, what string, since time.Time, limit time.Duration, is func(*host) error) {
	t.Helper()
	type result struct {
		host *host
		took time.Duration
		err  error
	}
	results := make(chan result, len(hosts))
	for _, h := range hosts {
		go func() {
			var err error
			for {
				if err = is(h); err == nil || time.Since(since) > limit+patient/2 {
					break
				}
				<-time.After(pause)
			}
			results <- result{h, time.Since(since), err}
		}()
	}
	for range hosts {
		switch r := <-results; {
		case r.err != nil:
			t.Errorf("%s: %v", what, r.err)
		case r.took > limit:
			t.Errorf("%s: %s took %s, want at most %s", what, r.host.name, r.took, limit)
		default:
			t.Logf("%s: %s after %s", what, r.host.name, r.took.Round(time.Millisecond))
		}
	}
}

// holds makes every host remember a key that it accepts.
func (s *stage) holds(t *testing.T, what, key string) {
	t.Helper()
	s.expect(t, what+", before", key, http.StatusBadRequest, time.Now(), patient)
}
