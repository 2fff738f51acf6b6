package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/tenant/audit"
	"github.com/millrace/millrace/internal/tenant/org"
	"github.com/millrace/millrace/internal/tenant/token"
)

// printed runs a command with --json and reads the one object that it prints.
func printed(t *testing.T, args ...string) map[string]any {
	t.Helper()
	out := mustMillrace(t, append(args, "--json")...)
	var got map[string]any
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatalf("millrace %s printed %q: %v", strings.Join(args, " "), out, err)
	}
	return got
}

func TestAUserIsMadeListedAndGivenANewPassword(t *testing.T) {
	t.Parallel()
	url, db, w := seeded(t)
	made := printed(t, "users", "create", url, "--email", "Ann@Shop.example", "--name", "Ann", "--organization",
		w.OrganizationID, "--role", "admin")
	u, err := db.UserByEmail(t.Context(), "ann@shop.example")
	if err != nil {
		t.Fatal(err)
	}
	if made["id"] != u.ID || made["email"] != u.Email || made["role"] != "admin" {
		t.Errorf("it printed %v", made)
	}
	if ok, err := org.VerifyPassword(u.PasswordHash, made["password"].(string)); !ok || err != nil {
		t.Errorf("the password printed is not the user's: %v", err)
	}

	if !u.Verified() {
		t.Error("whom the operator makes is not verified")
	}
	list := mustMillrace(t, "users", "list", url)
	if !strings.Contains(list, u.ID) || !strings.Contains(list, w.OrganizationID+" (admin)") {
		t.Errorf("the list is\n%s", list)
	}

	permitted := printed(t, "users", "reset-password", url, "ANN@shop.example")
	if got, err := db.ResetUser(t.Context(),
		token.HashOf(permitted["token"].(string)), time.Now()); err != nil || got.ID != u.ID {
		t.Errorf("the token printed permits nothing: %v", err)
	}
	password := strings.TrimSpace(mustMillrace(t, "users", "reset-password", url, "ann@shop.example", "--set"))
	u, err = db.UserByID(t.Context(), u.ID)
	if err != nil {
		t.Fatal(err)
	}
	if ok, err := org.VerifyPassword(u.PasswordHash, password); !ok || err != nil {
		t.Errorf("the password set is not the user's: %v", err)
	}
}

func TestTheOperatorVerifiesWhoSignedUp(t *testing.T) {
	t.Parallel()
	url, db, _ := seeded(t)
	u, err := org.NewUser("ann@shop.example", "Ann", "none", time.Now())
	if err == nil {
		err = db.CreateUser(t.Context(), audit.BySystem(), u)
	}
	if err != nil {
		t.Fatal(err)
	}
	if out := mustMillrace(t, "users", "verify", url, "Ann@shop.example"); !strings.Contains(out, u.ID) {
		t.Errorf("it printed %q", out)
	}
	if got := printed(t, "users", "verify", url, "ann@shop.example"); got["emailVerified"] != true {
		t.Errorf("it printed %v", got)
	}
	if u, err = db.UserByID(t.Context(), u.ID); err != nil || !u.Verified() {
		t.Errorf("the user is %+v, %v", u, err)
	}
	_, _, err = millrace(t, "users", "verify", url, "bob@shop.example")
	if err == nil || !strings.Contains(err.Error(), "bob@shop.example: user not found") {
		t.Errorf("verifying nobody: %v", err)
	}
}

func TestAPasswordIsReadFromTheStandardInput(t *testing.T) {
	t.Parallel()
	url, db, _ := seeded(t)
	for stdin, want := range map[string]string{
		"correct horse\nmore\n": "correct horse", "with\r\n": "at least 8 characters", "": "at least 8 characters",
	} {
		var out bytes.Buffer
		root := newRoot()
		root.SetOut(&out)
		root.SetErr(&out)
		root.SetIn(strings.NewReader(stdin))
		root.SetArgs([]string{"users", "create", url, "--email", "a@b.example", "--name", "A", "--password-stdin"})
		err := root.ExecuteContext(t.Context())
		if err != nil {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("with %q: %v", stdin, err)
			}
			continue
		}
		u, err := db.UserByEmail(t.Context(), "a@b.example")
		if err != nil {
			t.Fatal(err)
		}
		if ok, err := org.VerifyPassword(u.PasswordHash, want); !ok || err != nil || strings.Contains(out.String(), want) {
			t.Errorf("with %q: the password is another one, or was printed: %v %s", stdin, err, out.String())
		}
	}
}

