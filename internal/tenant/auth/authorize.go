package auth

import (
	"fmt"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/tenant/website"
)

// AuthorizeWebsite says whether p may do with w what the scope need grants; nil
// when it may. Otherwise it returns, in this order:
//
//   - an AuthRequired error for an anonymous principal,
//   - a Forbidden error when the scope is missing, whatever the website,
//   - website.ErrNotFound when the website belongs to another organization or to
//     none; the surface decides how to hide it,
//   - an AccessDenied error when it is the own organization's and the key is
//     limited to another one.
func AuthorizeWebsite(p Principal, w *website.Website, need Scope) error {
	switch {
	case p.Kind == KindAnonymous:
		return apierr.New(apierr.AuthRequired)
	case !p.Has(need):
		return apierr.Wrap(apierr.Forbidden, fmt.Errorf("key %s lacks the scope %s", p.KeyID, need))
	default:
		return ReachWebsite(p, w)
	}
}

// ReachWebsite is AuthorizeWebsite whatever the scopes of p: the last two of its errors.
func ReachWebsite(p Principal, w *website.Website) error {
	switch {
	case p.OrganizationID == "" || w.OrganizationID != p.OrganizationID:
		return website.ErrNotFound
	case !p.Global() && w.ID != p.WebsiteID:
		return apierr.Wrap(apierr.AccessDenied, fmt.Errorf("key %s is not limited to website %s", p.KeyID, w.ID))
	default:
		return nil
	}
}
