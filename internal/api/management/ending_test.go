package management_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/adapter/store"
	"github.com/millrace/millrace/internal/api/httpkit"
	"github.com/millrace/millrace/internal/api/management"
	"github.com/millrace/millrace/internal/api/rpc"
	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/platform/fair"
	"github.com/millrace/millrace/internal/tenant/apikey"
	"github.com/millrace/millrace/internal/tenant/audit"
	"github.com/millrace/millrace/internal/tenant/auth"
	"github.com/millrace/millrace/internal/tenant/org"
	"github.com/millrace/millrace/internal/tenant/session"
	"github.com/millrace/millrace/internal/tenant/token"
)

// ending is something that ends what a credential is good for, and the code with which
// operations are rejected then that it was good for.
type ending struct {
	name  string
	ofKey bool // else of a person
	// placed says that it is about a person's membership: what needs none goes on.
	placed bool
	end    func(*house, *caller) error
	due    apierr.Code
}

var endings = []ending{
	{"signed out", false, false, (*house).signOut, apierr.AuthRequired},
	{"removed", false, true, (*house).remove, apierr.NotFound},
	{"demoted", false, true, (*house).demote, apierr.Forbidden},
	{"revoked", true, false, (*house).revokeKey, apierr.AuthRequired},
	{"narrowed", true, false, (*house).narrow, apierr.Forbidden},
}

// caller is somebody who may call the operations of a class: a key of the fixture's
// organization, or a person with a membership in it and one like it in the other.
type caller struct {
	name, credential string
	user             *org.User // of a person, with the id of their session
	session          string
	row              *auth.ClassRow
}

// house is a fixture on which people sign in, with records that operations are about.
type house struct {
	*fixture
	organizations                        *org.Service
	third                                *org.Organization
	site, open, gone, apiKey, invitation string // their ids
	link, goneLink, folder, domain       string
	flag, onFlag, goneFlag, segment      string // inactive, active, archived

	people int
}

func newFullHouse(t *testing.T) *house {
	t.Helper()
	h := &house{fixture: newHouse(t, httpkit.Site{})}
	h.organizations = org.NewService("", org.Deps{Store: h.db, Invitations: h.db})
	h.third = h.organization("Third")
	owner := h.person(auth.OwnOrganization.Row(), org.RoleOwner)
	made := func(operation, members string) string {
		return do[struct{ ID string }](h.fixture, owner.credential, operation, inside(h.own, members)).ID
	}
	h.site = made("websites/create", `"name":"Shop","domain":"shop.example"`)
	h.open = made("websites/create", `"name":"Open","domain":"open.example","isPublic":true`)
	h.gone = made("websites/create", `"name":"Gone","domain":"gone.example"`)
	made("websites/delete", fmt.Sprintf(`"id":%q`, h.gone))
	h.apiKey = made("apiKeys/create", `"name":"ci","scopes":["read:data"]`)
	h.invitation = made("organization/inviteMember", `"email":"x@example.com","role":"viewer"`)
	h.link = made("links/create", `"url":"https://example.com"`)
	h.goneLink = made("links/create", `"url":"https://example.com"`)
	made("links/delete", fmt.Sprintf(`"id":%q`, h.goneLink))
	h.folder = made("linkFolders/create", `"name":"Ads"`)
	h.flag = made("flags/create", `"key":"a","type":"boolean","targets":[{"variant":"on","userIds":["u"]}]`)
	made("flags/update", fmt.Sprintf(`"id":%q,"name":"A"`, h.flag))
	h.onFlag = made("flags/create", `"key":"b","type":"boolean"`)
	made("flags/enable", fmt.Sprintf(`"id":%q`, h.onFlag))
	h.goneFlag = made("flags/create", `"key":"c","type":"boolean"`)
	made("flags/archive", fmt.Sprintf(`"id":%q`, h.goneFlag))
	h.segment = made("segments/create", `"key":"a","userIds":["u"]`)
	h.domain = made("linkDomains/create", `"hostname":"own.example.com"`)
	return h
}

// inside is a body that names an organization.
func inside(o *org.Organization, members string) string {
	return strings.TrimSuffix(fmt.Sprintf(`{"organizationId":%q,%s`, o.ID, members), ",") + "}"
}

// password and its hash are every caller's.
const password = "correct horse"

