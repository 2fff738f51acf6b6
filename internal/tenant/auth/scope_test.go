package auth_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/tenant/auth"
)

// The names and their order are those of the specification, section 5.3.
func TestScopesAreThoseOfTheSpecification(t *testing.T) {
	t.Parallel()
	want := []string{
		"read:data", "track:events", "read:links", "write:links", "read:monitors", "write:monitors",
		"read:status_pages", "write:status_pages", "manage:websites", "manage:flags", "manage:config",
	}
	if diff := cmp.Diff(want, auth.AllScopes().Strings()); diff != "" {
		t.Errorf("scopes (-want +got):\n%s", diff)
	}
	for _, row := range auth.Scopes {
		if row.Grants == "" {
			t.Errorf("%s says not what it grants", row.Scope)
		}
	}
}

func TestScopeNamesAreReadAndWritten(t *testing.T) {
	t.Parallel()
	set, err := auth.ParseScopes([]string{"manage:config", "read:data", "read:data"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"read:data", "manage:config"}, set.Strings()); diff != "" {
		t.Errorf("Strings() (-want +got):\n%s", diff)
	}
	for _, row := range auth.Scopes {
		want := row.Scope == auth.ScopeReadData || row.Scope == auth.ScopeManageConfig
		if set.Has(row.Scope) != want || !auth.AllScopes().Has(row.Scope) || auth.ScopeSet(0).Has(row.Scope) {
			t.Errorf("Has(%s) is wrong", row.Scope)
		}
	}
	if auth.AllScopes().Has("read:everything") {
		t.Error("an unknown scope is held")
	}
	_, err = auth.ParseScopes([]string{"read:data", "read:everything"})
	if err == nil || !strings.Contains(err.Error(), `"read:everything"`) ||
		!strings.Contains(err.Error(), "track:events") {
		t.Errorf("ParseScopes() = %v, want the unknown name and the known ones", err)
	}
}
