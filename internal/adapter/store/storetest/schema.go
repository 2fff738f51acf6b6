package storetest

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/adapter/store"
	"github.com/millrace/millrace/internal/contract/id"
	"github.com/millrace/millrace/internal/resource/link"
	"github.com/millrace/millrace/internal/tenant/org"
)

var schemaTests = map[string]func(*testing.T, *Fixture){
	"a database without schema is told before and after migrating": func(t *testing.T, f *Fixture) {
		s := f.Open()
		if err := s.Ping(t.Context()); err != nil {
			t.Errorf("Ping() = %v", err)
		}
		if err := s.CheckSchema(t.Context()); !errors.Is(err, store.ErrSchema) {
			t.Errorf("CheckSchema() = %v, want %v", err, store.ErrSchema)
		}
		for range 2 {
			if err := s.Migrate(t.Context()); err != nil {
				t.Fatalf("Migrate() = %v", err)
			}
			if err := s.CheckSchema(t.Context()); err != nil {
				t.Errorf("CheckSchema() = %v", err)
			}
		}
	},
	"many who start at once migrate once": func(t *testing.T, f *Fixture) {
		var wg sync.WaitGroup
		for range 6 {
			s := f.Open()
			wg.Go(func() {
				if err := s.Migrate(t.Context()); err != nil {
					t.Errorf("Migrate() = %v", err)
				}
				if err := s.CheckSchema(t.Context()); err != nil {
					t.Errorf("CheckSchema() = %v", err)
				}
			})
		}
		wg.Wait()
	},
	"a call ends when its context does": func(t *testing.T, f *Fixture) {
		s := f.Store()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := s.Ping(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("Ping() = %v, want %v", err, context.Canceled)
		}
		if _, err := s.Salt(ctx, Start); !errors.Is(err, context.Canceled) {
			t.Errorf("Salt() = %v, want %v", err, context.Canceled)
		}
	},
	// Services look before they write; only an index holds against two writers at once.
	"the database keeps keys, slugs and hostnames apart": func(t *testing.T, f *Fixture) {
		o := f.Organization()
		w := f.Website(o.ID)
		for _, tc := range []struct {
			table, change string
			make          func()
		}{
			{"websites", "client_id = 'c'", func() {}},
			{"flags", "", func() { f.flag(f.flags(), o.ID, "", "a") }},
			{"flags", "", func() { f.execute("DELETE FROM flags"); f.flag(f.flags(), o.ID, w.ID, "b") }},
			{"flag_segments", "", func() { f.segment(f.flags(), o.ID, "", "a") }},
			{"flag_segments", "", func() { f.execute("DELETE FROM flag_segments"); f.segment(f.flags(), o.ID, w.ID, "b") }},
			{"links", "", func() { f.link(f.links(10), o.ID, link.Fields{URL: new("https://example.com")}) }},
			{"link_domains", "status = 'pending'", func() { f.claimDomain(o.ID, "go.example.com", false, true) }},
			{"link_domains", "organization_id = '" + f.Organization().ID + "'", func() {}},
		} {
			tc.make()
			change := "id = 'another'"
			if tc.change != "" {
				change += ", " + tc.change
			}
			f.execute("CREATE TABLE copied AS SELECT * FROM "+tc.table, "UPDATE copied SET "+change)
			db := f.database() // anew, since SQLite's connections remember tables
			_, err := db.ExecContext(t.Context(), "INSERT INTO "+tc.table+" SELECT * FROM copied")
			if err == nil || !strings.Contains(strings.ToLower(err.Error()), "unique constraint") {
				t.Errorf("%s, a copy with %s: %v, want that it is not unique", tc.table, change, err)
			}
			_ = db.Close()
			f.execute("DROP TABLE copied")
		}
	},
	"a closed store says so": func(t *testing.T, f *Fixture) {
		s, err := store.Open(t.Context(), f.URL, store.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if err := s.Ping(t.Context()); err == nil {
			t.Error("Ping() succeeded")
		}
	},
}

var transactionTests = map[string]func(*testing.T, *Fixture){
	"a transaction keeps all or nothing": func(t *testing.T, f *Fixture) {
		s := f.Store()
		o := &org.Organization{ID: "org_1", Name: "Acme", CreatedAt: kept(Start), UpdatedAt: kept(Start)}
		stop := errors.New("stop")
		create := func(err error) func(context.Context, *store.Store) error {
			return func(ctx context.Context, tx *store.Store) error {
				if err := tx.CreateOrganization(ctx, somebody, o); err != nil {
					return err
				}
				if _, err := tx.OrganizationByID(ctx, o.ID); err != nil {
					t.Errorf("inside: %v", err)
				}
				return err
			}
		}
		if err := s.InTx(t.Context(), create(stop)); !errors.Is(err, stop) {
			t.Errorf("InTx() = %v, want %v", err, stop)
		}
		if _, err := s.OrganizationByID(t.Context(), o.ID); !errors.Is(err, org.ErrNotFound) {
			t.Errorf("after a failed transaction: %v, want %v", err, org.ErrNotFound)
		}
		if err := s.InTx(t.Context(), create(nil)); err != nil {
			t.Errorf("InTx() = %v", err)
		}
		if _, err := s.OrganizationByID(t.Context(), o.ID); err != nil {
			t.Errorf("after a transaction: %v", err)
		}
	},
	"a transaction inside a transaction is part of it": func(t *testing.T, f *Fixture) {
		s, o := f.Store(), f.Organization()
		stop := errors.New("stop")
		err := s.InTx(t.Context(), func(ctx context.Context, tx *store.Store) error {
			if err := tx.InTx(ctx, func(ctx context.Context, inner *store.Store) error {
				return inner.PurgeOrganization(ctx, somebody, o.ID, Start)
			}); err != nil {
				return err
			}
			return stop
		})
		if !errors.Is(err, stop) {
			t.Errorf("InTx() = %v, want %v", err, stop)
		}
		if _, err := s.OrganizationByID(t.Context(), o.ID); err != nil {
			t.Errorf("the inner transaction was kept: %v", err)
		}
	},
	"transactions that read before they write wait for each other": func(t *testing.T, f *Fixture) {
		f.Store()
		const each = 10
		var wg sync.WaitGroup
		for range 3 {
			s := f.Open() // as another process would
			wg.Go(func() {
				for range each {
					if err := s.InTx(t.Context(), func(ctx context.Context, tx *store.Store) error {
						if _, err := tx.ListOrganizations(ctx); err != nil {
							return err
						}
						return tx.CreateOrganization(ctx, somebody,
							&org.Organization{ID: id.New("org"), Name: "n", CreatedAt: Start, UpdatedAt: Start})
					}); err != nil {
						t.Errorf("InTx() = %v", err)
					}
				}
			})
		}
		wg.Wait()
		all, err := f.Store().ListOrganizations(t.Context())
		if err != nil || len(all) != 3*each {
			t.Errorf("%d organizations, %v, want %d", len(all), err, 3*each)
		}
	},
	"readers do not wait for a writer": func(t *testing.T, f *Fixture) {
		s, o := f.Store(), f.Organization()
		err := s.InTx(t.Context(), func(ctx context.Context, tx *store.Store) error {
			if err := tx.PurgeOrganization(ctx, somebody, o.ID, Start); err != nil {
				return err
			}
			outside, cancel := context.WithTimeout(ctx, 30*time.Second)
			defer cancel()
			_, err := s.OrganizationByID(outside, o.ID)
			return err
		})
		if err != nil {
			t.Errorf("reading beside a transaction: %v", err)
		}
	},
}