func TestOrganizationsAndTheirMembersAreManaged(t *testing.T) {
	t.Parallel()
	url, _, _ := seeded(t)
	for _, name := range []string{"ann", "bob"} {
		printed(t, "users", "create", url, "--email", name+"@shop.example", "--name", name)
	}
	made := printed(t, "orgs", "create", url, "--name", "Acme", "--owner", "ann@shop.example")
	id := made["id"].(string)
	if list := mustMillrace(t, "orgs", "list", url); !strings.Contains(list, id) || strings.Count(list, "org_") != 2 {
		t.Errorf("the list is\n%s", list)
	}
	for _, role := range []string{"viewer", "owner"} {
		if got := printed(t, "orgs", "set-member", url, "bob@shop.example", "--organization",
			id, "--role", role); got["role"] != role {
			t.Errorf("set-member printed %v", got)
		}
	}
	members := mustMillrace(t, "orgs", "members", url, "--organization", id, "--json")
	if strings.Count(members, `"role":"owner"`) != 2 || !strings.Contains(members, "bob@shop.example") {
		t.Errorf("the members are\n%s", members)
	}
	if _, _, err := millrace(t, "orgs", "delete", url, id, "--name", "acme"); err == nil ||
		!strings.Contains(said(err), "the organization's exact name") {
		t.Errorf("deleting an organization by another name: %v", err)
	}
	gone := printed(t, "orgs", "delete", url, id, "--name", "Acme")
	if gone["members"] != 2.0 || gone["links"] != 0.0 || gone["restorableUntil"] == nil ||
		strings.Contains(mustMillrace(t, "orgs", "list", url), id) {
		t.Errorf("delete printed %v", gone)
	}
	if got := printed(t, "orgs", "restore", url, id); got["name"] != "Acme" ||
		!strings.Contains(mustMillrace(t, "orgs", "list", url), id) {
		t.Errorf("restore printed %v", got)
	}
	if _, _, err := millrace(t, "orgs", "restore", url, id); err == nil ||
		!strings.Contains(err.Error(), "is not deleted") {
		t.Errorf("restoring what exists: %v", err)
	}
	mustMillrace(t, "orgs", "remove-member", url, "ann@shop.example", "--organization", id, "--revoke-keys")
	if _, _, err := millrace(t, "orgs", "remove-member", url, "bob@shop.example", "--organization", id); err == nil ||
		!strings.Contains(err.Error(), "at least one owner") {
		t.Errorf("removing the last owner: %v", err)
	}
}

func TestPeopleCommandsSayWhatIsWrong(t *testing.T) {
	t.Parallel()
	url, _, w := seeded(t)
	printed(t, "users", "create", url, "--email", "ann@shop.example", "--name", "Ann")
	for args, want := range map[string]string{
		"users create --name A":            "email must be an e-mail address",
		"users create --email a@b.example": "name must have",
		"users create --email a@b.example --name A --role " +
			"king": "role must be owner, admin, editor or viewer",
		"users create --email ANN@shop.example --name A":                         "already exists",
		"users create --email a@b.example --name A --organization org_none":      "organization not found",
		"users reset-password nobody@b.example":                                  "nobody@b.example: user not found",
		"users reset-password nobody":                                            "email must be",
		"orgs create --name Acme --owner nobody@b.example":                       "--owner: nobody@b.example: user not found",
		"orgs create --owner ann@shop.example":                                   "name must have",
		"orgs members --organization org_none":                                   "organization not found",
		"orgs set-member ann@shop.example --role king":                           "--role: ",
		"orgs remove-member ann@shop.example --organization " + w.OrganizationID: "member not found",
	} {
		_, _, err := millrace(t, append(strings.Fields(args), url)...)
		if err == nil || !strings.Contains(said(err), want) || strings.Contains(said(err), "VALIDATION_ERROR") {
			t.Errorf("millrace %s: the error is %v, want %q in it", args, err, want)
		}
	}
}

func TestBootstrapPrintsJSON(t *testing.T) {
	t.Parallel()
	url := emptyStore(t)
	args := []string{
		"bootstrap", url, "--organization", "Acme", "--domain", "shop.example", "--email", "owner@shop.example",
	}
	first := printed(t, args...)
	for _, field := range []string{"organizationId", "websiteId", "apiKey", "adminEmail", "adminPassword"} {
		if first[field] == "" || first[field] == nil {
			t.Errorf("it printed no %s: %v", field, first)
		}
	}
	if again := printed(t, args...); len(again) != 0 {
		t.Errorf("a second time it printed %v", again)
	}
}
