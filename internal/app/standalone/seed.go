package standalone

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/millrace/millrace/internal/adapter/store"
	"github.com/millrace/millrace/internal/app/bootstrap"
	"github.com/millrace/millrace/internal/tenant/apikey"
	"github.com/millrace/millrace/internal/tenant/audit"
	"github.com/millrace/millrace/internal/tenant/org"
	"github.com/millrace/millrace/internal/tenant/website"
)

// first is what the first start creates.
var first = bootstrap.First{
	Organization: "Development",
	Website:      "Example",
	Domain:       "localhost",
	AdminEmail:   "admin@example.com",
	AdminName:    "Admin",
	KeyName:      "standalone",
}

// Notes on values that could not be kept.
const (
	noteNewKey = "the API key in dev.env is missing or no longer accepted; created a new one"
	//nolint:gosec // says that there is none
	noteNoPassword = "dev.env no longer contains the admin's password, which is shown only when it is created"
)

// seed makes the first organization, user, website and key in an empty store. In
// any other it finds those that dev.env names, and replaces what is missing: a
// secret can be read nowhere but there.
func seed(ctx context.Context, db *store.Store, prefix string, known devEnv) (env devEnv, notes []string, err error) {
	err = db.InTx(ctx, func(ctx context.Context, tx *store.Store) error {
		organizations, err := tx.ListOrganizations(ctx)
		if err != nil {
			return err
		}
		if len(organizations) == 0 {
			a, err := bootstrap.Create(ctx, tx, audit.BySystem(), prefix, first)
			env = devEnv{
				OrganizationID: a.OrganizationID, WebsiteID: a.WebsiteID, APIKey: a.APIKey,
				AdminEmail: a.AdminEmail, AdminPassword: cmp.Or(a.AdminPassword, known.AdminPassword),
			}
			if env.AdminPassword == "" {
				notes = append(notes, noteNoPassword)
			}
			return err
		}
		i := slices.IndexFunc(organizations, func(o *org.Organization) bool { return o.ID == known.OrganizationID })
		env, notes, err = resume(ctx, tx, prefix, organizations[max(i, 0)].ID, known)
		return err
	})
	return env, notes, err
}

func resume(
	ctx context.Context, tx *store.Store, prefix, organizationID string, known devEnv,
) (env devEnv, notes []string, err error) {
	env = devEnv{OrganizationID: organizationID, AdminEmail: known.AdminEmail, AdminPassword: known.AdminPassword}
	if env.AdminEmail == "" {
		env.AdminEmail = first.AdminEmail
	}
	if env.AdminPassword == "" {
		notes = append(notes, noteNoPassword)
	}
	if env.WebsiteID, err = knownWebsite(ctx, tx, organizationID, known.WebsiteID); err != nil {
		return env, nil, err
	}
	good, err := keyWorks(ctx, tx, prefix, organizationID, known.APIKey)
	if err != nil {
		return env, nil, err
	}
	if good {
		env.APIKey = known.APIKey
		return env, notes, nil
	}
	env.APIKey, err = bootstrap.Key(ctx, tx, audit.BySystem(), prefix, organizationID, first)
	return env, append(notes, noteNewKey), err
}

// knownWebsite returns the named website where it is the organization's, else
// the organization's first, else a new one. Settings that cannot be read hold up nobody.
func knownWebsite(ctx context.Context, tx *store.Store, organizationID, id string) (string, error) {
	for _, f := range []website.Filter{
		{OrganizationID: organizationID, ID: id, Limit: 1, Brief: true},
		{OrganizationID: organizationID, Limit: 1, Brief: true},
	} {
		found, err := tx.ListWebsites(ctx, f)
		if err != nil {
			return "", err
		}
		if len(found) > 0 {
			return found[0].ID, nil
		}
	}
	return bootstrap.Website(ctx, tx, audit.BySystem(), organizationID, first)
}

// keyWorks reports whether a secret is an accepted key of the organization.
func keyWorks(ctx context.Context, tx *store.Store, prefix, organizationID, secret string) (bool, error) {
	if !apikey.WellFormed(prefix, []byte(secret)) {
		return false, nil
	}
	hash := apikey.HashOf([]byte(secret))
	key, err := tx.KeyByHash(ctx, hash)
	if errors.Is(err, apikey.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return key.Accepts(hash, time.Now()) && key.OrganizationID == organizationID, nil
}
