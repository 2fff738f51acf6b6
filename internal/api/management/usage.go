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
			Name: "usage", Summary: "Count the events of a month, by day and website", Class: auth.ViewOrganization,
			Detail: "Counted is what was stored, by the UTC day of receipt, as quotas are; an event that came twice counts " +
				"once. " +
				"A month has at most 100 websites here, those with the most events; the others are summed up.",
		}, o.monthOf),
	}
}

type quotaBody struct {
	Month         string    `json:"month" doc:"The current month in UTC, such as 2026-11."`
	MonthlyEvents *int64    `json:"monthlyEvents" nullable:"true" doc:"Events that the organization may have stored in a month; null when unlimited, also where an external service decides."`
	UsedEvents    int64     `json:"usedEvents" doc:"As of countedAt; organization/usage counts anew."`
	Exceeded      bool      `json:"exceeded" doc:"True when further events are refused with status 402."`
	NoticePercent *int      `json:"noticePercent" nullable:"true" enum:"80,100" doc:"What share of the quota owners were told of: 80 or 100; null for none yet."`
	CountedAt     *rpc.Time `json:"countedAt" nullable:"true" doc:"Null when nothing was counted this month."`
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

	Month     string `json:"month,omitempty" maxLength:"7" doc:"A month in UTC such as 2026-11; without it the current one."`
	WebsiteID string `json:"websiteId,omitempty" maxLength:"64" doc:"Counts this website alone, by its id or client id, a deleted one by its id; the organization's id stands for events of no website."`
}

type usageBody struct {
	Month         string             `json:"month"`
	Events        int64              `json:"events"`
	Days          []usageDay         `json:"days" doc:"The days that have events."`
	Websites      []usageWebsite     `json:"websites" doc:"Those with the most events first."`
	OtherWebsites usageOtherWebsites `json:"otherWebsites"`
}

type usageDay struct {
	Date   string `json:"date" format:"date"`
	Events int64  `json:"events"`
}

type usageWebsite struct {
	WebsiteID *string    `json:"websiteId" nullable:"true" doc:"Null for events of no website."`
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
