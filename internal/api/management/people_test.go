package management_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/api/httpkit"
	"github.com/millrace/millrace/internal/api/management"
	"github.com/millrace/millrace/internal/api/rpc"
	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/tenant/audit"
	"github.com/millrace/millrace/internal/tenant/auth"
	"github.com/millrace/millrace/internal/tenant/org"
	"github.com/millrace/millrace/internal/tenant/quota"
	"github.com/millrace/millrace/internal/tenant/session"
)

// newHouse is a fixture with all operations but exports, on which people sign in
// themselves: its sessions are real ones, and so a caller is the token of one. Anybody
// may sign up.
func newHouse(t *testing.T, site httpkit.Site) *fixture {
	t.Helper()
	return newMailingHouse(t, site, nil)
}

// newMailingHouse is one that sends mail, unless mail is nil.
func newMailingHouse(t *testing.T, site httpkit.Site, mail session.Mailer) *fixture {
	t.Helper()
	d := newFixture(t)
	sessions := session.New(session.Config{
		Lifetimes: session.Lifetimes{Idle: session.ResetLife, Absolute: 2 * session.ResetLife}, SignUp: session.SignUpOpen,
	}, session.Deps{
		Sessions: d.db, Devices: d.db, Accounts: d.db, Credentials: d.db, Attempts: d.db, Mail: mail,
		Passwords: org.NewPasswordsAt(org.Costs{MemoryKiB: 8, Passes: 1, Lanes: 1}),
		Log:       slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(),
	})
	organizations := org.NewService("", org.Deps{
		Store: d.db, Invitations: d.db, Ownership: d.db, Deletions: d.db, AnyoneCreates: true, Attempts: d.db, Mail: mail,
	})
	deps := d.deps()
	deps.Sessions, deps.Passwords = management.Sessions{Service: sessions}, management.Passwords{Service: sessions}
	deps.Accounts = management.Accounts{Service: sessions}
	deps.Organizations = management.Organizations{
		Service: organizations, Quotas: quota.NewService(quota.Config{}, d.db, d, nil), Websites: deps.Websites.Service,
	}
	deps.Websites.Organizations = organizations
	d.app = httpkit.New(httpkit.Config{Host: httpkit.Query, Site: site},
		httpkit.Deps{Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry()})
	d.identifier = &rpc.Identifier{Keys: d.access, Sessions: sessions, Site: &site}
	mount(t, d.app, management.Resources(deps), rpc.Deps{Identifier: d.identifier, Log: slog.New(slog.DiscardHandler)})
	return d
}

// mails are those that were sent.
type mails struct{ all []string }

// Send implements session.Mailer.
func (m *mails) Send(_ context.Context, to, subject, text string) error {
	m.all = append(m.all, to+"\n"+subject+"\n"+text)
	return nil
}

// token returns the token in a mail.
func (m *mails) token(i int) string { return mailedToken.FindStringSubmatch(m.all[i])[1] }

var mailedToken = regexp.MustCompile(`(?m)^    ([A-Za-z0-9_-]{43})$`)

// person is somebody who is signed in.
type person struct {
	token, id, email, organization string
}

type signedIn struct {
	ID            string
	User          struct{ ID, Email, Name string }
	Organizations []struct{ ID, Name, Role string }
}

var setCookie = regexp.MustCompile(
	`^millrace_session=([A-Za-z0-9_-]{43}); Path=/; Max-Age=7200; HttpOnly; SameSite=Lax$`)

var setDevice = regexp.MustCompile(`^millrace_device=[\w-]{43}; Path=/; Max-Age=15552000; HttpOnly; SameSite=Lax$`)

// cookie returns the session's token that a response sets, beside one of the device.
func (d *fixture) cookie(r *reply) string {
	d.t.Helper()
	m := setCookie.FindStringSubmatch(r.Header.Get("Set-Cookie"))
	if m == nil || !setDevice.MatchString(strings.Join(r.Header["Set-Cookie"][1:], "\n")) {
		d.t.Fatalf("%d %s sets the cookies %q", r.Status, r.Text, r.Header["Set-Cookie"])
	}
	return m[1]
}

