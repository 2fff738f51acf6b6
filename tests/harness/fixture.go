package harness

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/adapter/store"
	"github.com/millrace/millrace/internal/adapter/store/storetest"
	"github.com/millrace/millrace/internal/contract/id"
	"github.com/millrace/millrace/internal/tenant/apikey"
	"github.com/millrace/millrace/internal/tenant/audit"
	"github.com/millrace/millrace/internal/tenant/auth"
	"github.com/millrace/millrace/internal/tenant/managed"
	"github.com/millrace/millrace/internal/tenant/org"
	"github.com/millrace/millrace/internal/tenant/website"
	"github.com/millrace/millrace/internal/testkit/apitest"
)

// keyPrefix is the default of the setting key.prefix.
const keyPrefix = "mlr"

// Fixture is what a system's metadata store holds when a test begins: the table
// in tests/contract/README.md, under the same names.
type Fixture struct {
	Key, NoTrackKey, NoReadKey, WebsiteKey string
	ExpiredKey, RevokedKey, RotatedKey     string
	ForeignKey, UnknownKey, MalformedKey   string
	LimitedKey, LimitedReadKey             string
	ElsewhereKey                           string

	OrganizationID                string
	WebsiteID, ClientID           string
	SecondWebsiteID               string
	ForeignWebsiteID              string
	OrphanWebsiteID               string
	CorruptWebsiteID              string
	OriginWebsiteID               string
	IPWebsiteID                   string
	ExcludingWebsiteID            string
	PublicWebsiteID               string
	organization, foreign, orphan *org.Organization
}

// Vars returns the fixture as variables of contract cases.
func (f *Fixture) Vars() apitest.Vars {
	return apitest.Vars{
		"KEY": f.Key, "NO_TRACK_KEY": f.NoTrackKey, "NO_READ_KEY": f.NoReadKey, "WEBSITE_KEY": f.WebsiteKey,
		"EXPIRED_KEY": f.ExpiredKey, "REVOKED_KEY": f.RevokedKey, "ROTATED_KEY": f.RotatedKey,
		"LIMITED_KEY": f.LimitedKey, "LIMITED_READ_KEY": f.LimitedReadKey,
		"ELSEWHERE_KEY": f.ElsewhereKey, "FOREIGN_KEY": f.ForeignKey, "UNKNOWN_KEY": f.UnknownKey,
		"MALFORMED_KEY":   f.MalformedKey,
		"ORGANIZATION_ID": f.OrganizationID,
		"WEBSITE_ID":      f.WebsiteID, "CLIENT_ID": f.ClientID, "SECOND_WEBSITE_ID": f.SecondWebsiteID,
		"FOREIGN_WEBSITE_ID": f.ForeignWebsiteID, "ORPHAN_WEBSITE_ID": f.OrphanWebsiteID,
		"CORRUPT_WEBSITE_ID": f.CorruptWebsiteID,
		"ORIGIN_WEBSITE_ID":  f.OriginWebsiteID, "IP_WEBSITE_ID": f.IPWebsiteID, "EXCLUDING_WEBSITE_ID": f.ExcludingWebsiteID,
		"PUBLIC_WEBSITE_ID": f.PublicWebsiteID,
	}
}

