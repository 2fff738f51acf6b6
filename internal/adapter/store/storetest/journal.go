package storetest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/adapter/store"
	"github.com/millrace/millrace/internal/platform/control"
	"github.com/millrace/millrace/internal/platform/lease"
	"github.com/millrace/millrace/internal/tenant/audit"
	"github.com/millrace/millrace/internal/tenant/org"
)

var (
	errStop  = errors.New("stop")
	somebody = audit.By{
		Actor: audit.Actor{Type: audit.User, ID: "usr_1", Name: "ann@example.com"},
		IP:    "192.0.2.1", UserAgent: awkward, RequestID: "req_1",
	}
)

// change makes an organization, an entry about it and its change event, as one.
func change(ctx context.Context, tx *store.Store, id string) error {
	o := &org.Organization{ID: id, Name: "n", CreatedAt: Start, UpdatedAt: Start}
	if err := tx.CreateOrganization(ctx, somebody, o); err != nil {
		return err
	}
	return tx.Announce(ctx, control.Change{Kind: control.Organization, ID: id, OrganizationID: id, Version: 1, At: Start})
}

// count asks the database itself, past the store.
func (f *Fixture) count(from string) int {
	f.tb.Helper()
	db := f.database()
	defer db.Close()
	n := 0
	if err := db.QueryRowContext(f.tb.Context(), "SELECT count(*) FROM "+from).Scan(&n); err != nil {
		f.tb.Fatal(err)
	}
	return n
}

func (f *Fixture) database() *sql.DB {
	f.tb.Helper()
	return open(f.tb, f.URL)
}

