package e2e

import (
	"fmt"
	"testing"
	"time"

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

		harness.StopAll(t, s.Processes()...)
		harness.StartAll(t, s.Processes()...)
		if err := s.Counts(t.Context(), 2); err != nil {
			t.Errorf("after a restart: %v", err)
		}
		s.MustTrack(t, event("second"))
		s.MustTrack(t, event("third"))
		testkit.Eventually(t, 10*visible, func() error { return s.Counts(t.Context(), 3) })
	})
}
