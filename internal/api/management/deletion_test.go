package management_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/api/httpkit"
	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/tenant/apikey"
	"github.com/millrace/millrace/internal/tenant/org"
)

func TestAnOwnerDeletesAnOrganizationByItsNameAndRestoresIt(t *testing.T) {
	t.Parallel()
	d := newHouse(t, httpkit.Site{})
	ann := d.signUp("ann", "")
	bob := d.signUp("bob", *d.invite(ann, "bob@example.com", "admin").Token)
	in := func(more string) string { return fmt.Sprintf(`{"organizationId":%q%s}`, ann.organization, more) }
	site := do[site](d, ann.token, "websites/create", in(`,"name":"Shop","domain":"shop.example.com"`))
	secret := d.keyFor(apikey.Spec{OrganizationID: ann.organization, Name: "ci", Scopes: []string{"read:data"}})
	if r := d.call(ann.token, "links/create", in(`,"url":"https://example.com","slug":"sale"`)); !r.Success {
		t.Fatal(r.Text)
	}
	o := do[organization](d, ann.token, "organization/update", in(`,"name":"Acme Ltd"`))

	for body, status := range map[string]int{
		in(``): 400, in(`,"name":"acme ltd"`): 400, in(`,"name":"Acme Ltd "`): 400, in(`,"name":"Acme Ltd","version":1`): 409,
	} {
		if r := d.call(ann.token, "organization/delete", body); r.Status != status {
			t.Errorf("delete %s: %d %s, want %d", body, r.Status, r.Text, status)
		}
	}
	d.rejected(bob.token, "organization/delete", in(`,"name":"Acme Ltd"`), 403, apierr.Forbidden)
	d.rejected(bob.token, "organization/restore", `{"id":"`+ann.organization+`"}`, 404, apierr.NotFound)
	d.rejected(ann.token, "organization/restore", `{"id":"`+ann.organization+`"}`, 409, apierr.Conflict)

	gone := do[struct {
		Members, Websites, APIKeys, Links int
		RestorableUntil                   time.Time
	}](d, ann.token, "organization/delete", in(fmt.Sprintf(`,"name":"Acme Ltd","version":%d`, o.Version)))
	if left := time.Until(gone.RestorableUntil); gone.Members != 2 || gone.Websites != 1 || gone.APIKeys != 1 ||
		gone.Links != 1 || left > org.RestoreFor || left < org.RestoreFor-time.Hour {
		t.Errorf("delete: %+v", gone)
	}
	for _, who := range []person{ann, bob} {
		d.rejected(who.token, "organization/get", in(""), 404, apierr.NotFound)
		d.rejected(who.token, "organization/get", "{}", 403, apierr.AccessDenied)
		if all := do[[]place](d, who.token, "organization/list", `{}`); len(all) != 0 {
			t.Errorf("list: %+v", all)
		}
	}
	if d.accepts(secret) {
		t.Error("its key is accepted")
	}
	d.rejected(bob.token, "organization/restore", `{"id":"`+ann.organization+`"}`, 404, apierr.NotFound)
	if all := do[[]place](d, bob.token, "organization/list", `{"deleted":true}`); len(all) != 0 {
		t.Errorf("an admin may restore %+v", all)
	}
	if all := do[[]place](d, ann.token, "organization/list", `{"deleted":true}`); len(all) != 1 ||
		all[0].ID != ann.organization {
		t.Errorf("an owner may restore %+v", all)
	}

	if back := do[organization](d, ann.token, "organization/restore",
		`{"id":"`+ann.organization+`"}`); back.Name != "Acme Ltd" {
		t.Errorf("restore: %+v", back)
	}
	if !d.accepts(secret) {
		t.Error("its key is not accepted after it was restored")
	}
	do[organization](d, bob.token, "organization/get", "{}")
	do[struct{ ID string }](d, ann.token, "websites/get", in(`,"id":"`+site.ID+`"`))
}
