// Package bootstrap makes what an empty installation needs before anybody can
// use it: an organization, its owner, a website, and a key with every scope. It
// never touches a store that already has an organization.
package bootstrap

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/millrace/millrace/internal/adapter/store"
	"github.com/millrace/millrace/internal/tenant/apikey"
	"github.com/millrace/millrace/internal/tenant/audit"
	"github.com/millrace/millrace/internal/tenant/auth"
	"github.com/millrace/millrace/internal/tenant/org"
	"github.com/millrace/millrace/internal/tenant/website"
)

// First says what the first records are called.
type First struct {
	Organization string // its name
	Website      string // its name
	Domain       string // the website's host name
	AdminEmail   string // the owner's, with which they sign in
	AdminName    string
	KeyName      string
}

// Account is what was made. The password and the key can be read nowhere else:
// the store keeps hashes.
type Account struct {
	OrganizationID string
	WebsiteID      string
	APIKey         string
	AdminEmail     string
	AdminPassword  string
}

// Run makes the first account where the store has no organization and no user with its
// address, as one transaction; by is who asked for it. Otherwise it changes nothing and made is
// false. The account is handed over before it is kept: when deliver fails, nothing
// was made, so that a secret nobody received is never the one that counts. A nil
// deliver hands over nothing.
func Run(
	ctx context.Context, db *store.Store, by audit.By, keyPrefix string, first First,
	deliver func(context.Context, Account) error,
) (a Account, made bool, err error) {
	err = db.InTx(ctx, func(ctx context.Context, tx *store.Store) error {
		organizations, err := tx.ListOrganizations(ctx)
		if err != nil || len(organizations) > 0 {
			return err
		}
		// Whose organizations are all deleted restores one, or makes the next one.
		known, err := admin(ctx, tx, first)
		if err != nil || known != nil {
			return err
		}
		if a, err = Create(ctx, tx, by, keyPrefix, first); err == nil && deliver != nil {
			err = deliver(ctx, a)
		}
		made = err == nil
		return err
	})
	return a, made && err == nil, err
}

// admin returns the user with the first account's address; nil for none.
func admin(ctx context.Context, tx *store.Store, first First) (*org.User, error) {
	email, err := org.NormalizeEmail(first.AdminEmail)
	if err != nil {
		return nil, err
	}
	u, err := tx.UserByEmail(ctx, email)
	if errors.Is(err, org.ErrUserNotFound) {
		return nil, nil //nolint:nilnil // nobody is a result
	}
	return u, err
}

// Create makes an account. A user who has the address already owns it, and keeps their
// password, which is then not in the response. Call it inside a transaction.
func Create(ctx context.Context, tx *store.Store, by audit.By, keyPrefix string, first First) (Account, error) {
	now := time.Now().UTC()
	o, err := org.New(first.Organization, now)
	if err != nil {
		return Account{}, err
	}
	a := Account{OrganizationID: o.ID, AdminEmail: first.AdminEmail}
	user, err := admin(ctx, tx, first)
	if err == nil && user == nil {
		user, a.AdminPassword, err = newAdmin(ctx, tx, by, first, now)
	}
	if err != nil {
		return Account{}, err
	}
	member := org.Member{OrganizationID: o.ID, UserID: user.ID, Role: org.RoleOwner, CreatedAt: now}
	for _, create := range []func() error{
		func() error { return tx.CreateOrganization(ctx, by, o) },
		func() error { return tx.AddMember(ctx, by, &member) },
		func() (err error) { a.WebsiteID, err = Website(ctx, tx, by, o.ID, first); return err },
		func() (err error) { a.APIKey, err = Key(ctx, tx, by, keyPrefix, o.ID, first); return err },
	} {
		if err := create(); err != nil {
			return Account{}, fmt.Errorf("creating the first account: %w", err)
		}
	}
	return a, nil
}

func newAdmin(
	ctx context.Context, tx *store.Store, by audit.By, first First, now time.Time,
) (u *org.User, password string, err error) {
	password = rand.Text()
	hash, err := org.HashPassword(password)
	if err != nil {
		return nil, "", err
	}
	if u, err = org.NewUser(first.AdminEmail, first.AdminName, hash, now); err != nil {
		return nil, "", err
	}
	u.VerifiedAt = now // by the operator's word
	if err := tx.CreateUser(ctx, by, u); err != nil {
		return nil, "", fmt.Errorf("creating the first account: %w", err)
	}
	return u, password, nil
}

// Website makes the first website in an organization and returns its id.
func Website(
	ctx context.Context, tx *store.Store, by audit.By, organizationID string, first First,
) (id string, err error) {
	w, err := website.New(organizationID, first.Website, first.Domain, time.Now().UTC())
	if err != nil {
		return "", err
	}
	return w.ID, tx.CreateWebsite(ctx, by, w)
}

// Key makes a key for all websites of an organization, with every scope, and
// returns its secret.
func Key(
	ctx context.Context, tx *store.Store, by audit.By, keyPrefix, organizationID string, first First,
) (secret string, err error) {
	key, secret, err := apikey.New(keyPrefix, apikey.Spec{
		OrganizationID: organizationID, Name: first.KeyName, Scopes: auth.AllScopes().Strings(),
	}, time.Now().UTC())
	if err != nil {
		return "", err
	}
	return secret, tx.CreateKey(ctx, by, key)
}
