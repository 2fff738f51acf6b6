package management_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/api/httpkit"
	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/tenant/apikey"
	"github.com/millrace/millrace/internal/tenant/audit"
	"github.com/millrace/millrace/internal/tenant/org"
)

// halfSent is a request of which the last byte is still to come.
type halfSent struct {
	conn net.Conn
	last byte
}

// serve serves the fixture's app and returns its address.
func (d *fixture) serve() string {
	d.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		d.t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- d.app.Listener(l) }()
	d.t.Cleanup(func() {
		if err := errors.Join(d.app.Shutdown(), <-served); err != nil {
			d.t.Error(err)
		}
	})
	return l.Addr().String()
}

// begin sends a call as who but for its last byte. The body is longer than what is read
// before a handler runs, and the host has the header by then: it has asked for the body.
func (d *fixture) begin(addr, who, operation, body string) *halfSent {
	d.t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		d.t.Fatal(err)
	}
	body = body[:len(body)-1] + strings.Repeat(" ", 64<<10) + body[len(body)-1:]
	credential := "Cookie: millrace_session=" + who
	if strings.HasPrefix(who, fixturePrefix+"_") {
		credential = "X-Api-Key: " + who
	}
	_, err = fmt.Fprintf(conn,
		"POST /rpc/%s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n%s\r\nExpect: 100-continue\r\nContent-Length: %d\r\n\r\n",
		operation, credential, len(body))
	if err != nil {
		d.t.Fatal(err)
	}
	line, err := bufio.NewReader(io.LimitReader(conn, int64(len("HTTP/1.1 100 Continue\r\n\r\n")))).ReadString('\n')
	if err != nil || line != "HTTP/1.1 100 Continue\r\n" {
		d.t.Fatalf("%q, %v", line, err)
	}
	if _, err := io.WriteString(conn, body[:len(body)-1]); err != nil {
		d.t.Fatal(err)
	}
	return &halfSent{conn, body[len(body)-1]}
}

// finish sends the last byte and returns the status.
func (h *halfSent) finish(t *testing.T) int {
	t.Helper()
	status, _ := h.respond(t)
	return status
}

// respond sends the last byte and returns the response.
func (h *halfSent) respond(t *testing.T) (status int, text string) {
	t.Helper()
	if _, err := h.conn.Write([]byte{h.last}); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(h.conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// revoke revokes a key in the store alone: no cache is told.
func (d *fixture) revoke(secret string) {
	d.t.Helper()
	k, err := d.db.KeyByHash(d.t.Context(), apikey.HashOf([]byte(secret)))
	if err != nil {
		d.t.Fatal(err)
	}
	is := *k
	is.Version, is.RevokedAt = is.Version+1, time.Now()
	if err := d.db.SaveKey(d.t.Context(), audit.BySystem(), "revoked", k, &is); err != nil {
		d.t.Fatal(err)
	}
}

func TestWhoIsRevokedWhileTheirRequestIsHalfSentChangesNothing(t *testing.T) {
	t.Parallel()
	d := newHouse(t, httpkit.Site{})
	addr := d.serve()
	ann := d.signUp("ann", "")
	in := func(more string) string { return fmt.Sprintf(`{"organizationId":%q%s}`, ann.organization, more) }
	newAdmin := func(name string) person {
		return d.signUp(name, *d.invite(ann, name+"@example.com", "admin").Token)
	}
	calls := map[string]string{
		"websites/create":           in(`,"name":"Shop","domain":"shop.example"`),
		"organization/inviteMember": in(`,"email":"x@example.com","role":"viewer"`),
		"organization/update":       in(`,"name":"Taken"`),
	}
	var begun []func()
	for i, ending := range []struct {
		name   string
		end    func(p person)
		status int
	}{
		{"removed", func(p person) {
			do[struct{}](d, ann.token, "organization/removeMember", in(fmt.Sprintf(`,"userId":%q`, p.id)))
		}, 404},
		{"demoted", func(p person) {
			do[struct{}](d, ann.token, "organization/setMemberRole", in(fmt.Sprintf(`,"userId":%q,"role":"viewer"`, p.id)))
		}, 403},
		{"signed out", func(p person) { do[struct{}](d, p.token, "session/signOut", "{}") }, 401},
	} {
		p := newAdmin(fmt.Sprintf("admin%d", i))
		for operation, body := range calls {
			h := d.begin(addr, p.token, operation, body)
			begun = append(begun, func() {
				if got := h.finish(t); got != ending.status {
					t.Errorf("%s by an admin who was %s meanwhile: %d, want %d", operation, ending.name, got, ending.status)
				}
			})
		}
		ending.end(p)
	}
	for _, finish := range begun {
		finish()
	}
	secret := d.key("", "manage:websites")
	made := d.begin(addr, secret, "websites/create", `{"name":"Shop","domain":"shop.example"}`)
	d.revoke(secret)
	if got := made.finish(t); got != 401 {
		t.Errorf("websites/create by a key that was revoked meanwhile: %d, want 401", got)
	}
	set := d.begin(addr, newAdmin("eve").token, "organization/setMemberRole",
		in(fmt.Sprintf(`,"userId":%q,"role":"viewer"`, ann.id)))
	if got := set.finish(t); got != 403 {
		t.Errorf("an admin changes an owner: %d", got)
	}
}

func TestAnEndedGrantIsAskedForAgainInTheTransaction(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		end    func(d *fixture) error
		status int
		code   apierr.Code
	}{
		"signed out": {func(d *fixture) error {
			return d.db.EndSession(t.Context(), audit.BySystem(), "usr_admin", "ses_admin", time.Now())
		}, 401, apierr.AuthRequired},
		"removed": {func(d *fixture) error {
			_, err := d.db.RemoveMember(t.Context(), audit.BySystem(),
				org.Departure{OrganizationID: d.own.ID, UserID: "usr_admin"}, time.Now(),
				func(org.Role) error { return nil })
			return err
		}, 404, apierr.NotFound},
		"demoted": {func(d *fixture) error {
			_, err := d.db.SetRole(t.Context(), audit.BySystem(), d.own.ID, "usr_admin", org.RoleEditor, time.Now(),
				func(org.Role) error { return nil })
			return err
		}, 403, apierr.Forbidden},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newFixture(t) // whose sessions go on being what their names say
			w := do[site](d, "owner", "websites/create", `{"name":"Shop","domain":"shop.example"}`)
			k := do[struct{ ID string }](d, "owner", "apiKeys/create", `{"name":"ci","scopes":["read:data"]}`)
			if err := tc.end(d); err != nil {
				t.Fatal(err)
			}
			for operation, body := range map[string]string{
				"websites/create":         `{"name":"Other","domain":"other.example"}`,
				"websites/update":         fmt.Sprintf(`{"id":%q,"name":"x"}`, w.ID),
				"websites/delete":         fmt.Sprintf(`{"id":%q}`, w.ID),
				"websites/rotateClientId": fmt.Sprintf(`{"id":%q}`, w.ID),
				"apiKeys/create":          `{"name":"mine","scopes":["read:data"]}`,
				"apiKeys/rotate":          fmt.Sprintf(`{"id":%q}`, k.ID),
				"apiKeys/revoke":          fmt.Sprintf(`{"id":%q}`, k.ID),
				"profiles/delete":         fmt.Sprintf(`{"websiteId":%q,"profileId":"u1"}`, w.ID),
			} {
				d.rejected("admin", operation, body, tc.status, tc.code)
			}
			if all := do[[]apiKey](d, "owner", "apiKeys/list", "{}"); len(all) != 1 {
				t.Errorf("%d keys are there, want the first one", len(all))
			}
		})
	}
}