// signUp makes an account, with an invitation unless that is empty.
func (d *fixture) signUp(name, invitation string) person {
	d.t.Helper()
	body := fmt.Sprintf(`{"email":"%s@example.com","name":%q,"password":"correct horse"`, name, name)
	if invitation != "" {
		body += fmt.Sprintf(`,"invitation":%q`, invitation)
	}
	r := d.call("", "session/signUp", body+"}")
	if r.Status != http.StatusCreated {
		d.t.Errorf("signUp: %d %s", r.Status, r.Text)
	}
	token := d.cookie(r)
	in := do[signedIn](d, token, "session/get", "{}")
	return person{token: token, id: in.User.ID, email: in.User.Email, organization: in.Organizations[0].ID}
}

const annSignsIn = `{"email":"Ann@example.com","password":"correct horse"}`

func TestSomebodySignsUpInAndOut(t *testing.T) {
	t.Parallel()
	d := newHouse(t, httpkit.Site{})
	ann := d.signUp("ann", "")
	in := do[signedIn](d, ann.token, "session/get", "{}")
	if in.User.Email != "ann@example.com" || len(in.Organizations) != 1 || in.Organizations[0].Role != "owner" ||
		in.Organizations[0].Name != "ann" {
		t.Errorf("session/get: %+v", in)
	}
	r := d.call("", "session/signIn", annSignsIn)
	second := d.cookie(r)
	if strings.Contains(r.Text, second) {
		t.Errorf("the answer's body holds the token: %s", r.Text)
	}
	list := do[[]struct {
		ID      string
		Current bool
	}](d, second, "session/list", "{}")
	if len(list) != 2 || !list[0].Current || list[1].Current || list[1].ID != in.ID {
		t.Errorf("session/list: %+v", list)
	}
	d.rejected(second, "session/end", `{"id":"ses_none"}`, 404, apierr.NotFound)
	if r := d.call(second, "session/end", `{"id":"`+in.ID+`"}`); !r.Success || r.Header.Get("Set-Cookie") != "" {
		t.Errorf("session/end: %d %s, cookie %q", r.Status, r.Text, r.Header.Get("Set-Cookie"))
	}
	d.rejected(ann.token, "session/get", "{}", 401, apierr.AuthRequired)
	for range 2 { // also without a session
		r = d.call(second, "session/signOut", "{}")
		if c := r.Header.Get("Set-Cookie"); !r.Success || !strings.HasPrefix(c, "millrace_session=; Path=/; Max-Age=0") {
			t.Errorf("session/signOut: %d %s, cookie %q", r.Status, r.Text, c)
		}
	}
	d.rejected(second, "session/get", "{}", 401, apierr.AuthRequired)
}

func TestTheCookieOfAnHTTPSHostIsForItAlone(t *testing.T) {
	t.Parallel()
	d := newHouse(t, httpkit.Site{PublicURL: "https://api.example.com"})
	r := d.call("", "session/signUp", `{"email":"ann@example.com","name":"Ann","password":"correct horse"}`)
	want := regexp.MustCompile(
		`^__Host-millrace_session=[A-Za-z0-9_-]{43}; Path=/; Max-Age=7200; HttpOnly; Secure; SameSite=Lax$`)
	if c := r.Header.Get("Set-Cookie"); !want.MatchString(c) {
		t.Errorf("%d %s, cookie %q", r.Status, r.Text, c)
	}
}

