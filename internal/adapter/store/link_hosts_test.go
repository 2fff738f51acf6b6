package store

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/resource/link"
)

// Links of before it was noted where they lead are noted with the migration, more than fit
// into one transaction, and one that cannot be read holds up no other.
func TestOfLinksOfBeforeItIsNotedWhereTheyLead(t *testing.T) {
	t.Parallel()
	const links = fillAtOnce + 1
	s := storeAt(t, 15)
	for i := range links {
		id, rules := fmt.Sprintf("lnk_%04d", i), "[]"
		if i == links-2 {
			rules = "[1]"
		}
		if _, err := s.pools[0].ExecContext(t.Context(), `INSERT INTO links
			(id, version, slug, slug_key, url, name, enabled, expired_url, max_clicks, password_hash, redirect_status, forward_query,
			created_at, updated_at, created_by, search_text, rules)
			VALUES (?, 1, ?, ?, ?, '', TRUE, '', 0, '', 302, TRUE, 0, 0, '', '', ?)`, id, id, id,
			"https://www.shop.example/"+id, rules); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if err := s.Migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
		var rows []struct {
			Host  string
			Links int
		}
		if err := s.read.NewRaw("SELECT host, count(*) AS links FROM link_hosts GROUP BY host ORDER BY host").Scan(
			t.Context(), &rows); err != nil {
			t.Fatal(err)
		}
		got := map[string]int{}
		for _, r := range rows {
			got[r.Host] = r.Links
		}
		if diff := cmp.Diff(
			map[string]int{"example": links - 1, "shop.example": links - 1, "www.shop.example": links - 1}, got); diff != "" {
			t.Fatalf("hosts (-want +got):\n%s", diff)
		}
	}
	of, err := s.concerned(t.Context(), link.Block{Kind: link.BlockHost, Name: "shop.example"})
	if err != nil || of.links != links-1 {
		t.Errorf("%d links, %v", of.links, err)
	}
}
