package management_test

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/millrace/millrace/internal/contract/apierr"
)

type departure struct {
	APIKeys        []struct{ ID, Status string }
	APIKeysTotal   int
	APIKeysRevoked bool
}

// made makes a key as who and returns its id and its secret.
func (d *fixture) made(who string) (id, secret string) {
	d.t.Helper()
	k := do[apiKey](d, who, "apiKeys/create", `{"name":"of `+who+`","scopes":["read:data"]}`)
	return k.ID, k.Secret
}

func TestRemovingAMemberNamesTheirKeysAndEndsThemWhereThatIsAsked(t *testing.T) {
	t.Parallel()
	for _, revoke := range []bool{false, true} {
		t.Run(strconv.FormatBool(revoke), func(t *testing.T) {
			t.Parallel()
			d := newFixture(t)
			id, secret := d.made("admin")
			_, others := d.made("owner")
			got := do[departure](d, "owner", "organization/removeMember",
				fmt.Sprintf(`{"userId":"usr_admin","revokeKeys":%t}`, revoke))
			status := map[bool]string{false: "active", true: "revoked"}[revoke]
			if got.APIKeysTotal != 1 || got.APIKeysRevoked != revoke || len(got.APIKeys) != 1 || got.APIKeys[0].ID != id ||
				got.APIKeys[0].Status != status {
				t.Errorf("removeMember: %+v", got)
			}
			if d.accepts(secret) == revoke || !d.accepts(others) {
				t.Errorf("the key is accepted: %t, another's: %t", d.accepts(secret), d.accepts(others))
			}
		})
	}
}

func TestLeavingNamesOnesOwnKeysAndOnlyWhoManagesKeysEndsThem(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	id, secret := d.made("admin")
	for _, who := range []string{"editor", "viewer"} {
		d.rejected(who, "organization/leave", `{"revokeKeys":true}`, 403, apierr.Forbidden)
		if got := do[departure](d, who, "organization/leave", `{}`); got.APIKeysTotal != 0 || got.APIKeys == nil {
			t.Errorf("leave by the %s: %+v", who, got)
		}
	}
	got := do[departure](d, "admin", "organization/leave", `{"revokeKeys":true}`)
	if !got.APIKeysRevoked || len(got.APIKeys) != 1 || got.APIKeys[0].ID != id || d.accepts(secret) {
		t.Errorf("leave by the admin: %+v", got)
	}
}