func TestAResponseDoesNotTellWhetherThereIsAnAccount(t *testing.T) {
	t.Parallel()
	d := newHouse(t, httpkit.Site{})
	d.signUp("ann", "")
	id := regexp.MustCompile(`"requestId":"[^"]*"`)
	response := func(email string) string {
		r := d.rejected("", "session/signIn", fmt.Sprintf(`{"email":%q,"password":"wrong horse"}`, email),
			401, apierr.AuthRequired)
		if r.Header.Get("Set-Cookie") != "" {
			t.Errorf("%s: it sets a cookie", email)
		}
		return id.ReplaceAllString(r.Text, "")
	}
	if a, b := response("ann@example.com"), response("bob@example.com"); a != b {
		t.Errorf("with an account %s\nwithout one %s", a, b)
	}
	for _, email := range []string{"ann@example.com", "bob@example.com"} {
		var r *reply
		for range session.Allowances.NetworkAccountSignIns.Burst {
			r = d.call("", "session/signIn", fmt.Sprintf(`{"email":%q,"password":"wrong horse"}`, email))
		}
		if r.Status != http.StatusTooManyRequests || r.Code != string(apierr.RateLimited) ||
			!regexp.MustCompile(`"limit":10,"remaining":0,"reset":\d+,"retryAfter":([1-9]|[1-8]\d|90)}$`).MatchString(r.Text) {
			t.Errorf("%s: %d %s, Retry-After %q", email, r.Status, r.Text, r.Header.Get("Retry-After"))
		}
	}
}

func TestABrowserThatWasSignedInFromIsKnownByItsCookie(t *testing.T) {
	t.Parallel()
	d := newHouse(t, httpkit.Site{})
	d.signUp("ann", "")
	device, _, _ := strings.Cut(d.call("", "session/signIn", annSignsIn).Header["Set-Cookie"][1], ";")
	for range session.Allowances.NetworkAccountSignIns.Burst {
		d.rejected("", "session/signIn", `{"email":"ann@example.com","password":"wrong horse"}`, 401, apierr.AuthRequired)
	}
	d.rejected("", "session/signIn", annSignsIn, 429, apierr.RateLimited)
	r := d.call("", "session/signIn", annSignsIn, "Cookie", device)
	if r.Status != http.StatusOK {
		t.Errorf("with the device's cookie: %d %s", r.Status, r.Text)
	}
	d.cookie(r)
}

func TestAnotherSitesPageSignsNobodyIn(t *testing.T) {
	t.Parallel()
	d := newHouse(t, httpkit.Site{})
	d.signUp("ann", "")
	for header, value := range map[string]string{"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"} {
		req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/rpc/session/signIn",
			strings.NewReader(annSignsIn))
		req.Header.Set(header, value)
		resp, err := d.app.Test(req, -1)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusForbidden || resp.Header.Get("Set-Cookie") != "" {
			t.Errorf("%s: %d, cookie %q", header, resp.StatusCode, resp.Header.Get("Set-Cookie"))
		}
	}
}