var journalTests = map[string]func(*testing.T, *Fixture){
	"a change, its entry and its change events are kept or lost together": func(t *testing.T, f *Fixture) {
		s := f.Store()
		for i, end := range []error{errStop, nil} {
			err := s.InTx(t.Context(), func(ctx context.Context, tx *store.Store) error {
				if err := change(ctx, tx, "org_1"); err != nil {
					return err
				}
				if pending, err := s.Pending(t.Context(), 10); err != nil || len(pending) != 0 {
					t.Errorf("before the commit %d change events are pending, %v", len(pending), err)
				}
				return end
			})
			if !errors.Is(err, end) {
				t.Fatalf("InTx() = %v, want %v", err, end)
			}
			for _, table := range []string{"organizations", "audit_entries", "outbox"} {
				if n := f.count(table); n != i {
					t.Errorf("after %v: %d rows of %s, want %d", end, n, table, i)
				}
			}
		}
	},
	"changes of many writers are each kept or lost whole": func(t *testing.T, f *Fixture) {
		f.Store()
		const writers, each = 4, 12
		var wg sync.WaitGroup
		for w := range writers {
			s := f.Open() // as another process would
			wg.Go(func() {
				for i := range each {
					id := fmt.Sprintf("org_%d_%d", w, i)
					err := s.InTx(t.Context(), func(ctx context.Context, tx *store.Store) error {
						if err := change(ctx, tx, id); err != nil || i%3 == 0 {
							return errors.Join(err, errStop)
						}
						return nil
					})
					if want := i%3 == 0; errors.Is(err, errStop) != want || (!want && err != nil) {
						t.Errorf("InTx() of %s = %v", id, err)
					}
				}
			})
		}
		wg.Wait()
		const want = writers * each * 2 / 3
		both := "organizations o JOIN audit_entries a ON a.resource_id = o.id JOIN outbox n ON n.id = o.id"
		for _, table := range []string{"organizations", "audit_entries", "outbox", both} {
			if n := f.count(table); n != want {
				t.Errorf("%d rows of %s, want %d", n, table, want)
			}
		}
	},
	"an entry and a change event without a transaction are refused": func(t *testing.T, f *Fixture) {
		s := f.Store()
		if err := s.Record(t.Context(), audit.New(somebody, "org_1", "x", "made", Start)); err == nil {
			t.Error("Record() outside a transaction succeeded")
		}
		if err := s.Announce(t.Context(), control.Change{Kind: control.Key}); err == nil {
			t.Error("Announce() outside a transaction succeeded")
		}
	},
	"an entry cannot be changed or removed": func(t *testing.T, f *Fixture) {
		s := f.Store()
		if err := s.InTx(t.Context(),
			func(ctx context.Context, tx *store.Store) error { return change(ctx, tx, "org_1") }); err != nil {
			t.Fatal(err)
		}
		db := f.database()
		defer db.Close()
		for _, statement := range []string{"UPDATE audit_entries SET actor_id = 'x'", "DELETE FROM audit_entries"} {
			if _, err := db.ExecContext(t.Context(), statement); err == nil || !strings.Contains(err.Error(), "never changed") {
				t.Errorf("%s: %v", statement, err)
			}
		}
		if n := f.count("audit_entries WHERE actor_id = 'usr_1'"); n != 1 {
			t.Errorf("%d entries are as they were, want 1", n)
		}
	},
	"the outbox gives change events in their order until they are published": func(t *testing.T, f *Fixture) {
		s := f.Store()
		want := []control.Change{
			{
				Kind: control.Key, ID: awkward, OrganizationID: "org_1", Version: 1 << 60, Refs: []string{"a", awkward},
				At: kept(Start),
			},
			{Kind: control.Quota, ID: "org_1", State: `{"over": "` + "'" + `"}`, Gone: true, At: kept(Start.Add(-time.Hour))},
			{Kind: "of the future", ID: "x", At: kept(Start.AddDate(200, 0, 0))},
		}
		for i := range want {
			if err := s.InTx(t.Context(),
				func(ctx context.Context, tx *store.Store) error { return tx.Announce(ctx, want[i]) }); err != nil {
				t.Fatal(err)
			}
		}
		pending := func(limit int, want ...control.Change) []int64 {
			t.Helper()
			got, err := s.Pending(t.Context(), limit)
			var changes []control.Change
			var seqs []int64
			for _, p := range got {
				changes, seqs = append(changes, p.Change), append(seqs, p.Seq)
			}
			if diff := cmp.Diff(want, changes); diff != "" || err != nil {
				t.Errorf("Pending(%d): %v (-want +got):\n%s", limit, err, diff)
			}
			return seqs
		}
		pending(2, want[:2]...)
		seqs := pending(10, want...)
		for _, published := range [][]int64{nil, seqs[1:2], seqs[:1], seqs[:2]} { // also again, by another relay
			if err := s.Relayed(t.Context(), published); err != nil {
				t.Errorf("Relayed(%v) = %v", published, err)
			}
		}
		pending(10, want[2])
		if h, err := s.ControlHead(t.Context()); err != nil || h != (control.Head{Epoch: 1, Relayed: seqs[1]}) {
			t.Errorf("ControlHead() = %+v, %v, want epoch 1 and %d", h, err, seqs[1])
		}
	},
	"an epoch only grows": func(t *testing.T, f *Fixture) {
		s := f.Store()
		for _, tc := range []struct{ raise, want int64 }{{1, 1}, {5, 5}, {3, 5}} {
			if err := s.RaiseEpoch(t.Context(), tc.raise); err != nil {
				t.Fatal(err)
			}
			if h, err := s.ControlHead(t.Context()); err != nil || h.Epoch != tc.want {
				t.Errorf("after RaiseEpoch(%d): %+v, %v, want epoch %d", tc.raise, h, err, tc.want)
			}
		}
	},
	"a lease goes to one of those who saw it free": func(t *testing.T, f *Fixture) {
		s := f.Store()
		var zero lease.State
		for round := range 3 { // never held, held, given back
			seen, err := s.Lease(t.Context(), "work")
			if err != nil || (round == 0) != (seen == zero) {
				t.Fatalf("Lease() = %+v, %v", seen, err)
			}
			var mu sync.Mutex
			var wg sync.WaitGroup
			var got []string
			for i := range 5 {
				other := f.Open()
				wg.Go(func() {
					holder := fmt.Sprintf("p%d", i)
					ok, err := other.TakeLease(t.Context(), "work", holder, seen)
					mu.Lock()
					defer mu.Unlock()
					if err != nil {
						t.Error(err)
					}
					if ok {
						got = append(got, holder)
					}
				})
			}
			wg.Wait()
			now, err := s.Lease(t.Context(), "work")
			if len(got) != 1 || err != nil || now != (lease.State{Holder: got[0], Count: seen.Count + 1}) {
				t.Fatalf("it went to %v; Lease() = %+v, %v", got, now, err)
			}
			if round == 1 {
				if ok, err := s.TakeLease(t.Context(), "work", "", now); !ok || err != nil {
					t.Errorf("giving it back: %t, %v", ok, err)
				}
			}
		}
		if other, err := s.Lease(t.Context(), "other work"); err != nil || other != zero {
			t.Errorf("another lease = %+v, %v", other, err)
		}
	},
}
