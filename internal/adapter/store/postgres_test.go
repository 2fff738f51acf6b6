package store_test

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/millrace/millrace/internal/adapter/store"
	"github.com/millrace/millrace/internal/tenant/apikey"
	"github.com/millrace/millrace/internal/testkit"
	"github.com/millrace/millrace/internal/testkit/services"
)

func TestPostgreSQLStoreWorksAgainWhenItsServerIsBack(t *testing.T) {
	t.Parallel()
	server := services.Own(t, services.KindPostgres)
	const password = "S3cret"
	s, err := store.Open(t.Context(), withPassword(t, server.Database(t), password),
		store.Options{Timeout: 30 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	unknown := func() error {
		_, err := s.KeyByHash(t.Context(), [apikey.HashLen]byte{1})
		return err
	}
	if err := unknown(); !errors.Is(err, apikey.ErrNotFound) {
		t.Fatalf("KeyByHash() = %v, want %v", err, apikey.ErrNotFound)
	}
	server.Kill(t)
	for range 20 { // more than the pool holds
		switch err := unknown(); {
		case err == nil, errors.Is(err, apikey.ErrNotFound):
			t.Fatalf("KeyByHash() without a server = %v", err)
		case !store.Unavailable(err):
			t.Errorf("Unavailable(%v) = false", err)
		case strings.Contains(err.Error(), password):
			t.Fatalf("KeyByHash() = %q: it shows the password", err)
		}
	}
	server.Start(t)
	testkit.Eventually(t, 2*time.Minute, func() error {
		if err := unknown(); !errors.Is(err, apikey.ErrNotFound) {
			return err
		}
		return nil
	})
}

// openSoon opens a store of little patience, which a slow machine can make fail.
func openSoon(t *testing.T, url string, o store.Options) (s *store.Store) {
	t.Helper()
	testkit.Eventually(t, time.Minute, func() (err error) {
		s, err = store.Open(t.Context(), url, o)
		return err
	})
	return s
}

func TestPostgreSQLBoundsItsConnections(t *testing.T) {
	t.Parallel()
	s := openSoon(t, services.Postgres(t), store.Options{MaxConns: 1, Timeout: 2 * time.Second})
	defer s.Close()
	err := s.InTx(t.Context(), func(ctx context.Context, _ *store.Store) error {
		return s.Ping(ctx) // the one connection is taken for as long as ctx lasts
	})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Ping() beside a transaction on the one connection = %v, want %v", err, context.DeadlineExceeded)
	}
}

func TestPostgreSQLBoundsItsStatements(t *testing.T) {
	t.Parallel()
	url := services.Postgres(t)
	s := openSoon(t, url, store.Options{Timeout: 500 * time.Millisecond})
	defer s.Close()
	if err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	locked, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer locked.Close(context.WithoutCancel(t.Context()))
	if _, err := locked.Exec(t.Context(), "BEGIN; LOCK TABLE api_keys IN ACCESS EXCLUSIVE MODE"); err != nil {
		t.Fatal(err)
	}
	answered := make(chan error, 1)
	go func() {
		_, err := s.KeyByHash(context.WithoutCancel(t.Context()), [apikey.HashLen]byte{1})
		answered <- err
	}()
	select {
	case err := <-answered:
		if !store.Unavailable(err) {
			t.Errorf("KeyByHash() on a locked table = %v, want that it gave up", err)
		}
	case <-time.After(time.Minute):
		t.Error("KeyByHash() waits for a locked table without end")
	}
}

func withPassword(t *testing.T, text, password string) string {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword(u.User.Username(), password)
	return u.String()
}
