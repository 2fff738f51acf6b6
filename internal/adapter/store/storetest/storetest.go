// Package storetest is the contract of the metadata store as tests. The same
// bodies run on SQLite and on PostgreSQL; what one dialect does alone is tested
// in package store.
package storetest

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/adapter/store"
	"github.com/millrace/millrace/internal/tenant/apikey"
	"github.com/millrace/millrace/internal/tenant/org"
	"github.com/millrace/millrace/internal/tenant/website"
)

// URL returns the address of an empty database that is the test's alone.
type URL func(tb testing.TB) string

// Copy returns the address of a copy, that is the test's alone, of a database that
// nobody has open.
type Copy func(tb testing.TB, url string) string

// Run runs the contract, each test on a database of its own: those of the schema on an
// empty one, which empty makes, the others on a copy of one that was migrated.
func Run(t *testing.T, empty URL, clone Copy) {
	t.Helper()
	run := func(tests map[string]func(*testing.T, *Fixture), url URL, migrated bool) {
		for name, test := range tests {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				test(t, &Fixture{URL: url(t), Clock: &Clock{now: Start}, tb: t, migrated: migrated})
			})
		}
	}
	run(schemaTests, empty, false)
	template := empty(t)
	if err := migrate(t.Context(), template); err != nil {
		t.Fatal(err)
	}
	for _, tests := range []map[string]func(*testing.T, *Fixture){
		organizationTests, peopleTests, departureTests, deletedOrganizationTests, invitationTests, sessionTests, deviceTests,
		verificationTests, accountDeletionTests, websiteTests, moveTests, keyTests, keyLifeTests, saltTests, secretTests,
		transactionTests, journalTests, idempotencyTests, auditTests, quotaTests, erasureTests, retentionTests, grantTests,
		linkTests, linkEndTests, folderTests, domainTests, domainLinkTests, servingTests, servingChangeTests, blockTests,
		directoryTests, flagTests, flagChangeTests, flagOwnerTests, flagSetTests, flagRenewalTests, flagWalkTests,
	} {
		run(tests, func(tb testing.TB) string { return clone(tb, template) }, true)
	}
}

// Start is the time that a Fixture's clock shows at first: not a full second, so
// that a lost fraction is noticed, and finer than the milliseconds that are kept.
var Start = time.Date(2026, 3, 1, 12, 0, 0, 123_456_789, time.UTC)

// kept is what a store gives back for t.
func kept(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }

// Fixture is a database without rows and a store of it, opened on first use and
// migrated unless the database is, and a clock that the test moves.
type Fixture struct {
	URL   string
	Clock *Clock

	tb       testing.TB
	migrated bool // the database
	store    *store.Store
	websites atomic.Int64 // made by Website
}

// Open opens the database once more, without migrating it.
func (f *Fixture) Open() *store.Store {
	f.tb.Helper()
	s, err := store.Open(f.tb.Context(), f.URL, store.Options{Now: f.Clock.Now, Timeout: time.Minute})
	if err != nil {
		f.tb.Fatal(err)
	}
	f.tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			f.tb.Error(err)
		}
	})
	return s
}

// Store returns the migrated store.
func (f *Fixture) Store() *store.Store {
	f.tb.Helper()
	if f.store == nil {
		f.store = f.Open()
		if f.migrated {
			return f.store
		}
		if err := f.store.Migrate(f.tb.Context()); err != nil {
			f.tb.Fatal(err)
		}
	}
	return f.store
}

// Organization adds an organization.
func (f *Fixture) Organization() *org.Organization {
	f.tb.Helper()
	defer nextMillisecond()
	o, err := org.New("Acme", f.Clock.Now())
	if err == nil {
		err = f.Store().CreateOrganization(f.tb.Context(), somebody, o)
	}
	if err != nil {
		f.tb.Fatal(err)
	}
	return o
}

// nextMillisecond returns when the clock shows another millisecond: ids of one are in no
// order, and what a fixture makes is to be in the order in which it was made.
func nextMillisecond() {
	for begin := time.Now().UnixMilli(); time.Now().UnixMilli() == begin; {
		runtime.Gosched()
	}
}

// User adds a user. The password hash is none, which no store looks at.
func (f *Fixture) User(id, email string) *org.User {
	f.tb.Helper()
	u := &org.User{
		ID: id, Email: email, Name: "Ann", PasswordHash: "$argon2id$…", CreatedAt: f.Clock.Now(),
		PasswordChangedAt: f.Clock.Now(),
	}
	if err := f.Store().CreateUser(f.tb.Context(), somebody, u); err != nil {
		f.tb.Fatal(err)
	}
	return u
}

// Website adds a website of an organization, of a domain that no other has.
func (f *Fixture) Website(organizationID string) *website.Website {
	f.tb.Helper()
	defer nextMillisecond()
	w, err := website.New(organizationID, "Shop", fmt.Sprintf("shop%d.example.com", f.websites.Add(1)), f.Clock.Now())
	if err == nil {
		err = f.Store().CreateWebsite(f.tb.Context(), somebody, w)
	}
	if err != nil {
		f.tb.Fatal(err)
	}
	return w
}

// Key adds a key of an organization, limited to a website unless that is empty.
func (f *Fixture) Key(organizationID, websiteID string) *apikey.Key {
	f.tb.Helper()
	defer nextMillisecond()
	k, _, err := apikey.New("mlr", apikey.Spec{
		OrganizationID: organizationID, WebsiteID: websiteID, Name: "ci", Scopes: []string{"read:data"},
	}, f.Clock.Now())
	if err == nil {
		err = f.Store().CreateKey(f.tb.Context(), somebody, k)
	}
	if err != nil {
		f.tb.Fatal(err)
	}
	return k
}

// Clock is a time that a test moves.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// Now returns the clock's time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Set moves the clock.
func (c *Clock) Set(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = t
}