// person makes a person of a role, who is signed in.
func (h *house) person(row *auth.ClassRow, role org.Role) *caller {
	h.t.Helper()
	h.people++
	now, name := time.Now(), fmt.Sprintf("person%d", h.people)
	cheap := org.NewPasswordsAt(org.Costs{MemoryKiB: 8, Passes: 1, Lanes: 1})
	hash, err := cheap.Hash(h.t.Context(), fair.Owner{}, password)
	if err != nil {
		h.t.Fatal(err)
	}
	u, err := org.NewUser(name+"@example.com", name, hash, now)
	if err != nil {
		h.t.Fatal(err)
	}
	text, opens := token.New()
	s := &session.Session{
		ID: "ses_" + name, UserID: u.ID, Hash: opens, CreatedAt: now, SeenAt: now, ExpiresAt: now.Add(time.Hour),
	}
	h.must(h.db.InTx(h.t.Context(), func(ctx context.Context, tx *store.Store) error { // one wait for the disk
		err := tx.CreateUser(ctx, audit.BySystem(), u)
		for _, o := range []*org.Organization{h.own, h.other} {
			membership := &org.Member{OrganizationID: o.ID, UserID: u.ID, Role: role, CreatedAt: now}
			err = errors.Join(err, tx.AddMember(ctx, audit.BySystem(), membership))
		}
		return errors.Join(err, tx.CreateSession(ctx, audit.BySystem(), u, s))
	}))
	return &caller{name: string(role), credential: text, user: u, session: s.ID, row: row}
}

func (h *house) must(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
}

func (h *house) signOut(c *caller) error {
	return h.db.EndSession(h.t.Context(), audit.BySystem(), c.user.ID, c.session, time.Now())
}

func anyRole(org.Role) error { return nil }

func (h *house) remove(c *caller) error {
	_, err := h.db.RemoveMember(h.t.Context(), audit.BySystem(),
		org.Departure{OrganizationID: h.own.ID, UserID: c.user.ID}, time.Now(), anyRole)
	return err
}

// demote gives a person the role below the least one that the class asks for.
func (h *house) demote(c *caller) error {
	below := auth.Roles[max(0, slices.Index(auth.Roles, c.row.Role)-1)]
	_, err := h.db.SetRole(h.t.Context(), audit.BySystem(), h.own.ID, c.user.ID, below, time.Now(), anyRole)
	return err
}

func (h *house) revokeKey(c *caller) error {
	h.revoke(c.credential)
	return nil
}

// narrow leaves a key nothing but a scope that no operation asks for.
func (h *house) narrow(c *caller) error {
	k, err := h.db.KeyByHash(h.t.Context(), apikey.HashOf([]byte(c.credential)))
	if err != nil {
		return err
	}
	is := *k
	is.Version, is.Scopes = is.Version+1, []string{string(auth.ScopeTrackEvents)}
	return h.db.SaveKey(h.t.Context(), audit.BySystem(), "updated", k, &is)
}

// callers are those who may call operations of a class, to whom an ending makes a
// difference: people of the least role and of the highest, and a key of each scope.
func (h *house) callers(row *auth.ClassRow, e ending) (all []*caller) {
	h.t.Helper()
	switch {
	case row.Class == auth.Public, e.placed && row.Role == "":
		return nil
	case e.ofKey:
		for _, s := range row.Scopes {
			all = append(all, &caller{name: "key with " + string(s), credential: h.key("", string(s)), row: row})
		}
		return all
	case e.name == "demoted" && row.Role == org.RoleViewer:
		return nil // there is no role below
	}
	for _, role := range slices.Compact([]org.Role{cmp.Or(row.Role, org.RoleViewer), org.RoleOwner}) {
		all = append(all, h.person(row, role))
	}
	return all
}

