package link

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/tenant/attempt"
	"github.com/millrace/millrace/internal/tenant/audit"
	"github.com/millrace/millrace/internal/tenant/managed"
)

// DomainStore keeps domains. Both mutating methods write the audit entry in the same
// transaction, and have hosts read the Directory anew.
type DomainStore interface {
	// CreateDomain adds a domain. It returns TooMany where there are limit,
	// ErrHostnameClaimed, and org.ErrNotFound for an organization that does not exist.
	CreateDomain(ctx context.Context, by audit.By, d *Domain, limit int) error
	// SaveDomain replaces was by is, or returns managed.ErrChanged when the domain is not at
	// was.Version any more. Where the version stays, nothing is told of it to anybody. One
	// that begins to serve takes the hostname from another organization's that is failing
	// or belongs to nobody who lives; else it is ErrHostnameVerified. One that is deleted is
	// removed, or is DomainInUse.
	SaveDomain(ctx context.Context, by audit.By, action managed.Action, was, is *Domain) error
	// DomainByID returns a domain or ErrDomainNotFound.
	DomainByID(ctx context.Context, id string) (*Domain, error)
	// DomainByHostname returns an organization's domain or ErrDomainNotFound.
	DomainByHostname(ctx context.Context, organizationID, hostname string) (*Domain, error)
	// ListDomains returns an organization's domains in the order of their creation.
	ListDomains(ctx context.Context, organizationID, after string, limit int) ([]*Domain, error)
	// ServingHosts returns those of the hosts that are domains which serve, whoever's.
	ServingHosts(ctx context.Context, hosts []string) ([]string, error)
}

// DomainChecker looks at DNS.
type DomainChecker interface {
	// CheckDomain asks once, within a bounded time.
	CheckDomain(ctx context.Context, d *Domain) Proof
}

// Checked is what was done to a domain that was looked at.
const Checked managed.Action = "checked"

// verifyAllowance is how often an organization may have DNS be asked: ten times a minute.
var verifyAllowance = attempt.Allowance{Burst: 10, Interval: 6 * time.Second}

// DomainFields are what a caller chooses about a domain. Those that are nil are empty in a
// new one, and stay as they are in one that there is.
type DomainFields struct{ RootURL, NotFoundURL, ExpiredURL *string }

// apply changes a domain by the fields. None of them leads to the domain itself.
func (s *Service) applyDomain(ctx context.Context, d *Domain, f DomainFields) error {
	fields := []struct {
		name string
		from *string
		to   *string
	}{
		{"rootUrl", f.RootURL, &d.RootURL},
		{"notFoundUrl", f.NotFoundURL, &d.NotFoundURL},
		{"expiredUrl", f.ExpiredURL, &d.ExpiredURL},
	}
	var sent []string
	for _, field := range fields {
		managed.Apply(field.from, func(v string) { sent = append(sent, v) })
	}
	known, err := s.rulesFor(ctx, sent)
	if err != nil {
		return err
	}
	rules := *known
	rules.serving = append(slices.Clip(known.serving), d.Name)
	var bad apierr.Rejection
	for _, field := range fields {
		managed.Apply(field.from, func(v string) {
			if *field.to = v; v != "" {
				rules.checkURL(&bad, field.name, v)
			}
		})
	}
	return bad.Err()
}

// CreateDomain makes a domain, which does not serve before it is verified. What is against
// the rules is a Validation error; other errors are those of DomainStore.CreateDomain.
func (s *Service) CreateDomain(
	ctx context.Context, by audit.By, organizationID, hostname string, caseSensitive bool, f DomainFields,
) (*Domain, error) {
	d := &Domain{
		Record: managed.New("dom", organizationID, by.Actor.ID, s.domains.Clock()), Status: DomainPending, Token: newToken(),
		CaseSensitive: caseSensitive,
	}
	var err error
	if d.Name, err = s.rules.cleanHostname(hostname); err != nil {
		return nil, err
	}
	if err := s.applyDomain(ctx, d, f); err != nil {
		return nil, err
	}
	if err := s.deps.Domains.CreateDomain(ctx, by, d, MaxDomains); err != nil {
		return nil, err
	}
	return d, nil
}

// Domain returns a domain by its id, or ErrDomainNotFound.
func (s *Service) Domain(ctx context.Context, t managed.Target) (*Domain, error) {
	return s.domains.Get(ctx, t)
}

// ListDomains returns at most limit domains of an organization, in the order of their
// creation, those after the given id.
func (s *Service) ListDomains(ctx context.Context, organizationID, after string, limit int) ([]*Domain, error) {
	return s.deps.Domains.ListDomains(ctx, organizationID, after, limit)
}

// UpdateDomain changes where a domain leads. It returns ErrDomainNotFound,
// managed.ErrChanged or a Validation error.
func (s *Service) UpdateDomain(ctx context.Context, by audit.By, t managed.Target, f DomainFields) (*Domain, error) {
	return s.domains.Change(ctx, by, t, managed.Updated, func(was *Domain, now time.Time) (*Domain, error) {
		is := managed.Next(was, now)
		return is, s.applyDomain(ctx, is, f)
	})
}

// VerifyDomain looks at DNS once, and keeps what it says: that the domain is proved, or what
// is wrong. It returns ErrDomainNotFound, managed.ErrChanged, ErrHostnameVerified, and a
// RateLimited error for an organization that asks too often.
func (s *Service) VerifyDomain(ctx context.Context, by audit.By, t managed.Target) (*Domain, error) {
	was, err := s.domains.Get(ctx, t)
	if err != nil {
		return nil, err
	}
	if t.Version != 0 && t.Version != was.Version {
		return nil, managed.ErrChanged
	}
	charge := attempt.Of(verifyAllowance, "link domain", t.OrganizationID)
	if err := attempt.Take(ctx, s.deps.Attempts, s.domains.Clock(), charge); err != nil {
		return nil, err
	}
	is := was.looked(s.deps.DNS.CheckDomain(ctx, was), s.domains.Clock())
	if err := s.deps.Domains.SaveDomain(ctx, by, Checked, was, is); err != nil {
		return nil, err
	}
	return is, nil
}

// DeleteDomain takes a domain away for good. It returns ErrDomainNotFound,
// managed.ErrChanged, or DomainInUse for one with links that are not deleted.
func (s *Service) DeleteDomain(ctx context.Context, by audit.By, t managed.Target) (*Domain, error) {
	return s.domains.Delete(ctx, by, t)
}

// domainOf returns an organization's domain of a hostname as a caller writes it; one that is
// not there is a Validation error of the field domain.
func (s *Service) domainOf(ctx context.Context, organizationID, hostname string) (*Domain, error) {
	d, err := s.deps.Domains.DomainByHostname(ctx, organizationID, HostKey(hostname))
	if errors.Is(err, ErrDomainNotFound) {
		return nil, apierr.Invalid("domain", "unknown_domain",
			"domain must be the hostname of one of the organization's domains, or absent for the shared host")
	}
	return d, err
}