func TestAKeyThatEndedMakesNothingThoughACacheStillKnowsIt(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	narrowed, revoked := d.key("", "manage:websites", "read:data"), d.key("", "manage:websites")
	for _, secret := range []string{narrowed, revoked} {
		d.known(secret)
	}
	was, err := d.db.KeyByHash(t.Context(), apikey.HashOf([]byte(narrowed)))
	if err != nil {
		t.Fatal(err)
	}
	is := *was
	is.Version, is.Scopes = is.Version+1, []string{"read:data", "track:events"}
	if err := d.db.SaveKey(t.Context(), audit.BySystem(), "updated", was, &is); err != nil {
		t.Fatal(err)
	}
	d.revoke(revoked)
	before := d.keys.reads.Load()
	d.rejected(narrowed, "websites/create", `{"name":"b","domain":"b.example"}`, 403, apierr.Forbidden)
	d.rejected(revoked, "websites/create", `{"name":"c","domain":"c.example"}`, 401, apierr.AuthRequired)
	if asked := d.keys.reads.Load() - before; asked != 0 {
		t.Errorf("the store was asked for the keys %d times before the transaction", asked)
	}
}

func TestADemotedOwnerDoesNotComeBackByTheirOwnInvitation(t *testing.T) {
	t.Parallel()
	d := newHouse(t, httpkit.Site{})
	ann := d.signUp("ann", "")
	in := func(more string) string { return fmt.Sprintf(`{"organizationId":%q%s}`, ann.organization, more) }
	bob := d.signUp("bob", *d.invite(ann, "bob@example.com", "owner").Token)
	carl := d.signUp("carl", "")
	back := d.invite(bob, "carl@example.com", "owner")
	do[struct{}](d, ann.token, "organization/setMemberRole", in(fmt.Sprintf(`,"userId":%q,"role":"admin"`, bob.id)))
	d.rejected(carl.token, "organization/acceptInvitation", fmt.Sprintf(`{"token":%q}`, *back.Token), 404, apierr.NotFound)

	owners := d.invite(ann, "dora@example.com", "owner")
	d.rejected(bob.token, "organization/inviteMember",
		in(`,"email":"dora@example.com","role":"viewer"`), 403, apierr.Forbidden)
	dora := d.signUp("dora", *owners.Token)
	if got := do[signedIn](d, dora.token, "session/get", "{}"); got.Organizations[0].Role != "owner" {
		t.Errorf("whom an owner invited is %+v", got.Organizations)
	}
}
