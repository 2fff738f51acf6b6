package store

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"

	"github.com/uptrace/bun"
)

// secretLen is the length of a secret, in bytes.
const secretLen = 32

type secretRow struct {
	bun.BaseModel `bun:"table:secrets,alias:k"`

	Name   string `bun:"name,pk"`
	Secret []byte `bun:"secret"`
}

// ConfirmKey returns the key that signs confirmations of MCP clients.
func (s *Store) ConfirmKey(ctx context.Context) ([]byte, error) { return s.Secret(ctx, "mcp.confirm") }

// Secret returns the 32 random bytes of a name, the same to every process. The first call creates
// them.
func (s *Store) Secret(ctx context.Context, name string) ([]byte, error) {
	ctx, cancel := s.deadline(ctx)
	defer cancel()
	secret, err := s.secret(ctx, name)
	if !errors.Is(err, sql.ErrNoRows) {
		return secret, err
	}
	row := secretRow{Name: name, Secret: make([]byte, secretLen)}
	rand.Read(row.Secret)
	if _, err := s.write.NewInsert().Model(&row).On("CONFLICT (name) DO NOTHING").Exec(ctx); err != nil {
		return nil, fmt.Errorf("creating the secret %s: %w", name, err)
	}
	return s.secret(ctx, name)
}

func (s *Store) secret(ctx context.Context, name string) ([]byte, error) {
	var row secretRow
	if err := s.read.NewSelect().Model(&row).Where("k.name = ?", name).Scan(ctx); err != nil {
		return nil, fmt.Errorf("reading the secret %s: %w", name, err)
	}
	return row.Secret, nil
}
