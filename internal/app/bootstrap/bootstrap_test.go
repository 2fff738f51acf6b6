package bootstrap

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/adapter/store"
	"github.com/millrace/millrace/internal/adapter/store/storetest"
	"github.com/millrace/millrace/internal/tenant/apikey"
	"github.com/millrace/millrace/internal/tenant/audit"
	"github.com/millrace/millrace/internal/tenant/org"
)

func TestRunMakesAnAccountOnceAndOneThatWorks(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	db, err := store.Open(ctx, storetest.SQLite(t), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	first := First{
		Organization: "Acme", Website: "Shop", Domain: "shop.example",
		AdminEmail: "owner@shop.example", AdminName: "Owner", KeyName: "first",
	}
	a, made, err := Run(ctx, db, audit.BySystem(), "mlr", first, nil)
	if err != nil || !made {
		t.Fatalf("Run() on an empty store: made %v, %v", made, err)
	}
	key, err := db.KeyByHash(ctx, apikey.HashOf([]byte(a.APIKey)))
	if err != nil || key.OrganizationID != a.OrganizationID || key.WebsiteID != "" {
		t.Errorf("the key is %+v, %v", key, err)
	}
	site, err := db.WebsiteByID(ctx, a.WebsiteID)
	if err != nil || site.Domain != "shop.example" || site.OrganizationID != a.OrganizationID {
		t.Errorf("the website is %+v, %v", site, err)
	}
	user, err := db.UserByEmail(ctx, first.AdminEmail)
	if err != nil || !user.Verified() {
		t.Fatalf("the owner is %+v, %v, want a verified one", user, err)
	}
	if good, err := org.VerifyPassword(user.PasswordHash, a.AdminPassword); !good || err != nil {
		t.Errorf("the password is not the owner's: %v", err)
	}
	if again, made, err := Run(ctx, db, audit.BySystem(), "mlr", first, nil); made || err != nil || again != (Account{}) {
		t.Errorf("Run() again = %+v, made %v, %v; want nothing", again, made, err)
	}
	if _, made, err := Run(ctx, db, audit.BySystem(), "mlr", First{Organization: ""}, nil); made || err != nil {
		t.Errorf("Run() with bad names on a store in use: made %v, %v", made, err)
	}
	agreed := func(*org.Organization) error { return nil }
	if _, err := db.DeleteOrganization(ctx, audit.BySystem(), a.OrganizationID, 0, time.Now(), agreed); err != nil {
		t.Fatal(err)
	}
	if _, made, err := Run(ctx, db, audit.BySystem(), "mlr", first, nil); made || err != nil {
		t.Errorf("Run() after the owner has deleted the organization: made %v, %v", made, err)
	}
}

func TestRunLeavesNothingWhenOnePartIsRejected(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	db, err := store.Open(ctx, storetest.SQLite(t), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	_, made, err := Run(ctx, db, audit.BySystem(), "mlr", First{
		Organization: "Acme", Website: "Shop", Domain: "not a domain", AdminEmail: "owner@shop.example", AdminName: "Owner",
		KeyName: "first",
	}, nil)
	if err == nil || made {
		t.Fatalf("a bad domain was taken: made %v", made)
	}
	if all, err := db.ListOrganizations(ctx); err != nil || len(all) != 0 {
		t.Errorf("left %d organizations, %v", len(all), err)
	}
}

func TestRunMakesNothingThatNobodyReceived(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	db, err := store.Open(ctx, storetest.SQLite(t), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	first := First{
		Organization: "Acme", Website: "Shop", Domain: "shop.example", AdminEmail: "owner@shop.example", AdminName: "Owner",
		KeyName: "first",
	}
	lost := errors.New("the receiver is away")
	_, made, err := Run(ctx, db, audit.BySystem(), "mlr", first, func(context.Context, Account) error { return lost })
	if made || !errors.Is(err, lost) {
		t.Errorf("made %v, %v", made, err)
	}
	var received Account
	a, made, err := Run(ctx, db, audit.BySystem(), "mlr", first,
		func(_ context.Context, a Account) error { received = a; return nil })
	if !made || err != nil || received != a {
		t.Errorf("afterwards: made %v, %v; received %+v of %+v", made, err, received, a)
	}
}
