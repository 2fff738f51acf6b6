package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	_ "modernc.org/sqlite" // database/sql driver "sqlite"

	"github.com/millrace/millrace/internal/adapter/store"
	"github.com/millrace/millrace/internal/tenant/audit"
	"github.com/millrace/millrace/internal/tenant/org"
)

// linkDigits is how many digits the id of a link ends with.
const linkDigits = 12

func linkIDOf(link int) string { return fmt.Sprintf("lnk_01K00000000000%0*d", linkDigits, link) }

// numberOf is the link of an id.
func numberOf(id string) int {
	n, err := strconv.Atoi(id[len(id)-linkDigits:])
	if err != nil {
		return 0
	}
	return n
}

// fillLinks makes links as one who had created them one by one would have left them.
const fillLinks = `WITH RECURSIVE every (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM every WHERE n + 1 < ?)
INSERT INTO links (id, organization_id, version, slug, slug_key, url, name, enabled, expired_url, max_clicks, password_hash, redirect_status,
    forward_query, secret, created_at, updated_at, created_by, search_text)
SELECT printf('lnk_01K00000000000%012d', n), ?, 1, printf('k%07d', n), printf('k%07d', n), printf('https://shop.example.com/products/k%07d', n), '', 1, '', 0, '', 302,
    1, lower(hex(randomblob(16))), 1767225600000 + n, 1767225600000 + n, 'bench', printf('k%07d', n) FROM every`

// linkStore returns the URL of a SQLite store of so many links, which it makes once for each
// version of the schema.
func linkStore(ctx context.Context, links int) (url string, err error) {
	file := filepath.Join(os.TempDir(), fmt.Sprintf("millrace-bench-links-%d.db", links))
	url = "sqlite:" + file
	if n, err := countLinks(ctx, file); err == nil && n == links && checkSchema(ctx, url) == nil {
		return url, nil
	}
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if err := os.Remove(file + suffix); err != nil && !errors.Is(err, os.ErrNotExist) {
			return "", err
		}
	}
	owner, err := makeOwner(ctx, url)
	if err != nil {
		return "", err
	}
	db, err := sql.Open("sqlite", file)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if _, err := db.ExecContext(ctx, fillLinks, links, owner); err != nil {
		return "", fmt.Errorf("making %d links: %w", links, err)
	}
	return url, nil
}

// checkSchema is an error for a store that this program cannot work with.
func checkSchema(ctx context.Context, url string) error {
	db, err := store.Open(ctx, url, store.Options{})
	if err != nil {
		return err
	}
	defer db.Close()
	return db.CheckSchema(ctx)
}

// countLinks is an error for a file that is no such store.
func countLinks(ctx context.Context, file string) (n int, err error) {
	if _, err := os.Stat(file); err != nil {
		return 0, err
	}
	db, err := sql.Open("sqlite", file)
	if err != nil {
		return 0, err
	}
	defer db.Close()
	err = db.QueryRowContext(ctx, "SELECT count(*) FROM links").Scan(&n)
	return n, err
}

// makeOwner makes the store, and the organization that has the links.
func makeOwner(ctx context.Context, url string) (id string, err error) {
	db, err := store.Open(ctx, url, store.Options{})
	if err != nil {
		return "", err
	}
	defer db.Close()
	if err := db.Migrate(ctx); err != nil {
		return "", err
	}
	o, err := org.New("Bench", time.Now())
	if err != nil {
		return "", err
	}
	return o.ID, db.CreateOrganization(ctx, audit.BySystem(), o)
}
