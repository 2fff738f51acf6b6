package standalone

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"time"

	"github.com/millrace/millrace/internal/apikey"
	"github.com/millrace/millrace/internal/auth"
	"github.com/millrace/millrace/internal/org"
	"github.com/millrace/millrace/internal/store"
	"github.com/millrace/millrace/internal/website"
)

// What the first start creates.
const (
	firstOrganization = "Development"
	firstWebsite      = "Example"
	firstDomain       = "localhost"
	adminEmail        = "admin@example.com"
	adminName         = "Admin"
	keyName           = "standalone"
)

// Notes on values that could not be kept.
const (
	noteNewKey     = "the API key in dev.env is missing or no longer accepted; made a new one"
	noteNoPassword = "dev.env no longer holds the admin's password; it is shown only when it is made" //nolint:gosec // says that there is none
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
			env, err = seedEmpty(ctx, tx, prefix)
			return err
		}
		i := slices.IndexFunc(organizations, func(o *org.Organization) bool { return o.ID == known.OrganizationID })
		env, notes, err = resume(ctx, tx, prefix, organizations[max(i, 0)].ID, known)
		return err
	})
	return env, notes, err
}

func seedEmpty(ctx context.Context, tx *store.Store, prefix string) (devEnv, error) {
	now := time.Now().UTC()
	o, err := org.New(firstOrganization, now)
	if err != nil {
		return devEnv{}, err
	}
	env := devEnv{OrganizationID: o.ID, AdminEmail: adminEmail, AdminPassword: rand.Text()}
	user, err := org.NewUser(env.AdminEmail, adminName, env.AdminPassword, now)
	if err != nil {
		return devEnv{}, err
	}
	member := org.Member{OrganizationID: o.ID, UserID: user.ID, Role: org.RoleOwner, CreatedAt: now}
	for _, create := range []func() error{
		func() error { return tx.CreateOrganization(ctx, o) },
		func() error { return tx.CreateUser(ctx, user) },
		func() error { return tx.AddMember(ctx, &member) },
		func() (err error) { env.WebsiteID, err = newWebsite(ctx, tx, o.ID); return err },
		func() (err error) { env.APIKey, err = newKey(ctx, tx, prefix, o.ID); return err },
	} {
		if err := create(); err != nil {
			return devEnv{}, err
		}
	}
	return env, nil
}

func resume(ctx context.Context, tx *store.Store, prefix, organizationID string, known devEnv) (env devEnv, notes []string, err error) {
	env = devEnv{OrganizationID: organizationID, AdminEmail: known.AdminEmail, AdminPassword: known.AdminPassword}
	if env.AdminEmail == "" {
		env.AdminEmail = adminEmail
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
	env.APIKey, err = newKey(ctx, tx, prefix, organizationID)
	return env, append(notes, noteNewKey), err
}

// knownWebsite returns the named website where it is the organization's, else
// the organization's first, else a new one.
func knownWebsite(ctx context.Context, tx *store.Store, organizationID, id string) (string, error) {
	for _, f := range []website.Filter{
		{OrganizationID: organizationID, ID: id, Limit: 1},
		{OrganizationID: organizationID, Limit: 1},
	} {
		found, err := tx.ListWebsites(ctx, f)
		if err != nil {
			return "", err
		}
		if len(found) > 0 {
			return found[0].ID, nil
		}
	}
	return newWebsite(ctx, tx, organizationID)
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

func newWebsite(ctx context.Context, tx *store.Store, organizationID string) (string, error) {
	w, err := website.New(organizationID, firstWebsite, firstDomain, time.Now().UTC())
	if err != nil {
		return "", err
	}
	return w.ID, tx.CreateWebsite(ctx, w)
}

func newKey(ctx context.Context, tx *store.Store, prefix, organizationID string) (string, error) {
	key, secret, err := apikey.New(prefix, apikey.Spec{
		OrganizationID: organizationID, Name: keyName, Scopes: auth.AllScopes().Strings(),
	}, time.Now().UTC())
	if err != nil {
		return "", err
	}
	return secret, tx.CreateKey(ctx, key)
}