// changes are the bodies with which a caller changes something in an organization.
func (h *house) changes(in *org.Organization) map[string]string {
	id := func(of string) string { return fmt.Sprintf(`"id":%q`, of) }
	bodies := map[string]string{
		"organization/update":            `"name":"Taken"`,
		"organization/setMemberRole":     `"userId":"usr_viewer","role":"editor"`,
		"organization/removeMember":      `"userId":"usr_viewer"`,
		"organization/leave":             ``,
		"organization/transferOwnership": `"userId":"usr_viewer","role":"admin"`,
		"organization/inviteMember":      `"email":"y@example.com","role":"viewer"`,
		"organization/revokeInvitation":  id(h.invitation),
		"organization/delete":            `"name":"Own"`, // of the other one that is no confirmation
		"websites/move":                  id(h.site) + fmt.Sprintf(`,"toOrganizationId":%q`, h.other.ID),
		"websites/create":                `"name":"More","domain":"more.example"`,
		"websites/update":                id(h.site) + `,"name":"Taken"`,
		"websites/publish":               id(h.site),
		"websites/unpublish":             id(h.open),
		"websites/rotateClientId":        id(h.site),
		"websites/delete":                id(h.site),
		"websites/restore":               id(h.gone),
		"apiKeys/create":                 `"name":"mine","scopes":["read:data"]`,
		"apiKeys/update":                 id(h.apiKey) + `,"name":"Taken"`,
		"apiKeys/rotate":                 id(h.apiKey),
		"apiKeys/revoke":                 id(h.apiKey),
		"apiKeys/delete":                 id(h.apiKey),
		"profiles/delete":                fmt.Sprintf(`"websiteId":%q,"profileId":"u1"`, h.site),
		"links/create":                   `"url":"https://example.com"`,
		"links/update":                   id(h.link) + `,"name":"Taken"`,
		"links/upsert":                   `"externalId":"x","url":"https://example.com"`,
		"links/delete":                   id(h.link),
		"links/restore":                  id(h.goneLink),
		"links/bulkCreate":               `"items":[{"url":"https://example.com"},{"url":"https://example.com"}]`,
		"links/bulkUpdate":               fmt.Sprintf(`"items":[{%s,"name":"Taken"}]`, id(h.link)),
		"links/bulkDelete":               fmt.Sprintf(`"items":[{%s}]`, id(h.link)),
		"flags/create":                   `"key":"d","type":"boolean"`,
		"flags/update":                   id(h.flag) + `,"name":"Taken"`,
		"flags/enable":                   id(h.flag),
		"flags/disable":                  id(h.onFlag),
		"flags/archive":                  id(h.flag),
		"flags/unarchive":                id(h.goneFlag),
		"flags/delete":                   id(h.goneFlag),
		"flags/duplicate":                id(h.flag) + `,"key":"e"`,
		"flags/addTargets":               id(h.flag) + `,"variant":"off","userIds":["v"]`,
		"flags/removeTargets":            id(h.flag) + `,"userIds":["u"]`,
		"flags/rollback":                 id(h.flag) + `,"version":1`,
		"segments/create":                `"key":"b","userIds":["u"]`,
		"segments/update":                id(h.segment) + `,"name":"Taken"`,
		"segments/delete":                id(h.segment),
		"linkFolders/create":             `"name":"More"`,
		"linkFolders/update":             id(h.folder) + `,"name":"Taken"`,
		"linkFolders/delete":             id(h.folder),
		"linkDomains/create":             `"hostname":"more.example.com"`,
		"linkDomains/verify":             id(h.domain),
		"linkDomains/update":             id(h.domain) + `,"rootUrl":"https://example.com"`,
		"linkDomains/delete":             id(h.domain),
	}
	for operation, members := range bodies {
		bodies[operation] = inside(in, members)
	}
	return bodies
}

// ownChanges are those with which a person changes what is theirs.
func (h *house) ownChanges(c *caller) map[string]string {
	h.t.Helper()
	ctx, by := h.t.Context(), audit.BySystem()
	_, offer, err := h.organizations.Invite(ctx, by, org.Inviter{Role: org.RoleOwner, Verified: true}, h.third.ID,
		c.user.Email, org.RoleViewer)
	h.must(err)
	proof, token := session.NewVerification(c.user.ID, time.Now())
	h.must(h.db.CreateVerification(ctx, by, proof))
	return map[string]string{
		"account/verifyEmail":           fmt.Sprintf(`{"token":%q}`, token),
		"account/delete":                fmt.Sprintf(`{"password":%q}`, password),
		"organization/create":           `{"name":"New"}`,
		"organization/restore":          fmt.Sprintf(`{"id":%q}`, h.third.ID),
		"session/end":                   fmt.Sprintf(`{"id":%q}`, c.session),
		"session/endOthers":             `{}`,
		"password/change":               fmt.Sprintf(`{"currentPassword":%q,"newPassword":"another horse"}`, password),
		"organization/acceptInvitation": fmt.Sprintf(`{"token":%q}`, offer),
	}
}

// changeNothing are operations that are remembered and change nothing here: an export, and
// the mail of a token where no mail can be sent.
var changeNothing = []string{"events/export", "account/sendVerification"}

// each calls fn for every operation with every ending and every caller to whom it makes a
// difference; body is one with which the operation would be done, as far as it changes
// something, and changes says whether it does.
func (h *house) each(fn func(operation string, e ending, c *caller, body string, changes bool)) {
	h.t.Helper()
	bodies := h.changes(h.own)
	for _, res := range management.Resources(management.Deps{}) {
		for i := range res.Operations {
			o := &res.Operations[i]
			name := strings.TrimPrefix(rpc.Path(res.Name, o.Name), "/rpc/")
			for _, e := range endings {
				for _, c := range h.callers(o.Class.Row(), e) {
					body, changes := bodies[name]
					switch {
					case o.Class == auth.Account:
						if body, changes = h.ownChanges(c)[name]; !changes {
							body = "{}"
						}
					case !changes:
						body = inside(h.own, "")
					}
					if (o.Audit != "") != changes && !slices.Contains(changeNothing, name) {
						h.t.Errorf("%s has a body that changes something: %t; it is audited as %q", name, changes, o.Audit)
					}
					fn(name, e, c, body, changes)
				}
			}
		}
	}
}

