package store

import (
	"path/filepath"
	"testing"
)

// BenchmarkServingLinks reads a million links as a host does that is filled.
func BenchmarkServingLinks(b *testing.B) {
	const links, page = 1_000_000, 5000
	s, err := Open(b.Context(), "sqlite:"+filepath.Join(b.TempDir(), "m.db"), Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	if err := s.Migrate(b.Context()); err != nil {
		b.Fatal(err)
	}
	if _, err := s.pools[0].ExecContext(b.Context(),
		`INSERT INTO organizations (id, name, version, created_at, updated_at) VALUES ('org_0', 'n', 1, 0, 0)`); err != nil {
		b.Fatal(err)
	}
	if _, err := s.pools[0].ExecContext(b.Context(), `INSERT INTO links
		(id, organization_id, version, slug, slug_key, url, name, enabled, expired_url, max_clicks, password_hash, redirect_status,
		forward_query, created_at, updated_at, created_by, search_text, secret)
		WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
		SELECT printf('lnk_%026d', i), 'org_0', 1, printf('s%07d', i), printf('s%07d', i), printf('https://www.example.com/a/page/that/is/sixty/bytes/%09d', i),
		'', 1, '', 0, '', 302, 1, 0, 0, '', printf('s%07d https://www.example.com/a/page/that/is/sixty/bytes/%09d', i, i), printf('%032d', i) FROM n`, links); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		n, before := 0, ""
		for {
			found, err := s.ServingLinks(b.Context(), before, page)
			if err != nil {
				b.Fatal(err)
			}
			if n += len(found); len(found) < page {
				break
			}
			before = found[page-1].ID
		}
		if n != links {
			b.Fatalf("%d links", n)
		}
	}
}
