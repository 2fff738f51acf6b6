package quota

import (
	"context"
	"errors"
	"fmt"
)

// notify mails what share of a month is used to an organization's owners.
func (c *Counter) notify(ctx context.Context, q *Quota, share int) error {
	organization, addresses, err := c.deps.Store.Owners(ctx, q.OrganizationID)
	if err != nil {
		return fmt.Errorf("listing the recipients of a quota notice: %w", err)
	}
	subject, body := noticeMail(c.deps.PublicURL, organization, q, c.cfg.limit(q), share)
	var errs []error
	for _, to := range addresses {
		errs = append(errs, c.deps.Mail.Send(ctx, to, subject, body))
	}
	return errors.Join(errs...)
}

// noticeMail writes the mail. Names are labels: they hold no line break.
func noticeMail(publicURL, organization string, q *Quota, limit int64, share int) (subject, body string) {
	_, next := q.Month.Bounds()
	what := "Events are rejected once the quota is used up."
	if share == NoticeFull {
		what = "Further events are rejected with status 402."
	}
	subject = fmt.Sprintf("%s has used %d %% of its events of %s", organization, share, q.Month)
	return subject, fmt.Sprintf(`Hello,

the organization %q at %s
has used %d of the %d events of %s.

%s
The next month begins on %s UTC.
Ask your operator for a larger quota if you need one.
`, organization, publicURL, q.Used, limit, q.Month, what, next.Format("2006-01-02 15:04"))
}