func TestBadInputIsRejectedByItsField(t *testing.T) {
	t.Parallel()
	d := newHouse(t, httpkit.Site{})
	ann := d.signUp("ann", "")
	long := strings.Repeat("x", 1025)
	for _, tc := range []struct{ who, operation, body, field string }{
		{"", "session/signUp", `{"email":"x","name":"X","password":"correct horse"}`, "email"},
		{
			"", "session/signUp", `{"email":"x@example.com\nBcc: y@example.com","name":"X","password":"correct horse"}`, "email",
		},
		{"", "session/signUp", `{"email":"x@example.com","name":"\u202eX","password":"correct horse"}`, "name"},
		{"", "session/signUp", `{"email":"x@example.com","name":"X","password":"1234567"}`, "password"},
		{"", "session/signUp", `{"email":"x@example.com","name":"X","password":"` + long + `"}`, "password"},
		{
			"", "session/signUp", `{"email":"x@example.com","name":"X","password":"` + strings.Repeat("ü", 1000) + `"}`,
			"password",
		},
		{"", "session/signUp", `{"email":"x@example.com","name":"X","password":"correct horse","role":"owner"}`, "role"},
		{"", "session/signIn", `{"email":5,"password":"x"}`, "email"},
		{"", "session/signIn", `{"email":"` + strings.Repeat("x", 255) + `","password":"x"}`, "email"},
		{"", "password/reset", `{"token":"x","newPassword":"correct horse"}`, "token"},
		{ann.token, "password/change", `{"currentPassword":"wrong","newPassword":"correct horse"}`, "currentPassword"},
		{
			ann.token, "password/change",
			`{"currentPassword":"correct horse","newPassword":"` + strings.Repeat("ü", 1000) + `"}`, "newPassword",
		},
		{ann.token, "organization/update", `{"slug":"Not a slug"}`, "slug"},
		{ann.token, "organization/update", `{"logoUrl":"javascript:alert(1)"}`, "logoUrl"},
		{ann.token, "organization/update", `{"defaults":{"timezone":"Mars/Olympus"}}`, "defaults.timezone"},
		{ann.token, "organization/update", `{"defaults":{"tz":"UTC"}}`, "defaults.tz"},
		{ann.token, "organization/update", `{"name":null}`, "name"},
		{ann.token, "organization/inviteMember", `{"email":"x@example.com","role":"king"}`, "role"},
		{ann.token, "organization/inviteMember", `{"email":"x@example.com, y@example.com","role":"viewer"}`, "email"},
		{ann.token, "organization/listMembers", `{"limit":101}`, "limit"},
		{ann.token, "organization/listMembers", `{"cursor":"x"}`, "cursor"},
	} {
		r := d.rejected(tc.who, tc.operation, tc.body, 400, apierr.Validation)
		if len(r.Details) != 1 || r.Details[0].Field != tc.field || strings.Contains(r.Text, "horse") {
			t.Errorf("%s %.80s: %s, want the field %s", tc.operation, tc.body, r.Text, tc.field)
		}
	}
}

type organization struct {
	ID, Name      string
	Slug, LogoURL *string
	Defaults      struct{ Timezone string }
	Version       int64
}

func TestAnOrganizationsSettingsAreChanged(t *testing.T) {
	t.Parallel()
	d := newHouse(t, httpkit.Site{})
	ann, bob := d.signUp("ann", ""), d.signUp("bob", "")
	o := do[organization](d, ann.token, "organization/update",
		`{"version":1,"name":" Acme ","slug":"acme","logoUrl":"https://acme.example/logo.png","defaults":{"timezone":"Europe/Berlin"}}`)
	if o.Name != "Acme" || *o.Slug != "acme" || o.Defaults.Timezone != "Europe/Berlin" || o.Version != 2 {
		t.Errorf("organization/update: %+v", o)
	}
	for domain, timezone := range map[string]string{
		`"a.example"`: "Europe/Berlin", `"b.example","timezone":"UTC"`: "UTC",
	} {
		w := do[struct{ Timezone string }](d, ann.token, "websites/create", `{"name":"Shop","domain":`+domain+`}`)
		if w.Timezone != timezone {
			t.Errorf("a new website is in %s, want %s", w.Timezone, timezone)
		}
	}
	d.rejected(ann.token, "organization/update", `{"version":1,"name":"Late"}`, 409, apierr.Conflict)
	d.rejected(bob.token, "organization/update", `{"slug":"acme"}`, 409, apierr.Conflict)
	o = do[organization](d, ann.token, "organization/update", `{"slug":null,"logoUrl":null}`)
	if o.Slug != nil || o.LogoURL != nil || o.Name != "Acme" || o.Version != 3 {
		t.Errorf("after null: %+v", o)
	}
	for _, operation := range []string{"get", "update", "listMembers", "inviteMember", "listInvitations", "leave"} {
		body := map[string]string{
			"update": `,"name":"Mine"`, "inviteMember": `,"email":"x@example.com","role":"viewer"`,
		}[operation]
		d.rejected(bob.token, "organization/"+operation,
			fmt.Sprintf(`{"organizationId":%q%s}`, ann.organization, body), 404, apierr.NotFound)
	}
}

