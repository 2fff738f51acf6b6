package link

import (
	"context"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/platform/fair"
)

// edit changes a link by the fields. Of what is wrong with them, all is in the Validation
// error that is returned.
func (s *Service) edit(ctx context.Context, l *Link, f *Fields) error {
	rules, err := s.rulesFor(ctx, f.addresses())
	if err != nil {
		return err
	}
	var bad apierr.Rejection
	if f.Domain != nil {
		if err := s.move(ctx, l, *f.Domain); apierr.Is(err, apierr.Validation) {
			bad.Merge(err)
			rest := *f // nobody knows by which host's rules to judge the slug
			rest.Slug, rest.Domain = nil, nil
			f = &rest
		} else if err != nil {
			return err
		}
	}
	bad.Merge(f.apply(l, rules))
	if err := bad.Err(); err != nil {
		return err
	}
	return s.hash(ctx, l, f.Password)
}

// move puts a link on a host: one of the organization's own that serves, or the shared one.
// A link that is on it already stays there whatever has become of the domain.
func (s *Service) move(ctx context.Context, l *Link, hostname string) error {
	if hostname == "" {
		l.DomainID, l.Hostname, l.CaseSensitive = "", "", false
		return nil
	}
	d, err := s.domainOf(ctx, l.OrganizationID, hostname)
	switch {
	case err != nil:
		return err
	case d.ID != l.DomainID && !d.Serves():
		return apierr.Invalid("domain", "not_verified", "domain must be verified")
	}
	l.DomainID, l.Hostname, l.CaseSensitive = d.ID, d.Name, d.CaseSensitive
	return nil
}

// hash keeps a password that was sent; an empty one removes it.
func (s *Service) hash(ctx context.Context, l *Link, password *string) (err error) {
	if password == nil {
		return nil
	}
	if l.PasswordHash = ""; *password != "" {
		l.PasswordHash, err = s.deps.Passwords.HashText(ctx, fair.Owner{Tenant: "link", Name: l.OrganizationID}, *password)
	}
	return err
}
