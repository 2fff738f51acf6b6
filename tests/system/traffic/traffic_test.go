// Package traffic sends the load generator's traffic to a running product.
package traffic

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/adapter/load"
	"github.com/millrace/millrace/internal/pipeline/traffic"
	"github.com/millrace/millrace/internal/testkit"
	"github.com/millrace/millrace/tests/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }

// noting notes the ids of what was sent to the table of events, and accepted.
type noting struct {
	*load.Events

	mu  sync.Mutex
	ids map[string]bool
}

// Judge implements load.Work. A request that is due is not always sent: a slow machine
// leaves some out at the end, and the report tells of them.
func (n *noting) Judge(r *load.Request, body []byte) load.Verdict {
	if strings.Contains(r.URL, string(traffic.Pages)) || strings.Contains(r.URL, string(traffic.Custom)) {
		var events []struct {
			EventID string `json:"eventId"`
		}
		if err := json.Unmarshal(r.Body, &events); err != nil {
			return load.Verdict{} // fewer accepted than sent
		}
		n.mu.Lock()
		defer n.mu.Unlock()
		for _, e := range events {
			n.ids[e.EventID] = true
		}
	}
	return n.Events.Judge(r, body)
}

// What was accepted is stored, each event once whatever was sent again, and can be
// asked for; nothing of the traffic is rejected.
func TestTrafficIsAcceptedAndStored(t *testing.T) {
	t.Parallel()
	s := harness.New(t, harness.InProcess, harness.Options{})
	world := traffic.NewWorld(traffic.Config{
		Seed: 1, Run: 1, Bots: 0.02, Sites: []traffic.Site{{ID: s.WebsiteID, Host: "shop.example.com"}},
	})
	send, closeAll := load.HTTP(4)
	defer closeAll()
	events := &noting{ids: map[string]bool{}, Events: &load.Events{
		URL: s.IngestURL, Key: s.Key, Requests: world.Requests(0, traffic.Mix{Batch: 25, Duplicates: 0.05, Disorder: 0.05}),
	}}
	opts := load.Options{Rate: 800, Duration: time.Second, Connections: 4, Timeout: 20 * time.Second}
	report, err := load.Drive(t.Context(), opts, events, send)
	if err != nil {
		t.Fatal(err)
	}
	if report.Accepted != report.Sent || report.Sent == 0 || report.Statuses["200"] != report.Requests {
		t.Fatalf("%d of %d events were accepted: %v %s", report.Accepted, report.Sent, report.Statuses, report.FirstError)
	}
	testkit.Eventually(t, 2*time.Minute, func() error {
		stored, err := s.StoredIDs(t.Context())
		slices.Sort(stored)
		if sent := slices.Sorted(maps.Keys(events.ids)); err == nil && !slices.Equal(stored, sent) {
			err = fmt.Errorf("%d events are stored, %d were sent", len(stored), len(sent))
		}
		return err
	})
	questions, err := load.NewQuestions(load.QuestionsConfig{
		URL: s.QueryURL, Key: s.Key, Websites: []string{s.WebsiteID}, Kind: load.Mixed,
		Until: time.Now().UTC().AddDate(0, 0, 1).Truncate(24 * time.Hour), Days: 3, Seed: 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	opts.Rate, opts.Duration = 10, 2*time.Second
	asked, err := load.Drive(t.Context(), opts, questions, send)
	if err != nil {
		t.Fatal(err)
	}
	if asked.Requests == 0 || asked.Statuses["200"] != asked.Requests || asked.FailedParts > 0 {
		t.Errorf("%d questions: %v, %d parts failed %s", asked.Requests, asked.Statuses, asked.FailedParts, asked.FirstError)
	}
}