func TestAKeyReachesTheSettingsWithItsScopeAndNeverThePeople(t *testing.T) {
	t.Parallel()
	d := newHouse(t, httpkit.Site{})
	config, data := d.key("", string(auth.ScopeManageConfig)), d.key("", string(auth.ScopeReadData))
	if o := do[organization](d, config, "organization/update",
		`{"name":"By key"}`); o.ID != d.own.ID || o.Name != "By key" {
		t.Errorf("organization/update: %+v", o)
	}
	d.rejected(data, "organization/get", `{}`, 403, apierr.Forbidden)
	for operation, body := range map[string]string{
		"organization/listMembers": `{}`, "organization/leave": `{}`, "session/list": `{}`,
		"organization/inviteMember": `{"email":"x@example.com","role":"viewer"}`,
		"organization/removeMember": `{"userId":"usr_1"}`,
		"password/change":           `{"currentPassword":"x","newPassword":"correct horse"}`,
	} {
		d.rejected(config, operation, body, 403, apierr.AccessDenied)
	}
}

type invitation struct {
	ID, Email, Role string
	Token           *string
}

func (d *fixture) invite(by person, email, role string) invitation {
	d.t.Helper()
	return do[invitation](d, by.token, "organization/inviteMember",
		fmt.Sprintf(`{"organizationId":%q,"email":%q,"role":%q}`, by.organization, email, role))
}

func TestPeopleAreInvitedChangedAndRemoved(t *testing.T) {
	t.Parallel()
	d := newHouse(t, httpkit.Site{})
	ann := d.signUp("ann", "")
	in := func(more string) string { return fmt.Sprintf(`{"organizationId":%q%s}`, ann.organization, more) }

	// A stranger signs up with the invitation; somebody with an account accepts it.
	carl := d.signUp("carl", *d.invite(ann, "carl@example.com", "admin").Token)
	if carl.organization != ann.organization {
		t.Fatalf("carl is in %s, want %s", carl.organization, ann.organization)
	}
	bob := d.signUp("bob", "")
	offer := d.invite(ann, "bob@example.com", "viewer")
	open := d.call(ann.token, "organization/listInvitations", in(""))
	if !strings.Contains(open.Text, offer.ID) || strings.Contains(open.Text, *offer.Token) {
		t.Errorf("listInvitations: %s", open.Text)
	}
	d.rejected(carl.token, "organization/acceptInvitation",
		fmt.Sprintf(`{"token":%q}`, *offer.Token), 404, apierr.NotFound)
	place := do[struct{ ID, Role string }](d, bob.token, "organization/acceptInvitation",
		fmt.Sprintf(`{"token":%q}`, *offer.Token))
	if place.ID != ann.organization || place.Role != "viewer" {
		t.Errorf("acceptInvitation: %+v", place)
	}
	d.rejected(bob.token, "organization/acceptInvitation", fmt.Sprintf(`{"token":%q}`, *offer.Token), 404, apierr.NotFound)
	d.rejected(ann.token, "organization/inviteMember",
		in(`,"email":"bob@example.com","role":"viewer"`), 409, apierr.Conflict)

	// The list comes in pages.
	first := d.call(bob.token, "organization/listMembers", in(`,"limit":2`))
	if !first.Pagination.HasMore || strings.Count(first.Text, "userId") != 2 {
		t.Errorf("listMembers: %s", first.Text)
	}
	last := d.call(bob.token, "organization/listMembers",
		in(fmt.Sprintf(`,"limit":2,"cursor":%q`, *first.Pagination.NextCursor)))
	if last.Pagination.HasMore || strings.Count(last.Text, "userId") != 1 || last.Pagination.NextCursor != nil {
		t.Errorf("listMembers, second page: %s", last.Text)
	}

	// What each role may do shows at once.
	set := func(who person, role string) string { return in(fmt.Sprintf(`,"userId":%q,"role":%q`, who.id, role)) }
	d.rejected(bob.token, "organization/setMemberRole", set(bob, "admin"), 403, apierr.Forbidden)
	d.rejected(bob.token, "organization/update", in(`,"name":"x"`), 403, apierr.Forbidden)
	for _, body := range []string{set(bob, "owner"), set(ann, "viewer")} {
		d.rejected(carl.token, "organization/setMemberRole", body, 403, apierr.Forbidden)
	}
	d.rejected(carl.token, "organization/removeMember", in(fmt.Sprintf(`,"userId":%q`, ann.id)), 403, apierr.Forbidden)
	d.rejected(carl.token, "organization/inviteMember",
		in(`,"email":"x@example.com","role":"owner"`), 403, apierr.Forbidden)
	if got := do[struct{ Role string }](d, carl.token, "organization/setMemberRole",
		set(bob, "editor")); got.Role != "editor" {
		t.Errorf("setMemberRole: %+v", got)
	}
	d.rejected(carl.token, "organization/removeMember", in(`,"userId":"usr_none"`), 404, apierr.NotFound)
	do[struct{}](d, carl.token, "organization/removeMember", in(fmt.Sprintf(`,"userId":%q`, bob.id)))
	d.rejected(bob.token, "organization/get", in(""), 404, apierr.NotFound)

	// The last owner stays.
	d.rejected(ann.token, "organization/leave", in(""), 409, apierr.Conflict)
	do[struct{}](d, ann.token, "organization/setMemberRole", set(carl, "owner"))
	do[struct{}](d, ann.token, "organization/leave", in(""))
	d.rejected(ann.token, "organization/get", in(""), 404, apierr.NotFound)
	d.rejected(ann.token, "organization/get", "{}", 403, apierr.AccessDenied)

	gone := d.invite(carl, "x@example.com", "viewer")
	do[struct{}](d, carl.token, "organization/revokeInvitation", in(fmt.Sprintf(`,"id":%q`, gone.ID)))
	d.rejected(carl.token, "organization/revokeInvitation", in(fmt.Sprintf(`,"id":%q`, gone.ID)), 404, apierr.NotFound)
	d.rejected("", "session/signUp",
		fmt.Sprintf(`{"email":"x@example.com","name":"X","password":"correct horse","invitation":%q}`, *gone.Token), 404,
		apierr.NotFound)
}