// rejectedAs reports whether a response rejects a caller with a code; an empty one stands
// for any with which callers are rejected.
func rejectedAs(status int, text string, code apierr.Code) bool {
	for _, each := range []apierr.Code{apierr.AuthRequired, apierr.Forbidden, apierr.AccessDenied, apierr.NotFound} {
		told := status == httpkit.RowOf(each).Status && strings.Contains(text, `"code":"`+string(each)+`"`)
		if code != "" && code != each || !told {
			continue
		}
		// Of what is not there, only the organization is a matter of who calls.
		if each != apierr.NotFound || strings.Contains(text, "Organization not found") {
			return true
		}
	}
	return false
}

// Every operation is begun by everybody who may call it; then what they may ends; then the
// rest of the body comes.
func TestEveryOperationThatIsHalfSentIsRejectedOnceTheRightToItHasEnded(t *testing.T) {
	t.Parallel()
	h := newFullHouse(t)
	addr := h.serve()
	var finish []func()
	elsewhere := h.changes(h.other)
	h.each(func(operation string, e ending, c *caller, body string, changes bool) {
		sent := h.begin(addr, c.credential, operation, body)
		finish = append(finish, func() {
			if status, text := sent.respond(t); !rejectedAs(status, text, e.due) {
				t.Errorf("%s by %s who was %s meanwhile: %d %s, want %s", operation, c.name, e.name, status, text, e.due)
			}
		})
		if e.placed { // the membership in another organization is as good as before
			there := inside(h.other, "")
			if changes {
				there = elsewhere[operation]
			}
			sent := h.begin(addr, c.credential, operation, there)
			finish = append(finish, func() {
				if status, text := sent.respond(t); rejectedAs(status, text, "") {
					t.Errorf("%s elsewhere by %s who was %s here: %d %s", operation, c.name, e.name, status, text)
				}
			})
		}
		h.must(e.end(h, c))
	})
	h.access.Forget() // as the change events of ended keys have it
	for _, f := range finish {
		f()
	}
	if len(finish) < 200 {
		t.Errorf("%d requests were tried only", len(finish))
	}
}

// snapshot are the sessions of people as they were once looked at.
type snapshot struct {
	auth.Sessions
	ids         map[string]string
	users       map[string]*org.User
	memberships map[string][]org.Member
}

// SignedIn implements auth.Sessions.
func (f *snapshot) SignedIn(ctx context.Context, text string) (string, *org.User, []org.Member, error) {
	if id, known := f.ids[text]; known {
		return id, f.users[text], f.memberships[text], nil
	}
	id, user, memberships, err := f.Sessions.SignedIn(ctx, text)
	f.ids[text], f.users[text], f.memberships[text] = id, user, memberships
	return id, user, memberships, err
}

// The right ends after the caller was looked at, and before the change is made.
func TestEveryChangeIsRejectedOnceTheRightToItHasEndedThoughItsCallerWasAdmitted(t *testing.T) {
	t.Parallel()
	h := newFullHouse(t)
	people := &snapshot{h.identifier.Sessions, map[string]string{}, map[string]*org.User{}, map[string][]org.Member{}}
	h.identifier.Sessions = people
	callers := map[string]bool{}
	h.each(func(operation string, e ending, c *caller, body string, changes bool) {
		if !changes {
			return
		}
		if e.ofKey {
			// and keeps it
			p, err := h.access.Key(t.Context(), []byte(c.credential), auth.From{Addr: netip.MustParseAddr("0.0.0.0")})
			h.must(err)
			callers[p.KeyID] = true
		} else {
			_, _, _, err := people.SignedIn(t.Context(), c.credential)
			h.must(err)
			callers[c.user.ID] = true
		}
		h.must(e.end(h, c))
		if r := h.call(c.credential, operation, body); !rejectedAs(r.Status, r.Text, e.due) {
			t.Errorf("%s by %s who was %s meanwhile: %d %s, want %s", operation, c.name, e.name, r.Status, r.Text, e.due)
		}
	})
	entries, err := h.db.AuditEntries(t.Context(), audit.Filter{OrganizationID: h.own.ID, Limit: 10_000})
	h.must(err)
	for i := range entries {
		if callers[entries[i].By.Actor.ID] {
			t.Errorf("%s was made by %s", entries[i].Action, entries[i].By.Actor.Name)
		}
	}
	if len(callers) < 60 || len(entries) == 0 {
		t.Errorf("%d callers, %d entries", len(callers), len(entries))
	}
}