// Seed migrates the metadata store at url and fills it with a Fixture.
func Seed(tb testing.TB, url string) *Fixture {
	tb.Helper()
	ctx := tb.Context()
	s, err := store.Open(ctx, url, store.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	defer s.Close()
	if err := s.Migrate(ctx); err != nil {
		tb.Fatal(err)
	}
	f := &Fixture{}
	seeder := seeder{store: s, f: f, now: time.Now()}
	for _, step := range []func(context.Context) error{
		seeder.organizations, seeder.websites, seeder.keys, seeder.deadKeys,
	} {
		if err := step(ctx); err != nil {
			tb.Fatalf("seeding the metadata store: %v", err)
		}
	}
	storetest.Corrupt(tb, url, f.CorruptWebsiteID)
	return f
}

// bySeeder is how the audit calls what is seeded.
var bySeeder = audit.By{Actor: audit.Actor{Type: audit.System, Name: "fixture"}}

type seeder struct {
	store *store.Store
	f     *Fixture
	now   time.Time
}

func (s seeder) organizations(ctx context.Context) error {
	for _, o := range []struct {
		name string
		to   **org.Organization
	}{{"Own", &s.f.organization}, {"Foreign", &s.f.foreign}, {"Gone", &s.f.orphan}} {
		var err error
		if *o.to, err = org.New(o.name, s.now); err != nil {
			return err
		}
		if err := s.store.CreateOrganization(ctx, audit.BySystem(), *o.to); err != nil {
			return err
		}
	}
	s.f.OrganizationID = s.f.organization.ID
	return nil
}

func (s seeder) websites(ctx context.Context) error {
	s.f.ClientID = "client-" + strings.ToLower(id.New("pub"))
	for _, w := range []struct {
		name, clientID string
		owner          *org.Organization
		to             *string
		rules          website.Settings
	}{
		{"shop", s.f.ClientID, s.f.organization, &s.f.WebsiteID, website.Settings{}},
		{"second", "", s.f.organization, &s.f.SecondWebsiteID, website.Settings{}},
		{"foreign", "", s.f.foreign, &s.f.ForeignWebsiteID, website.Settings{}},
		{"orphan", "", s.f.orphan, &s.f.OrphanWebsiteID, website.Settings{}},
		{"corrupt", "", s.f.organization, &s.f.CorruptWebsiteID, website.Settings{}},
		{
			"origin", "", s.f.organization, &s.f.OriginWebsiteID,
			website.Settings{AllowedOrigins: []string{"app.example.net", "*.example.org"}},
		},
		{"address", "", s.f.organization, &s.f.IPWebsiteID, website.Settings{AllowedIPs: []string{"203.0.113.0/24"}}},
		{"excluding", "", s.f.organization, &s.f.ExcludingWebsiteID, website.Settings{ExcludedPaths: []string{"/admin/**"}}},
		{"public", "", s.f.organization, &s.f.PublicWebsiteID, website.Settings{}},
	} {
		site, err := website.New(w.owner.ID, w.name, w.name+".example.com", s.now)
		if err != nil {
			return err
		}
		if w.clientID != "" {
			site.ClientID = w.clientID
		}
		site.AllowedOrigins, site.AllowedIPs = w.rules.AllowedOrigins, w.rules.AllowedIPs
		site.ExcludedPaths = w.rules.ExcludedPaths
		site.Public = w.to == &s.f.PublicWebsiteID
		if err := s.store.CreateWebsite(ctx, bySeeder, site); err != nil {
			return err
		}
		*w.to = site.ID
	}
	return s.store.PurgeOrganization(ctx, audit.BySystem(), s.f.orphan.ID, s.now)
}

// once is the limit of a key that may ask once.
var once = apikey.RateLimit{Enabled: true, Limit: 1, Window: time.Hour}

func (s seeder) keys(ctx context.Context) error {
	all := auth.AllScopes().Strings()
	for _, k := range []struct {
		name    string
		owner   *org.Organization
		website string
		without auth.Scope
		limit   apikey.RateLimit
		to      *string
		from    []string
	}{
		{"all", s.f.organization, "", "", apikey.RateLimit{}, &s.f.Key, nil},
		{"no track", s.f.organization, "", auth.ScopeTrackEvents, apikey.RateLimit{}, &s.f.NoTrackKey, nil},
		{"no read", s.f.organization, "", auth.ScopeReadData, apikey.RateLimit{}, &s.f.NoReadKey, nil},
		{"website", s.f.organization, s.f.WebsiteID, "", apikey.RateLimit{}, &s.f.WebsiteKey, nil},
		{"foreign", s.f.foreign, "", "", apikey.RateLimit{}, &s.f.ForeignKey, nil},
		{"limited", s.f.organization, "", "", once, &s.f.LimitedKey, nil},
		{"limited, to read", s.f.organization, "", "", once, &s.f.LimitedReadKey, nil},
		{"elsewhere", s.f.organization, "", "", apikey.RateLimit{}, &s.f.ElsewhereKey, []string{"203.0.113.0/24"}},
	} {
		var scopes []string
		for _, name := range all {
			if name != string(k.without) {
				scopes = append(scopes, name)
			}
		}
		key, secret, err := apikey.New(keyPrefix, apikey.Spec{
			OrganizationID: k.owner.ID, WebsiteID: k.website, Name: k.name, Scopes: scopes, RateLimit: k.limit, IPAllow: k.from,
		}, s.now)
		if err != nil {
			return err
		}
		if err := s.store.CreateKey(ctx, bySeeder, key); err != nil {
			return err
		}
		*k.to = secret
	}
	return nil
}

// NewKey makes a key of the own organization with some scopes, or with all if none is given.
func (s *System) NewKey(tb testing.TB, scopes ...string) (secret string) {
	tb.Helper()
	db, err := store.Open(tb.Context(), s.StoreURL, store.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	defer db.Close()
	if len(scopes) == 0 {
		scopes = auth.AllScopes().Strings()
	}
	spec := apikey.Spec{OrganizationID: s.OrganizationID, Name: tb.Name(), Scopes: scopes}
	key, secret, err := apikey.New(keyPrefix, spec, time.Now())
	if err == nil {
		err = db.CreateKey(tb.Context(), bySeeder, key)
	}
	if err != nil {
		tb.Fatal(err)
	}
	return secret
}

// deadKeys makes the keys that are rejected.
func (s seeder) deadKeys(ctx context.Context) error {
	then := s.now.Add(-48 * time.Hour) // when they were made, and what ended them happened
	scopes := auth.AllScopes().Strings()
	keys := apikey.NewService(apikey.Config{Prefix: keyPrefix, Scopes: scopes}, s.store, func() time.Time { return then })
	for _, k := range []struct {
		to      *string
		expires time.Time
		end     func(managed.Target) error
	}{
		{&s.f.ExpiredKey, then.Add(time.Hour), func(managed.Target) error { return nil }},
		{&s.f.RevokedKey, time.Time{}, func(t managed.Target) error {
			_, err := keys.Revoke(ctx, bySeeder, t)
			return err
		}},
		{&s.f.RotatedKey, time.Time{}, func(t managed.Target) error {
			_, _, err := keys.Rotate(ctx, bySeeder, t, 0)
			return err
		}},
	} {
		spec := apikey.Spec{OrganizationID: s.f.OrganizationID, Name: "dead", Scopes: scopes, ExpiresAt: k.expires}
		key, secret, err := keys.Create(ctx, bySeeder, spec)
		if err != nil {
			return err
		}
		if err := k.end(managed.Target{OrganizationID: key.OrganizationID, Ref: key.ID}); err != nil {
			return err
		}
		*k.to = secret
	}
	var err error
	if s.f.UnknownKey, err = apikey.Generate(keyPrefix); err != nil {
		return err
	}
	s.f.MalformedKey = wrongChecksum(s.f.Key)
	return nil
}

// wrongChecksum changes the last character of a secret.
func wrongChecksum(secret string) string {
	last := "0"
	if strings.HasSuffix(secret, last) {
		last = "1"
	}
	return secret[:len(secret)-1] + last
}
