package store

import (
	"bytes"
	"testing"
)

// Links of before variants can have some: each gets a secret of its own.
func TestLinksOfBeforeGetASecretOfTheirOwn(t *testing.T) {
	t.Parallel()
	s := storeAt(t, 11)
	ids := []string{"lnk_a", "lnk_b"}
	for _, id := range ids {
		if _, err := s.pools[0].ExecContext(t.Context(), `INSERT INTO links
			(id, version, slug, slug_key, url, name, enabled, expired_url, max_clicks, password_hash, redirect_status, forward_query,
			created_at, updated_at, created_by, search_text)
			VALUES (?, 1, ?, ?, 'https://example.com', '', TRUE, '', 0, '', 302, TRUE, 0, 0, '', '')`, id, id, id); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	var secrets [][]byte
	for _, id := range ids {
		l, err := s.LinkByID(t.Context(), id)
		if err != nil || len(l.Secret) != 16 || l.Rules != nil || l.Variants != nil {
			t.Fatalf("LinkByID(%s) = %+v, %v", id, l, err)
		}
		secrets = append(secrets, l.Secret)
	}
	if bytes.Equal(secrets[0], secrets[1]) {
		t.Error("two links have one secret")
	}
}