func TestOnlyWhoHasAVerifiedAddressHasInvitationsMailed(t *testing.T) {
	t.Parallel()
	var sent mails
	d := newMailingHouse(t, httpkit.Site{}, &sent)
	eve := d.signUp("eve", "")
	type user struct {
		EmailVerified bool
		VerifiedAt    *string
	}
	known := func() user { return do[struct{ User user }](d, eve.token, "session/get", "{}").User }
	if u := known(); u.EmailVerified || u.VerifiedAt != nil {
		t.Errorf("who has just signed up is %+v", u)
	}
	const invite = `{"email":"ann@example.com","role":"viewer"}`
	d.rejected(eve.token, "organization/inviteMember", invite, 403, apierr.Forbidden)
	d.rejected(eve.token, "account/verifyEmail", `{"token":"x"}`, 400, apierr.Validation)
	do[struct{}](d, eve.token, "account/sendVerification", "{}")
	if len(sent.all) != 2 || sent.token(0) == sent.token(1) {
		t.Fatalf("the mails are %q", sent.all)
	}
	u := do[user](d, eve.token, "account/verifyEmail", fmt.Sprintf(`{"token":%q}`, sent.token(1)))
	if !u.EmailVerified || u.VerifiedAt == nil {
		t.Errorf("account/verifyEmail: %+v", u)
	}
	if u := known(); !u.EmailVerified || u.VerifiedAt == nil {
		t.Errorf("session/get: %+v", u)
	}
	d.rejected(eve.token, "account/sendVerification", "{}", 409, apierr.Conflict)
	d.rejected(eve.token, "account/verifyEmail", `{"token":"x"}`, 409, apierr.Conflict)
	if i := do[invitation](d, eve.token, "organization/inviteMember", invite); i.Token != nil || len(sent.all) != 3 {
		t.Errorf("inviteMember: %+v, %d mails", i, len(sent.all))
	}
	ann := d.signUp("ann", sent.token(2))
	if u := do[struct{ User user }](d, ann.token, "session/get", "{}").User; !u.EmailVerified || len(sent.all) != 3 {
		t.Errorf("who was invited by mail is %+v, %d mails", u, len(sent.all))
	}
}

