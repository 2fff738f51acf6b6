package management_test

import (
	"fmt"
	"testing"

	"github.com/millrace/millrace/internal/api/httpkit"
	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/tenant/audit"
	"github.com/millrace/millrace/internal/tenant/org"
)

type place struct{ ID, Name, Role string }

func TestAPersonMakesAnotherOrganizationAndSwitchesBetweenThem(t *testing.T) {
	t.Parallel()
	d := newHouse(t, httpkit.Site{})
	ann := d.signUp("ann", "")
	made := do[struct {
		ID, Slug, CreatedBy string
		Defaults            struct{ Timezone string }
	}](d, ann.token, "organization/create", `{"name":"Second","slug":"second","defaults":{"timezone":"Europe/Berlin"}}`)
	if made.Slug != "second" || made.CreatedBy != ann.id || made.Defaults.Timezone != "Europe/Berlin" {
		t.Errorf("create: %+v", made)
	}
	all := do[[]place](d, ann.token, "organization/list", `{}`)
	if len(all) != 2 || all[0].ID != ann.organization || all[1] != (place{made.ID, "Second", "owner"}) {
		t.Errorf("list: %+v", all)
	}
	d.rejected(ann.token, "organization/get", `{}`, 400, apierr.Validation)
	for _, id := range []string{ann.organization, made.ID} {
		if o := do[organization](d, ann.token, "organization/get", fmt.Sprintf(`{"organizationId":%q}`, id)); o.ID != id {
			t.Errorf("get: %+v", o)
		}
	}
	d.rejected(ann.token, "organization/create", `{"name":"Third","slug":"second"}`, 409, apierr.Conflict)
	d.rejected(ann.token, "organization/create", `{"name":"Third","defaults":{"timezone":"Mars"}}`, 400, apierr.Validation)
	if all := do[[]place](d, ann.token, "organization/list", `{}`); len(all) != 2 {
		t.Errorf("after refusals: %+v", all)
	}
}

func TestWhereNotEverybodyMaySignUpOnlyOwnersMakeOrganizations(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	for _, who := range []string{"admin", "editor", "viewer"} {
		d.rejected(who, "organization/create", `{"name":"Mine"}`, 403, apierr.Forbidden)
	}
	d.rejected(d.key("", "manage:config"), "organization/create", `{"name":"Mine"}`, 403, apierr.AccessDenied)
	do[organization](d, "owner", "organization/create", `{"name":"Mine"}`)
}

func TestAPersonMakesAsManyOrganizationsAsTheyMayBelongTo(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	for i := 1; i < org.MaxMemberships; i++ {
		do[organization](d, "owner", "organization/create", `{"name":"More"}`)
	}
	d.rejected("owner", "organization/create", `{"name":"Too many"}`, 409, apierr.Conflict)
}

func TestAnOwnerHandsTheOrganizationOver(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	for body, want := range map[string]int{
		`{"userId":"usr_owner"}`:                400, // oneself
		`{"userId":"usr_none"}`:                 404,
		`{"userId":"usr_stranger"}`:             404,
		`{"userId":"usr_admin","role":"owner"}`: 400,
		`{}`:                                    400,
	} {
		if r := d.call("owner", "organization/transferOwnership", body); r.Status != want {
			t.Errorf("%s: %d %s, want %d", body, r.Status, r.Text, want)
		}
	}
	for _, who := range []string{"admin", "editor", "viewer"} {
		d.rejected(who, "organization/transferOwnership", `{"userId":"usr_admin"}`, 403, apierr.Forbidden)
	}
	got := do[struct{ Owner, FormerOwner struct{ UserID, Role string } }](d, "owner", "organization/transferOwnership",
		`{"userId":"usr_editor"}`)
	if got.Owner.UserID != "usr_editor" || got.Owner.Role != "owner" || got.FormerOwner.UserID != "usr_owner" ||
		got.FormerOwner.Role != "admin" {
		t.Errorf("transferOwnership: %+v", got)
	}
	people, err := d.db.ListPeople(t.Context(), d.own.ID, "", 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range people {
		if want := map[string]org.Role{
			"usr_editor": org.RoleOwner, "usr_owner": org.RoleAdmin, "usr_admin": org.RoleAdmin, "usr_viewer": org.RoleViewer,
		}[p.UserID]; p.Role != want {
			t.Errorf("%s is %s, want %s", p.UserID, p.Role, want)
		}
	}
	entries, err := d.db.AuditEntries(t.Context(),
		audit.Filter{OrganizationID: d.own.ID, Action: "organization.ownershipTransferred"})
	if err != nil || len(entries) != 1 ||
		entries[0].Changes["owner"] != (audit.Change{From: "usr_owner", To: "usr_editor"}) {
		t.Errorf("entries %+v, %v", entries, err)
	}
}

// An ownership is handed over whole: the last owner may do it, and who does not
// become one leaves the other as they are.
func TestAnOwnershipThatCannotBeHandedOverStays(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	d.rejected("owner", "organization/transferOwnership", `{"userId":"usr_none","role":"viewer"}`, 404, apierr.NotFound)
	people, err := d.db.ListPeople(t.Context(), d.own.ID, "", 0)
	if err != nil || len(people) != 4 {
		t.Fatal(people, err)
	}
	for _, p := range people {
		if p.UserID == "usr_owner" && p.Role != org.RoleOwner {
			t.Errorf("the owner is %s", p.Role)
		}
	}
}
