package management_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/resource/link"
)

// LinkClicks implements management.ClickCounter.
func (d *fixture) LinkClicks(_ context.Context, ids []string) (map[string]link.Clicks, error) {
	d.clicks.mu.Lock()
	defer d.clicks.mu.Unlock()
	d.clicks.asked = append(d.clicks.asked, ids)
	if d.clicks.away {
		return nil, errors.New("ClickHouse is away")
	}
	return d.clicks.of, nil
}

func TestLinksTellTheirClicksWhereTheyAreAskedFor(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	seen := do[linkData](d, "editor", "links/create", `{"url":"https://example.com","slug":"seen"}`)
	never := do[linkData](d, "editor", "links/create", `{"url":"https://example.com","slug":"never"}`)
	d.clicks.of = map[string]link.Clicks{seen.ID: {Count: 3, Last: time.Date(2026, 3, 29, 10, 0, 0, 0, time.UTC)}}
	const (
		three   = `"clicks":3,"lastClickedAt":"2026-03-29T10:00:00.000Z"`
		none    = `"clicks":0,"lastClickedAt":null`
		unknown = `"clicks":null,"lastClickedAt":null`
	)
	get := func(id, more string) string {
		return d.call("viewer", "links/get", fmt.Sprintf(`{"id":%q%s}`, id, more)).Text
	}
	list := func(more string) string { return d.call("viewer", "links/list", `{`+more+`}`).Text }
	for _, tc := range []struct{ what, got, want string }{
		{"a link", get(seen.ID, `,"withClicks":true`), three},
		{"one never clicked", get(never.ID, `,"withClicks":true`), none},
		{"a list", list(`"withClicks":true`), three},
		{"a list, the other", list(`"withClicks":true`), none},
	} {
		if !strings.Contains(tc.got, tc.want) {
			t.Errorf("%s: %s, want %s", tc.what, tc.got, tc.want)
		}
	}
	if both := []string{never.ID, seen.ID}; !slices.Equal(d.clicks.asked[2], both) {
		t.Errorf("a page asks for %v, want %v at once", d.clicks.asked[2:], both)
	}
	if text := get(seen.ID, "") + list(""); strings.Contains(text, "lastClickedAt") || len(d.clicks.asked) != 4 {
		t.Errorf("clicks are told that nobody asked for, or counted: %s, %v", text, d.clicks.asked)
	}
	d.clicks.away = true
	if text := get(seen.ID, `,"withClicks":true`); !strings.Contains(text, unknown) {
		t.Errorf("while ClickHouse is away: %s", text)
	}
	if text := list(`"withClicks":true`); strings.Count(text, unknown) != 2 {
		t.Errorf("a list while ClickHouse is away: %s", text)
	}
}
