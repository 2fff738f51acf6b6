package store

import (
	"context"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/millrace/millrace/internal/resource/link"
)

// What a host has to know of links, and which ones it knows: those that are not deleted, of
// an organization that lives; one whose organization was removed belongs to none. Rows are
// scanned without reflection: a host reads a million of them before it is ready.
const (
	selectServed = "SELECT l.id, l.organization_id, l.domain_id, l.version, l.slug_key, l.url, l.expired_url, " +
		"l.enabled, l.starts_at, l.expires_at, " +
		"l.max_clicks, l.password_hash, l.redirect_status, l.forward_query, l.utm, l.rules, l.variants, l.preview, " +
		"l.secret FROM links AS l WHERE "
	linkServes = "l.deleted_at IS NULL AND l.organization_id IS NOT NULL AND l.organization_id NOT IN (SELECT o.id " +
		"FROM organizations AS o WHERE o.deleted_at IS NOT NULL)"
)

// ServingLinks returns up to limit links that a host answers for, also those that are not
// active now; the newest first, of those made before the one with the given id unless that
// is empty.
func (s *Store) ServingLinks(ctx context.Context, before string, limit int) ([]link.Served, error) {
	ctx, cancel := s.deadline(ctx)
	defer cancel()
	where, args := linkServes, []any{limit}
	if before != "" {
		where, args = "l.id < ? AND "+linkServes, []any{before, limit}
	}
	rows, err := s.read.QueryContext(ctx, selectServed+where+" ORDER BY l.id DESC LIMIT ?", args...)
	if err != nil {
		return nil, fmt.Errorf("reading links to serve: %w", err)
	}
	defer func() { _ = rows.Close() }()
	found := make([]link.Served, 0, limit)
	var row servedRow
	for rows.Next() {
		if err := row.scan(rows); err != nil {
			return nil, err
		}
		found = append(found, row.Served)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("reading links to serve: %w", err)
	}
	return found, nil
}

// ServingLink returns the link that a host answers for under a key, as link.KeyOn says it, or
// link.ErrNotFound.
func (s *Store) ServingLink(ctx context.Context, key string) (*link.Served, error) {
	ctx, cancel := s.deadline(ctx)
	defer cancel()
	rows, err := s.read.QueryContext(ctx, selectServed+"l.slug_key = ? AND "+linkServes, key)
	if err != nil {
		return nil, fmt.Errorf("reading a link to serve: %w", err)
	}
	defer func() { _ = rows.Close() }()
	if !rows.Next() {
		if err := rows.Err(); err != nil {
			return nil, fmt.Errorf("reading a link to serve: %w", err)
		}
		return nil, link.ErrNotFound
	}
	var row servedRow
	if err := row.scan(rows); err != nil {
		return nil, err
	}
	l := row.Served
	return &l, nil
}

// servedRow is a row of selectServed, and where its columns are read to. It is used for one
// row after the other.
type servedRow struct {
	link.Served

	starts, expires                       instant
	utm, rules, variants, preview, secret sql.RawBytes
	columns                               []any
}

// scan reads the row that the result stands on.
func (r *servedRow) scan(rows *sql.Rows) error {
	r.Targets = nil
	if r.columns == nil {
		r.columns = []any{
			&r.ID, &r.OrganizationID, &r.DomainID, &r.Version, &r.SlugKey, &r.URL, &r.ExpiredURL, &r.Enabled, &r.starts,
			&r.expires, &r.MaxClicks, &r.PasswordHash, &r.RedirectStatus, &r.ForwardQuery, &r.utm, &r.rules, &r.variants,
			&r.preview, &r.secret,
		}
	}
	if err := rows.Scan(r.columns...); err != nil {
		return fmt.Errorf("reading a link to serve: %w", err)
	}
	r.StartsAt, r.ExpiresAt = r.starts.Time, r.expires.Time
	var err error
	if r.Secret, err = hex.AppendDecode(make([]byte, 0, hex.DecodedLen(len(r.secret))), r.secret); err != nil {
		return fmt.Errorf("reading the secret of link %s: %w", r.ID, err)
	}
	if err := r.decode(); err != nil {
		return fmt.Errorf("reading link %s: %w", r.ID, err)
	}
	return nil
}

// decode reads the columns of JSON, which are empty for almost all links.
func (r *servedRow) decode() error {
	r.UTM, r.Preview = link.UTM{}, link.Preview{}
	if len(r.utm) > len("{}") {
		if err := json.Unmarshal(r.utm, &r.UTM); err != nil {
			return err
		}
	}
	if len(r.preview) > len("{}") {
		if err := json.Unmarshal(r.preview, &r.Preview); err != nil {
			return err
		}
	}
	if len(r.rules) <= len("[]") && len(r.variants) <= len("[]") {
		return nil
	}
	l := link.Link{URL: r.URL, Secret: r.Secret}
	if err := errors.Join(json.Unmarshal(r.rules, &l.Rules), json.Unmarshal(r.variants, &l.Variants)); err != nil {
		return err
	}
	if t := link.NewTargets(&l); !t.Single() {
		r.Targets = t
	}
	return nil
}

// UseLink takes one of the maxClicks, at least 1, that a link has, and reports whether there
// was one left: exactly, however many processes ask. A link that was removed is
// link.ErrNotFound.
func (s *Store) UseLink(ctx context.Context, id string, maxClicks int64) (ok bool, err error) {
	ctx, cancel := s.deadline(ctx)
	defer cancel()
	res, err := s.write.NewRaw(
		"INSERT INTO link_uses (link_id, used) SELECT ?, 1 WHERE ? > 0 ON CONFLICT (link_id) DO UPDATE "+
			"SET used = link_uses.used + 1 WHERE link_uses.used < ?", id, maxClicks, maxClicks).Exec(ctx)
	if s.dialect.violation(err) == foreignKeyViolation {
		return false, link.ErrNotFound
	}
	var n int64
	if err == nil {
		n, err = res.RowsAffected()
	}
	if err != nil {
		return false, fmt.Errorf("counting a click of link %s: %w", id, err)
	}
	return n > 0, nil
}
