package privacy_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/adapter/clickhouse/deletion"
	"github.com/millrace/millrace/internal/privacy/retention"
	"github.com/millrace/millrace/internal/tenant/website"
	"github.com/millrace/millrace/internal/testkit"
	"github.com/millrace/millrace/tests/harness/stage"
)

// moved is the database with its clock where the test's is.
type moved struct {
	*deletion.Expirer

	now    func() time.Time
	passed chan struct{}
}

func (m moved) Clock(context.Context) (time.Time, error) { return m.now(), nil }

// Compact is the last thing that a pass does.
func (m moved) Compact(ctx context.Context, day time.Time) error {
	defer func() { m.passed <- struct{}{} }()
	return m.Expirer.Compact(ctx, day)
}

// expire makes one pass, as a query host does that begins after a time.
func (o *office) expire(after time.Duration) {
	o.t.Helper()
	tables := moved{
		deletion.NewExpirer(o.ClickHouse), func() time.Time { return time.Now().Add(after) }, make(chan struct{}, 1),
	}
	defer tables.Close()
	job := retention.NewJob(retention.Deps{
		Store: o.db, Tables: tables, Log: testkit.NewLog(o.t, "retention").Logger(), Metrics: prometheus.NewRegistry(),
		Now: tables.now,
	})
	ctx, cancel := context.WithCancel(o.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- job.Run(ctx) }()
	select {
	case <-tables.passed:
	case <-time.After(time.Minute):
		o.t.Error("there was no pass within a minute")
	}
	cancel()
	if err := <-ended; err != nil {
		o.t.Error(err)
	}
}

// shop makes a website that keeps events for a number of days; 0 is for ever.
func (o *office) shop(name string, days int) string {
	o.t.Helper()
	w, err := website.NewService(o.db, nil).Create(o.t.Context(), tester, website.Spec{
		OrganizationID: o.org.ID, Name: name, Domain: name + ".example", Settings: website.Settings{DataRetentionDays: days},
	})
	if err != nil {
		o.t.Fatal(err)
	}
	return w.ID
}

// ago returns of how many days ago a table has something of an owner.
func (o *office) ago(table, owner string) string {
	o.t.Helper()
	bits := o.Count(o.t, "(SELECT groupBitOr(bitShiftLeft(toUInt64(1), toUInt8(toDate(now('UTC')) - event_date))) FROM "+
		table+" WHERE owner_id = '"+owner+"')")
	ago := []int{}
	for n := range 64 {
		if bits>>n&1 == 1 {
			ago = append(ago, n)
		}
	}
	return fmt.Sprint(ago)
}

const day = 24 * time.Hour

func TestAWebsiteKeepsEventsForAsLongAsItSays(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	month, week, ever := o.shop("month", 30), o.shop("week", 7), o.shop("ever", 0)
	began := time.Now().UTC().Truncate(day)
	store := func(ago ...int) {
		t.Helper()
		var sent []stage.Event
		for _, n := range ago {
			for _, owner := range []string{month, week, ever} {
				sent = append(sent, stage.Event{ID: fmt.Sprint(owner, n), Owner: owner, At: began.AddDate(0, 0, -n)})
			}
		}
		o.Produce(t, sent...)
		o.Store(t)
	}
	tables := []string{"events", "events_15m", "events_1d", "traffic_15m", "traffic_1d", "sessions_15m", "custom_15m"}
	holds := func(when, ofMonth, ofWeek, ofEver string) {
		t.Helper()
		for _, table := range tables {
			if diff := cmp.Diff([]string{ofMonth, ofWeek, ofEver},
				[]string{o.ago(table, month), o.ago(table, week), o.ago(table, ever)}); diff != "" {
				t.Errorf("%s, %s has something of so many days ago (-want +got):\n%s", when, table, diff)
			}
		}
	}
	agrees := func() {
		t.Helper()
		if report := o.verified(); !report.Same() || report.Total.Excluded == 0 {
			t.Errorf("verify finds %+v\n%+v", report.Total, report.Examples)
		}
	}
	store(0, 7, 8, 30, 31)
	holds("before", "[0 7 8 30 31]", "[0 7 8 30 31]", "[0 7 8 30 31]")
	o.expire(0)
	holds("after the first pass", "[0 7 8 30]", "[0 7]", "[0 7 8 30 31]")
	agrees()

	store(40, 20)
	o.expire(0)
	holds("after what came late", "[0 7 8 20 30]", "[0 7]", "[0 7 8 20 30 31 40]")
	agrees()

	o.expire(30 * day)
	holds("30 days later", "[0]", "[]", "[0 7 8 20 30 31 40]")
	o.expire(31 * day)
	holds("on day 31", "[]", "[]", "[0 7 8 20 30 31 40]")
	agrees()
	o.replay() // brings it back for as long as until the next pass
	o.expire(31 * day)
	holds("after a replay", "[]", "[]", "[0 7 8 20 30 31 40]")
}
