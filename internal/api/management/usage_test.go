package management_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/api/httpkit"
	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/tenant/audit"
	"github.com/millrace/millrace/internal/tenant/quota"
)

// Cells implements quota.UsageStore: in March 102 websites and the organization itself
// have sent something, the earlier ones more; April cannot be read.
func (d *fixture) Cells(_ context.Context, organizationID, ownerID string, month quota.Month) ([]quota.Cell, error) {
	start, _ := month.Bounds()
	var cells []quota.Cell
	switch month {
	case "2026-02": // of whom it is asked for
		return []quota.Cell{{OwnerID: ownerID, Day: start, Events: 7}}, nil
	case "2026-04":
		return nil, errors.New("no server")
	case "2026-03":
		cells = append(cells, quota.Cell{OwnerID: organizationID, Day: start, Events: 1000})
		for i := range int64(102) {
			cells = append(cells,
				quota.Cell{OwnerID: fmt.Sprintf("web_%03d", i), Day: start, Events: 200 - i},
				quota.Cell{OwnerID: fmt.Sprintf("web_%03d", i), Day: start.AddDate(0, 0, 30), Events: 1})
		}
	}
	var all []quota.Cell
	for _, c := range cells {
		if ownerID == "" || c.OwnerID == ownerID {
			all = append(all, c)
		}
	}
	return all, nil
}

type usage struct {
	Month    string
	Events   int64
	Days     []day
	Websites []struct {
		WebsiteID *string
		Events    int64
		Days      []day
	}
	OtherWebsites struct{ Count, Events int64 }
}

type day struct {
	Date   string
	Events int64
}

func TestUsageOfAMonthIsByDayAndWebsite(t *testing.T) {
	t.Parallel()
	d := newHouse(t, httpkit.Site{})
	ann := d.signUp("ann", "")
	got := do[usage](d, ann.token, "organization/usage", `{"month":"2026-03"}`)
	sum := int64(1000 + 102)
	for i := range int64(102) {
		sum += 200 - i
	}
	if got.Month != "2026-03" || got.Events != sum || len(got.Websites) != quota.MaxReported {
		t.Errorf("%s: %d events of %d websites, want %d", got.Month, got.Events, len(got.Websites), sum)
	}
	if diff := cmp.Diff([]day{{"2026-03-01", sum - 102}, {"2026-03-31", 102}}, got.Days); diff != "" {
		t.Errorf("days (-want +got):\n%s", diff)
	}
	if own, first := got.Websites[0], got.Websites[1]; own.WebsiteID != nil || own.Events != 1000 ||
		*first.WebsiteID != "web_000" || first.Events != 201 {
		t.Errorf("first are %+v and %+v", own, first)
	}
	if diff := cmp.Diff([]day{{"2026-03-01", 200}, {"2026-03-31", 1}}, got.Websites[1].Days); diff != "" {
		t.Errorf("days of a website (-want +got):\n%s", diff)
	}
	if o := got.OtherWebsites; o.Count != 3 || o.Events != 101+102+100 {
		t.Errorf("others: %+v", o)
	}
	if one := do[usage](d, ann.token, "organization/usage",
		`{"month":"2026-03","websiteId":"web_101"}`); one.Events != 100 || len(one.Websites) != 1 {
		t.Errorf("one website: %+v", one)
	}
	w := do[site](d, ann.token, "websites/create", shop)
	w = do[site](d, ann.token, "websites/rotateClientId", `{"id":"`+w.ID+`"}`) // else it is its id
	if one := do[usage](d, ann.token, "organization/usage",
		`{"month":"2026-02","websiteId":"`+w.ClientID+`"}`); len(one.Websites) != 1 || *one.Websites[0].WebsiteID != w.ID {
		t.Errorf("a website by its client id: %+v", one)
	}
	month := quota.MonthOf(time.Now()) // which midnight may make the last one
	if none := do[usage](d, ann.token, "organization/usage", `{}`); none.Month != string(month) &&
		none.Month != string(quota.MonthOf(time.Now())) || none.Events != 0 || none.Days == nil || none.Websites == nil {
		t.Errorf("an empty month: %+v", none)
	}
	d.rejected(ann.token, "organization/usage", `{"month":"2026-13"}`, http.StatusBadRequest, apierr.Validation)
	d.rejected(ann.token, "organization/usage", `{"month":"2026-4"}`, http.StatusBadRequest, apierr.Validation)
	d.rejected(ann.token, "organization/usage", `{"month":"2026-04"}`, http.StatusServiceUnavailable,
		apierr.ServiceUnavailable)
	d.rejected(ann.token, "organization/usage", `{"organizationId":"`+d.other.ID+`"}`,
		http.StatusNotFound, apierr.NotFound)
}

func TestAnOrganizationShowsHowItStands(t *testing.T) {
	t.Parallel()
	d := newHouse(t, httpkit.Site{})
	ann := d.signUp("ann", "")
	type shown struct {
		Quota struct {
			Month         string
			MonthlyEvents *int64
			UsedEvents    int64
			Exceeded      bool
			NoticePercent *int
			CountedAt     *time.Time
		}
	}
	month := quota.MonthOf(time.Now())
	q := do[shown](d, ann.token, "organization/get", `{}`).Quota
	if q.Month != string(month) || q.MonthlyEvents != nil || q.UsedEvents != 0 || q.Exceeded ||
		q.NoticePercent != nil || q.CountedAt != nil {
		t.Errorf("at first: %+v", q)
	}
	if _, err := d.db.SetQuota(t.Context(), audit.BySystem(), ann.organization, 10, time.Now()); err != nil {
		t.Fatal(err)
	}
	count := func(month quota.Month, used int64) {
		t.Helper()
		if err := d.db.CountQuota(t.Context(), ann.organization, time.Now(), func(q *quota.Quota) quota.Outcome {
			return q.Count(month, used, q.Limit(0), time.Now())
		}); err != nil {
			t.Fatal(err)
		}
	}
	count(month, 8)
	q = do[shown](d, ann.token, "organization/get", `{}`).Quota
	if *q.MonthlyEvents != 10 || q.UsedEvents != 8 || q.Exceeded || *q.NoticePercent != 80 || q.CountedAt == nil {
		t.Errorf("at 8 of 10: %+v", q)
	}
	count(month, 10)
	if q = do[shown](d, ann.token, "organization/get", `{}`).Quota; !q.Exceeded || *q.NoticePercent != 100 {
		t.Errorf("at 10 of 10: %+v", q)
	}
	count("2020-01", 10)
	if q = do[shown](d, ann.token, "organization/get", `{}`).Quota; q.Month != string(month) || q.UsedEvents != 0 ||
		q.Exceeded || q.NoticePercent != nil {
		t.Errorf("after another month was counted: %+v", q)
	}
}
