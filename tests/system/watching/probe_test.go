package watching

import (
	"fmt"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/adapter/store"
	"github.com/millrace/millrace/internal/tenant/org"
	"github.com/millrace/millrace/internal/testkit"
	"github.com/millrace/millrace/tests/harness"
)

func checkProbes(t *testing.T, s *harness.System) {
	t.Helper()
	query := s.Process(harness.Query)
	testkit.Eventually(t, time.Minute, func() error {
		seen, err := query.Metric(t.Context(), "millrace_probe_attempts_total", `outcome="seen"`)
		if err == nil && seen < 2 {
			err = fmt.Errorf("%v probes were seen", seen)
		}
		return err
	})
	last, err := query.Metric(t.Context(), "millrace_probe_end_to_end_last_seconds")
	if err != nil || last <= 0 || last > 30 {
		t.Errorf("the last probe took %v s, %v", last, err)
	}
	at, err := query.Metric(t.Context(), "millrace_probe_last_success_timestamp_seconds")
	if age := time.Since(time.Unix(int64(at), 0)); err != nil || age > time.Minute {
		t.Errorf("an event was seen %s ago, %v", age, err)
	}
}

// isApart looks for the probe where tenants and operators look.
func isApart(t *testing.T, s *harness.System) {
	t.Helper()
	db, err := store.Open(t.Context(), s.StoreURL, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.OrganizationByID(t.Context(), org.ReservedID); err != nil {
		t.Fatal(err)
	}
	all, err := db.ListOrganizations(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range all {
		if o.ID == org.ReservedID {
			t.Error("the reserved organization is listed")
		}
	}
	q, err := db.QuotaOf(t.Context(), org.ReservedID)
	if err != nil || q.Own != 0 {
		t.Errorf("the reserved organization has the quota %+v, %v", q, err)
	}
	// Two probes of a second each have come by; the website's own count knows none.
	if err := s.Counts(t.Context(), 2); err != nil {
		t.Error(err)
	}
}
