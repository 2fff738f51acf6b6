package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/testkit"
	"github.com/millrace/millrace/tests/harness"
)

// visible is how soon after its acknowledgement an event is in the responses.
var visible = testkit.Promised(3 * time.Second)

func TestAnEventIsQueriedBackWithinThreeSecondsAndCountsOnce(t *testing.T) {
	inBothModesInTime(t, func(t *testing.T, s *harness.System) {
		at := time.Now().UnixMilli()
		event := func(id string) string {
			return fmt.Sprintf(`{"name":"screen_view","eventId":%q,"path":"/","timestamp":%d}`, id, at)
		}
		s.MustTrack(t, event("first"))
		testkit.Eventually(t, visible, func() error { return s.Counts(t.Context(), 1) })

		// A website's events keep their order, so once the third is counted the
		// second has been decided about.
		s.MustTrack(t, event("first"))
		s.MustTrack(t, event("second"))
		testkit.Eventually(t, visible, func() error { return s.Counts(t.Context(), 2) })

		rejectAndScreen(t, s)
		harness.StopAll(t, s.Processes()...)
		harness.StartAll(t, s.Processes()...)
		if err := s.Counts(t.Context(), 2); err != nil {
			t.Errorf("after a restart: %v", err)
		}
		// An edge that stops publishes what it has counted.
		want := health{Accepted: 3, Duplicates: 1, Rejected: 2, Rejections: map[string]int{"VALIDATION_ERROR": 2}, Bots: 1}
		testkit.Eventually(t, 10*visible, func() error {
			got, err := healthOf(t.Context(), s)
			if diff := cmp.Diff(want, got); err == nil && diff != "" {
				err = fmt.Errorf("ingestion_health (-want +got):\n%s", diff)
			}
			return err
		})
		s.MustTrack(t, event("second"))
		s.MustTrack(t, event("third"))
		testkit.Eventually(t, 10*visible, func() error { return s.Counts(t.Context(), 3) })
	})
}

// rejectAndScreen sends two events that are rejected and a bot's, which is left out.
func rejectAndScreen(t *testing.T, s *harness.System) {
	t.Helper()
	a, err := s.Track(t.Context(), []byte(`[{"name":""},{"name":"x"}]`))
	expect(t, a, err, http.StatusBadRequest, apierr.Validation)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.IngestURL+"/track?client_id="+s.ClientID,
		strings.NewReader(`{"name":"x"}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("User-Agent", "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)")
	resp, err := harness.Client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusNoContent {
		t.Fatalf("the response to a bot is %d", resp.StatusCode)
	}
}

// health is what became of a website's events.
type health struct {
	Accepted   int
	Duplicates int
	Rejected   int            `json:"refused"`
	Rejections map[string]int `json:"refusals"` // by code
	Bots       int
}

// healthOf asks for it; the hours in which the events came are added up.
func healthOf(ctx context.Context, s *harness.System) (sum health, err error) {
	a, err := harness.Post(ctx, s.QueryURL+"/v1/query?website_id="+s.WebsiteID, s.Key,
		[]byte(`{"parameters":["ingestion_health"],"preset":"last_7d"}`))
	if err != nil {
		return sum, err
	}
	var response struct{ Data []struct{ Data []health } }
	if err := json.Unmarshal(a.Body, &response); err != nil || len(response.Data) != 1 {
		return sum, fmt.Errorf("the response to ingestion_health is %d %s, %w", a.Status, a.Body, err)
	}
	sum.Rejections = map[string]int{}
	for _, hour := range response.Data[0].Data {
		sum.Accepted += hour.Accepted
		sum.Duplicates += hour.Duplicates
		sum.Rejected += hour.Rejected
		sum.Bots += hour.Bots
		for code, n := range hour.Rejections {
			sum.Rejections[code] += n
		}
	}
	return sum, nil
}
