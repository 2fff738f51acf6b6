package topics

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/testkit"
	"github.com/millrace/millrace/tests/harness"
)

func TestTheSinkStoresEveryEventOnceHoweverOftenItIsOnTheTopic(t *testing.T) {
	t.Parallel()
	atBothBrokers(t, func(t *testing.T, cfg config.Kafka) {
		const events, batch, websites = 3000, 100, 7
		e := newEdge(t, cfg)
		at := time.Now().UnixMilli()
		var want []string
		for first := 0; first < events; first += batch {
			var body strings.Builder
			for n := first; n < first+batch; n++ {
				id := fmt.Sprintf("e-%05d", n)
				want = append(want, id, id) // one for each of two websites
				fmt.Fprintf(&body, `,{"name":"x","eventId":%q,"timestamp":%d}`, id, at)
			}
			// An eventId is its website's own: another website's event with the same
			// one is another event, also in the same partition.
			for next := range 2 {
				site := websiteID((first/batch + next) % websites)
				for range 1 + first/batch%3 { // once, twice or three times
					e.accept(t, site, "["+body.String()[1:]+"]", batch)
				}
			}
		}
		s := harness.StartSink(t, cfg)
		testkit.Eventually(t, 2*time.Minute, func() error {
			got, err := s.StoredIDsOf(t.Context(), websiteIDs(websites)...)
			if err != nil {
				return err
			}
			slices.Sort(got)
			if !slices.Equal(got, want) {
				return fmt.Errorf("%d events are stored, want %d", len(got), len(want))
			}
			return nil
		})
	})
}

func websiteIDs(n int) []string {
	ids := make([]string, n)
	for i := range ids {
		ids[i] = websiteID(i)
	}
	return ids
}
