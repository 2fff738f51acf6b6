package links_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/resource/link"
)

// clicks reads so many clicks from the topic.
func (s *stage) clicks(t *testing.T, n int) []*kgo.Record {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(s.settings.Kafka.Brokers...), kgo.ConsumeTopics(record.TopicClicks))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	var all []*kgo.Record
	for len(all) < n {
		fetches := client.PollFetches(t.Context())
		if err := fetches.Err(); err != nil {
			t.Fatal(err)
		}
		all = append(all, fetches.Records()...)
	}
	return all
}

func TestClicksAreInTheTopicAndTellNobodysAddress(t *testing.T) {
	t.Parallel()
	s := newStage(t, "")
	l := s.create(t, link.Fields{Slug: new("spring")})
	e := s.edge(t, nil)
	v := newVisitor(t, "198.51.100.77")
	const visits = 20
	got := statuses(t, visits, func(int) (response, error) {
		return v.ask(t.Context(), http.MethodGet, e+"/spring?qr=1", "", "Referer", "https://news.example/private")
	})
	if got[http.StatusFound] != visits {
		t.Fatalf("statuses %v", got)
	}
	seen := map[string]bool{}
	for _, r := range s.clicks(t, visits) {
		text := string(r.Value)
		if string(r.Key) != l.ID || !strings.Contains(text, `"organization":"`+s.organizationID+`"`) ||
			!strings.Contains(text, `"isQr":true`) || !strings.Contains(text, "news.example") {
			t.Errorf("key %q, click %s", r.Key, text)
		}
		for _, told := range []string{v.addr, "Mozilla", "AppleWebKit", "private"} {
			if strings.Contains(text, told) {
				t.Errorf("%q is told: %s", told, text)
			}
		}
		for _, h := range r.Headers {
			if h.Key == record.HeaderEventHash {
				seen[string(h.Value)] = true
			}
		}
	}
	if len(seen) != visits {
		t.Errorf("%d clicks of %d", len(seen), visits)
	}
}
