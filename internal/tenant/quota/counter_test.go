package quota_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/adapter/store"
	"github.com/millrace/millrace/internal/adapter/store/storetest"
	"github.com/millrace/millrace/internal/tenant/audit"
	"github.com/millrace/millrace/internal/tenant/org"
	"github.com/millrace/millrace/internal/tenant/quota"
)

// office is a counter over a real store, with the usage that the test says.
type office struct {
	*quota.Counter

	db    *store.Store
	org   *org.Organization
	now   time.Time
	used  map[string]int64
	err   error
	mails []string // address and subject
}

func (o *office) Used(context.Context, quota.Month) (map[string]int64, error) { return o.used, o.err }

func (o *office) Send(_ context.Context, to, subject, _ string) error {
	o.mails = append(o.mails, to+": "+subject)
	return nil
}

func newOffice(t *testing.T, cfg quota.Config) *office {
	t.Helper()
	db, err := store.Open(t.Context(), storetest.SQLite(t), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	o := &office{db: db, now: noon}
	o.Counter = quota.NewCounter(cfg, quota.CounterDeps{
		Meter: o, Store: db, Mail: o, Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(),
		Now: func() time.Time { return o.now }, PublicURL: "https://q.example.com",
	})
	o.org, err = org.New("Acme", noon)
	if err == nil {
		err = db.CreateOrganization(t.Context(), audit.BySystem(), o.org)
	}
	for i, role := range []org.Role{org.RoleOwner, org.RoleAdmin} {
		u := &org.User{
			ID: "usr_" + string(role), Email: string(role) + "@example.com", Name: "n", PasswordHash: "x", CreatedAt: noon,
			PasswordChangedAt: noon,
		}
		if err == nil {
			err = db.CreateUser(t.Context(), audit.BySystem(), u)
		}
		if err == nil {
			err = db.AddMember(t.Context(), audit.BySystem(),
				&org.Member{OrganizationID: o.org.ID, UserID: u.ID, Role: role, CreatedAt: noon.Add(time.Duration(i))})
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// count counts once and returns whether the month is used up.
func (o *office) count(t *testing.T, used int64) bool {
	t.Helper()
	o.used = map[string]int64{o.org.ID: used, "org_gone": used, "": used}
	if err := o.Step(t.Context()); err != nil {
		t.Fatal(err)
	}
	q, err := o.db.QuotaOf(t.Context(), o.org.ID)
	if err != nil {
		t.Fatal(err)
	}
	return q.Exceeded
}

func TestTheCounterDecidesTellsAndTurnsTheMonth(t *testing.T) {
	t.Parallel()
	o := newOffice(t, quota.Config{Default: 10})
	for _, s := range []struct {
		used     int64
		exceeded bool
	}{{7, false}, {8, false}, {9, false}, {10, true}, {11, true}} {
		if got := o.count(t, s.used); got != s.exceeded {
			t.Errorf("at %d: exceeded %v", s.used, got)
		}
	}
	want := []string{
		"owner@example.com: Acme has used 80 % of its events of 2026-03",
		"owner@example.com: Acme has used 100 % of its events of 2026-03",
	}
	if diff := cmp.Diff(want, o.mails); diff != "" {
		t.Errorf("mails (-want +got):\n%s", diff)
	}
	o.now = time.Date(2026, 4, 1, 0, 0, 0, 0, time.UTC)
	if o.count(t, 0) {
		t.Error("the new month is used up")
	}
	pending, err := o.db.Pending(t.Context(), 10)
	if err != nil || len(pending) != 2 || !strings.Contains(pending[1].State, `"exceeded":false`) {
		t.Errorf("change events: %+v, %v", pending, err)
	}
}

func TestWhereSomebodyElseDecidesNobodyHasAQuota(t *testing.T) {
	t.Parallel()
	o := newOffice(t, quota.Config{Default: 10, Off: true})
	if o.count(t, 100) || len(o.mails) != 0 {
		t.Errorf("decided all the same; mails %v", o.mails)
	}
	if q, err := o.db.QuotaOf(t.Context(), o.org.ID); err != nil || q.Used != 100 {
		t.Errorf("QuotaOf() = %+v, %v, want what is used", q, err)
	}
}

func TestWhileUsageCannotBeReadDecisionsStand(t *testing.T) {
	t.Parallel()
	o := newOffice(t, quota.Config{Default: 10})
	o.count(t, 10)
	o.err = errors.New("no server")
	if err := o.Step(t.Context()); err == nil {
		t.Error("Step() succeeded")
	}
	if q, err := o.db.QuotaOf(t.Context(), o.org.ID); err != nil || !q.Exceeded {
		t.Errorf("QuotaOf() = %+v, %v", q, err)
	}
}
