package store

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/testkit/services"
)

func TestPostgreSQLHasAsManyConnectionsAsTheSettingsSay(t *testing.T) {
	t.Parallel()
	cfg := config.Default().Store
	cfg.URL, cfg.MaxOpen = config.Secret(services.Postgres(t)), 2
	s, err := open(t.Context(), cfg, Options{Timeout: 2 * time.Minute}) // a slow machine connects slowly
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	err = s.InTx(t.Context(), func(ctx context.Context, _ *Store) error {
		if err := s.Ping(ctx); err != nil {
			return fmt.Errorf("on the second connection: %w", err)
		}
		return s.InTx(ctx, func(ctx context.Context, _ *Store) error {
			ctx, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			if err := s.Ping(ctx); !errors.Is(err, context.DeadlineExceeded) {
				return fmt.Errorf("on a third connection: %w, want %w", err, context.DeadlineExceeded)
			}
			return nil
		})
	})
	if err != nil {
		t.Errorf("with store.max_open 2: %v", err)
	}
}
