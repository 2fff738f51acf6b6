package store_test

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/apikey"
	"github.com/millrace/millrace/internal/store"
	"github.com/millrace/millrace/internal/testkit"
	"github.com/millrace/millrace/internal/testkit/services"
)

func TestPostgreSQLStoreWorksAgainWhenItsServerIsBack(t *testing.T) {
	t.Parallel()
	server := services.Own(t, services.KindPostgres)
	const password = "S3cret"
	s, err := store.Open(t.Context(), withPassword(t, server.Database(t), password), store.Options{Timeout: 2 * time.Second})
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
		case strings.Contains(err.Error(), password):
			t.Fatalf("KeyByHash() = %q: it shows the password", err)
		}
	}
	server.Start(t)
	testkit.Eventually(t, 20*time.Second, func() error {
		if err := unknown(); !errors.Is(err, apikey.ErrNotFound) {
			return err
		}
		return nil
	})
}

func TestPostgreSQLBoundsItsConnectionsAndStatements(t *testing.T) {
	t.Parallel()
	const timeout = 500 * time.Millisecond
	s, err := store.Open(t.Context(), services.Postgres(t), store.Options{MaxConns: 1, Timeout: timeout})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	start := time.Now()
	err = s.InTx(t.Context(), func(_ context.Context, _ *store.Store) error {
		return s.Ping(context.WithoutCancel(t.Context())) // the one connection is taken
	})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Ping() beside a transaction on the one connection = %v, want %v", err, context.DeadlineExceeded)
	}
	if waited := time.Since(start); waited > 10*timeout {
		t.Errorf("it waited %s, want about %s", waited, timeout)
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
