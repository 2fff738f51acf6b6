package management

import (
	"context"
	"time"

	"github.com/millrace/millrace/internal/api/rpc"
	"github.com/millrace/millrace/internal/tenant/auth"
	"github.com/millrace/millrace/internal/tenant/quota"
)

func (o *Organizations) usage() []rpc.Operation {
	return []rpc.Operation{
		rpc.Op(rpc.Spec{
			Name: "usage", Summary: "Count the events of a month by day and website", Class: auth.ViewOrganization,
			Detail: "Counts stored events by the UTC day of receipt, like quotas. Duplicates count once. The response lists " +
				"the 100 websites with the most events and sums up the others.",
		}, o.monthOf),
	}
}

type quotaBody struct {
	Month         string    `json:"month" doc:"Current month in UTC, such as 2026-11."`
	MonthlyEvents *int64    `json:"monthlyEvents" nullable:"true" doc:"Maximum number of events that the organization can store in a month; null if there is no limit or an external service decides."`
	UsedEvents    int64     `json:"usedEvents" doc:"Number of events as of countedAt. organization/usage counts them again."`
	Exceeded      bool      `json:"exceeded" doc:"Whether further events are rejected with status 402."`
	NoticePercent *int      `json:"noticePercent" nullable:"true" enum:"80,100" doc:"Share of the quota that the owners were notified about: 80 or 100; null for none yet."`
	CountedAt     *rpc.Time `json:"countedAt" nullable:"true" doc:"Time of the count; null if nothing was counted this month."`
}

func newQuotaBody(s *quota.Standing) quotaBody {
	b := quotaBody{Month: string(s.Month), UsedEvents: s.Used, Exceeded: s.Exceeded, CountedAt: rpc.At(s.CountedAt)}
	if s.Events != quota.Unlimited {
		b.MonthlyEvents = &s.Events
	}
	if s.Noticed != 0 {
		b.NoticePercent = &s.Noticed
	}
	return b
}

type usageInput struct {
	rpc.InOrganization

	Month     string `json:"month,omitempty" maxLength:"7" doc:"Month in UTC such as 2026-11; the current one if absent."`
	WebsiteID string `json:"websiteId,omitempty" maxLength:"64" doc:"Counts only this website, by its id or client id, or a deleted website by its id. The organization's id counts events without a website."`
}

type usageBody struct {
	Month         string             `json:"month"`
	Events        int64              `json:"events"`
	Days          []usageDay         `json:"days" doc:"Days with events."`
	Websites      []usageWebsite     `json:"websites" doc:"Websites with the most events first."`
	OtherWebsites usageOtherWebsites `json:"otherWebsites"`
}

type usageDay struct {
	Date   string `json:"date" format:"date"`
	Events int64  `json:"events"`
}

type usageWebsite struct {
	WebsiteID *string    `json:"websiteId" nullable:"true" doc:"Id of the website; null for events without a website."`
	Events    int64      `json:"events"`
	Days      []usageDay `json:"days"`
}

type usageOtherWebsites struct {
	Count  int   `json:"count"`
	Events int64 `json:"events"`
}

func (o *Organizations) monthOf(ctx context.Context, call *rpc.Call, in *usageInput) (*usageBody, error) {
	var month quota.Month
	if in.Month != "" {
		var err error
		if month, err = quota.ParseMonth(in.Month); err != nil {
			return nil, err
		}
	}
	owner, err := websiteNamed(ctx, o.Websites, call, in.WebsiteID)
	if err != nil {
		return nil, err
	}
	r, err := o.Quotas.Report(ctx, call.OrganizationID(), owner, month)
	if err != nil {
		return nil, err
	}
	body := &usageBody{
		Month: string(r.Month), Events: r.Events, Days: usageDays(r.Days), Websites: make([]usageWebsite, len(r.Owners)),
		OtherWebsites: usageOtherWebsites{r.Others, r.OtherEvents},
	}
	for i, owner := range r.Owners {
		body.Websites[i] = usageWebsite{Events: owner.Events, Days: usageDays(owner.Days)}
		if owner.ID != call.OrganizationID() {
			body.Websites[i].WebsiteID = &owner.ID
		}
	}
	return body, nil
}

func usageDays(days []quota.Day) []usageDay {
	all := make([]usageDay, len(days))
	for i, d := range days {
		all[i] = usageDay{d.Day.Format(time.DateOnly), d.Events}
	}
	return all
}
