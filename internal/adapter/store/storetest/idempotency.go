package storetest

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/adapter/store"
	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/tenant/idempotency"
)

func creation() *idempotency.Call {
	return &idempotency.Call{
		Caller: "user:usr_1", Key: "once", Operation: "/rpc/things/create",
		Body: []byte(`{"name":"x"}`), Credential: "the session's token",
	}
}

var idempotencyTests = map[string]func(*testing.T, *Fixture){
	"a call that comes again gets the first answer": func(t *testing.T, f *Fixture) {
		k := idempotency.New(f.Store(), f.Clock.Now)
		claim := begin(t, k, creation())
		if err := claim.Finish(t.Context(), []byte(`{"secret":"s3cret"}`)); err != nil {
			t.Fatal(err)
		}
		f.Clock.Set(Start.Add(idempotency.Keep))
		again, response, err := k.Begin(t.Context(), creation())
		if err != nil || again != nil || string(response) != `{"secret":"s3cret"}` {
			t.Errorf("Begin() = %v, %q, %v", again, response, err)
		}
		f.Clock.Set(Start.Add(idempotency.Keep + time.Millisecond))
		begin(t, k, creation()) // forgotten
		if n := f.count("idempotent_calls"); n != 1 {
			t.Errorf("%d rows, want 1", n)
		}
	},
	"the store holds no answer that can be read": func(t *testing.T, f *Fixture) {
		k := idempotency.New(f.Store(), f.Clock.Now)
		if err := begin(t, k, creation()).Finish(t.Context(), []byte("s3cret")); err != nil {
			t.Fatal(err)
		}
		db := f.database()
		defer db.Close()
		var key, sealed []byte
		if err := db.QueryRowContext(t.Context(), "SELECT key_hash, sealed FROM idempotent_calls").Scan(
			&key, &sealed); err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(sealed, []byte("s3cret")) || bytes.Contains(key, []byte("once")) {
			t.Errorf("stored %q with key %q", sealed, key)
		}
	},
	"a key stands for one call": func(t *testing.T, f *Fixture) {
		k := idempotency.New(f.Store(), f.Clock.Now)
		if err := begin(t, k, creation()).Finish(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		for name, change := range map[string]func(*idempotency.Call){
			"another body":      func(c *idempotency.Call) { c.Body = []byte(`{"name":"y"}`) },
			"another operation": func(c *idempotency.Call) { c.Operation = "/rpc/others/create" },
		} {
			c := creation()
			change(c)
			if _, _, err := k.Begin(t.Context(), c); !apierr.Is(err, apierr.KeyReused) {
				t.Errorf("%s: %v", name, err)
			}
		}
		for name, change := range map[string]func(*idempotency.Call){
			"another caller": func(c *idempotency.Call) { c.Caller = "user:usr_2" },
			"another key":    func(c *idempotency.Call) { c.Key = "twice" },
		} {
			c := creation()
			change(c)
			if claim, _, err := k.Begin(t.Context(), c); claim == nil || err != nil {
				t.Errorf("%s: %v, %v", name, claim, err)
			}
		}
		c := creation()
		c.Credential = "another session"
		if _, _, err := k.Begin(t.Context(), c); !apierr.Is(err, apierr.Conflict) ||
			!strings.Contains(err.Error(), "another credential") {
			t.Errorf("another credential: %v", err)
		}
	},
	"a call that failed may be sent again, one that was cut off after a change may not": func(t *testing.T, f *Fixture) {
		k := idempotency.New(f.Store(), f.Clock.Now)
		if err := begin(t, k, creation()).Abandon(t.Context()); err != nil {
			t.Fatal(err)
		}
		claim := begin(t, k, creation())
		if err := f.changes(claim.Within(t.Context())); err != nil {
			t.Fatal(err)
		}
		if err := claim.AbandonUnchanged(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, _, err := k.Begin(t.Context(), creation()); !apierr.Is(err, apierr.Conflict) ||
			!strings.Contains(err.Error(), "still running") {
			t.Errorf("while it runs: %v", err)
		}
		f.Clock.Set(Start.Add(time.Minute))
		if _, _, err := k.Begin(t.Context(), creation()); !apierr.Is(err, apierr.Conflict) ||
			!strings.Contains(err.Error(), "was interrupted") {
			t.Errorf("when it was lost: %v", err)
		}
		if err := claim.Abandon(t.Context()); err != nil { // it was rejected in the end
			t.Fatal(err)
		}
		begin(t, k, creation())
	},
	"a call that failed before a change was kept may be sent again": func(t *testing.T, f *Fixture) {
		k := idempotency.New(f.Store(), f.Clock.Now)
		claim := begin(t, k, creation())
		failed := errors.New("the connection broke")
		if err := f.Store().Change(claim.Within(t.Context()), somebody,
			func(ctx context.Context, tx *store.Store) error {
				return errors.Join(change(ctx, tx, "org_1"), failed)
			}); !errors.Is(err, failed) {
			t.Fatal(err)
		}
		if err := claim.AbandonUnchanged(t.Context()); err != nil {
			t.Fatal(err)
		}
		begin(t, k, creation())
	},
	"a call that was cut off before it changed anything is made again, and not by both": func(t *testing.T, f *Fixture) {
		k := idempotency.New(f.Store(), f.Clock.Now)
		slow := begin(t, k, creation())
		f.Clock.Set(Start.Add(time.Minute - time.Millisecond))
		if _, _, err := k.Begin(t.Context(), creation()); !apierr.Is(err, apierr.Conflict) {
			t.Errorf("while it may still run: %v", err)
		}
		f.Clock.Set(Start.Add(time.Minute))
		again, were := begin(t, k, creation()), f.count("organizations")
		if err := f.changes(slow.Within(t.Context())); !errors.Is(err, idempotency.ErrReplaced) {
			t.Errorf("the first one goes on: %v", err)
		}
		if n := f.count("organizations"); n != were {
			t.Errorf("it has made %d", n-were)
		}
		if err := f.changes(again.Within(t.Context())); err != nil {
			t.Errorf("the second one: %v", err)
		}
	},
	"a call of a version that notes no changes counts as if it had made one": func(t *testing.T, f *Fixture) {
		k := idempotency.New(f.Store(), f.Clock.Now)
		begin(t, k, creation())
		db := f.database()
		defer db.Close()
		if _, err := db.ExecContext(t.Context(), "INSERT INTO idempotent_calls (caller, key_hash, request_hash, started_at) "+
			"SELECT 'user:usr_2', key_hash, request_hash, started_at FROM idempotent_calls"); err != nil {
			t.Fatal(err)
		}
		f.Clock.Set(Start.Add(time.Hour))
		theirs := creation()
		theirs.Caller = "user:usr_2"
		if _, _, err := k.Begin(t.Context(), theirs); !apierr.Is(err, apierr.Conflict) {
			t.Errorf("Begin() = %v", err)
		}
	},
	"a claim that was taken over changes nothing": func(t *testing.T, f *Fixture) {
		k := idempotency.New(f.Store(), f.Clock.Now)
		old := begin(t, k, creation())
		f.Clock.Set(Start.Add(idempotency.Keep + time.Second))
		fresh := begin(t, k, creation())
		if err := errors.Join(old.Finish(t.Context(), []byte("old")), old.Abandon(t.Context()),
			fresh.Finish(t.Context(), []byte("fresh"))); err != nil {
			t.Fatal(err)
		}
		if _, response, err := k.Begin(t.Context(), creation()); string(response) != "fresh" || err != nil {
			t.Errorf("Begin() = %q, %v", response, err)
		}
	},
	"of calls at the same time one is made": func(t *testing.T, f *Fixture) {
		f.Store()
		var made atomic.Int64
		var wg sync.WaitGroup
		for range 6 {
			k := idempotency.New(f.Open(), f.Clock.Now) // as another process would
			wg.Go(func() {
				claim, _, err := k.Begin(t.Context(), creation())
				switch {
				case claim != nil:
					made.Add(1)
				case !apierr.Is(err, apierr.Conflict):
					t.Errorf("Begin() = %v", err)
				}
			})
		}
		wg.Wait()
		if made.Load() != 1 {
			t.Errorf("%d calls were made", made.Load())
		}
	},
	"a key is printable and not too long": func(t *testing.T, f *Fixture) {
		k := idempotency.New(f.Store(), f.Clock.Now)
		for key, good := range map[string]bool{
			"a": true, strings.Repeat("k", idempotency.MaxKeyLen): true,
			"": false, strings.Repeat("k", idempotency.MaxKeyLen+1): false, "a b": false, "é": false, "a\x00": false,
		} {
			c := creation()
			c.Key = key
			if _, _, err := k.Begin(t.Context(), c); (err == nil) != good || !good && !apierr.Is(err, apierr.Validation) {
				t.Errorf("key %q: %v", key, err)
			}
		}
	},
}

// changes makes an organization.
func (f *Fixture) changes(ctx context.Context) error {
	return f.Store().Change(ctx, somebody,
		func(ctx context.Context, tx *store.Store) error { return change(ctx, tx, "org_1") })
}

func begin(t *testing.T, k *idempotency.Calls, c *idempotency.Call) *idempotency.Claim {
	t.Helper()
	claim, response, err := k.Begin(t.Context(), c)
	if err != nil || claim == nil {
		t.Fatalf("Begin() = %v, %q, %v, want a claim", claim, response, err)
	}
	return claim
}