func TestSomebodyDeletesTheirAccount(t *testing.T) {
	t.Parallel()
	d := newHouse(t, httpkit.Site{})
	ann := d.signUp("ann", "")
	bob := d.signUp("bob", *d.invite(ann, "bob@example.com", "editor").Token)
	const good = `{"password":"correct horse"}`
	d.rejected(ann.token, "account/delete", `{}`, 400, apierr.Validation)
	d.rejected(ann.token, "account/delete", `{"password":"wrong horse"}`, 400, apierr.Validation)
	r := d.rejected(ann.token, "account/delete", good, 409, apierr.Conflict)
	if !strings.Contains(r.Error, "only owner of ann ("+ann.organization+")") {
		t.Errorf("the refusal is %q", r.Error)
	}
	r = d.call(bob.token, "account/delete", good)
	const gone = "millrace_session=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax\n" +
		"millrace_device=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax"
	if cookies := strings.Join(r.Header["Set-Cookie"], "\n"); !r.Success || cookies != gone {
		t.Errorf("account/delete: %d %s, cookies %q", r.Status, r.Text, cookies)
	}
	d.rejected(bob.token, "session/get", "{}", 401, apierr.AuthRequired)
	do[struct{}](d, ann.token, "account/delete", good)
	d.rejected("", "session/signIn", annSignsIn, 401, apierr.AuthRequired)
	d.signUp("ann", "") // the address is free again
}

func TestANewPasswordIsANewCookie(t *testing.T) {
	t.Parallel()
	d := newHouse(t, httpkit.Site{})
	ann := d.signUp("ann", "")
	other := d.cookie(d.call("", "session/signIn", annSignsIn))
	next := d.cookie(d.call(ann.token, "password/change",
		`{"currentPassword":"correct horse","newPassword":"new password"}`))
	for _, old := range []string{ann.token, other} {
		d.rejected(old, "session/get", "{}", 401, apierr.AuthRequired)
	}
	do[signedIn](d, next, "session/get", "{}")
	d.rejected("", "session/signIn", annSignsIn, 401, apierr.AuthRequired)
	d.rejected("", "password/forgot", `{"email":"ann@example.com"}`, 403, apierr.Forbidden) // no mail is sent here
	d.rejected("", "session/signUp",
		`{"email":"ANN@example.com","name":"Ann","password":"correct horse"}`, 409, apierr.Conflict)
}

// What a client calls itself is kept with its session as with the audit's entries: no more
// of it than is worth showing, and nothing that a store rejects.
func TestASessionKeepsLittleOfItsUserAgent(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, agent, kept string }{
		{"short", "curl/8", "curl/8"},
		{"at the limit", strings.Repeat("x", audit.MaxUserAgent), strings.Repeat("x", audit.MaxUserAgent)},
		{"one beyond", strings.Repeat("x", audit.MaxUserAgent+1), strings.Repeat("x", audit.MaxUserAgent)},
		{"long", strings.Repeat("x", 12_000), strings.Repeat("x", audit.MaxUserAgent)},
		{"no text", "curl\xff/8", "curl\uFFFD/8"},
	} {
		d := newHouse(t, httpkit.Site{})
		d.signUp("ann", "")
		in := d.cookie(d.call("", "session/signIn", annSignsIn, "User-Agent", tc.agent))
		list := do[[]struct {
			Current   bool
			UserAgent string
		}](d, in, "session/list", "{}")
		if len(list) != 2 || !list[0].Current || list[0].UserAgent != tc.kept {
			t.Errorf("%s: %+v, want %q", tc.name, list, tc.kept)
		}
	}
}
