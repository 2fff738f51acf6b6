package management_test

import (
	"fmt"
	"testing"

	"github.com/millrace/millrace/internal/api/httpkit"
	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/tenant/apikey"
)

func TestWhoOwnsTwoOrganizationsMovesAWebsiteBetweenThem(t *testing.T) {
	t.Parallel()
	d := newHouse(t, httpkit.Site{})
	ann := d.signUp("ann", "")
	bob := d.signUp("bob", "")
	second := do[organization](d, ann.token, "organization/create", `{"name":"Second"}`).ID
	w := do[site](d, ann.token, "websites/create",
		fmt.Sprintf(`{"organizationId":%q,"name":"Shop","domain":"shop.example.com"}`, ann.organization))
	limited := d.keyFor(
		apikey.Spec{OrganizationID: ann.organization, WebsiteID: w.ID, Name: "limited", Scopes: []string{"read:data"}})
	global := d.keyFor(apikey.Spec{OrganizationID: ann.organization, Name: "global", Scopes: []string{"read:data"}})
	move := func(from, to string) string {
		return fmt.Sprintf(`{"organizationId":%q,"id":%q,"toOrganizationId":%q}`, from, w.ID, to)
	}
	// Bob becomes an admin of the first, and owns another one.
	place := do[place](d, bob.token, "organization/acceptInvitation", fmt.Sprintf(`{"token":%q}`,
		*d.invite(ann, "bob@example.com", "admin").Token))
	d.rejected(bob.token, "websites/move", move(place.ID, bob.organization), 403, apierr.Forbidden)
	own := do[site](d, bob.token, "websites/create",
		fmt.Sprintf(`{"organizationId":%q,"name":"Own","domain":"own.example.com"}`, bob.organization))
	d.rejected(bob.token, "websites/move", fmt.Sprintf(`{"organizationId":%q,"id":%q,"toOrganizationId":%q}`,
		bob.organization, own.ID, place.ID), 403, apierr.Forbidden)
	d.rejected(ann.token, "websites/move", move(ann.organization, bob.organization), 404, apierr.NotFound)
	d.rejected(ann.token, "websites/move", move(ann.organization, ann.organization), 400, apierr.Validation)
	d.rejected(global, "websites/move", move(ann.organization, second), 403, apierr.AccessDenied)
	do[struct{}](d, ann.token, "organization/setMemberRole",
		fmt.Sprintf(`{"organizationId":%q,"userId":%q,"role":"owner"}`, ann.organization, bob.id))
	d.rejected(bob.token, "websites/move", move(ann.organization, second), 404, apierr.NotFound)

	got := do[struct {
		Website        site
		RevokedAPIKeys int
	}](d, ann.token, "websites/move", move(ann.organization, second))
	if got.Website.ID != w.ID || got.RevokedAPIKeys != 1 {
		t.Errorf("move: %+v", got)
	}
	if d.accepts(limited) || !d.accepts(global) {
		t.Errorf("the key limited to it is accepted: %t, the other: %t", d.accepts(limited), d.accepts(global))
	}
	ref := func(organizationID string) string {
		return fmt.Sprintf(`{"organizationId":%q,"id":%q}`, organizationID, w.ID)
	}
	d.rejected(ann.token, "websites/get", ref(ann.organization), 404, apierr.NotFound)
	do[site](d, ann.token, "websites/get", ref(second))
	d.rejected(ann.token, "websites/move", move(ann.organization, second), 404, apierr.NotFound)
}
