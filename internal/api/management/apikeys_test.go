package management_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/tenant/apikey"
)

// apiKey is a key as the wire has it.
type apiKey struct {
	ID, Name, Prefix, Start, Status, Secret, CreatedBy string
	OrganizationID                                     string
	Version                                            int64
	Scopes, IPAllow, Tags                              []string
	Access                                             struct{ Type, WebsiteID string }
	RateLimit                                          struct {
		Enabled              bool
		Limit, WindowSeconds int
	}
	IdleExpiryDays                       *int
	ExpiresAt, OldSecretUntil, RevokedAt *time.Time
}

const ci = `{"name":"ci","scopes":["track:events"]}`

func TestAKeyIsShownWithItsSecretOnce(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	r := d.call("admin", "apiKeys/create", ci)
	var k apiKey
	if err := json.Unmarshal(r.Data, &k); err != nil || r.Status != 201 { //nolint:musttag // the names differ in case only
		t.Fatalf("%d %s: %v", r.Status, r.Text, err)
	}
	if r.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("Cache-Control is %q", r.Header.Get("Cache-Control"))
	}
	if !apikey.WellFormed(fixturePrefix, []byte(k.Secret)) || k.Prefix != fixturePrefix ||
		!strings.HasPrefix(k.Secret, k.Prefix+"_"+k.Start) || len(k.Start) != 6 {
		t.Errorf("key %+v", k)
	}
	if !d.accepts(k.Secret) {
		t.Error("the secret is refused")
	}
	for _, operation := range []string{"apiKeys/get", "apiKeys/update"} {
		if r := d.call("admin", operation, `{"id":"`+k.ID+`"}`); !r.Success || strings.Contains(r.Text, k.Secret) ||
			strings.Contains(r.Text, `"secret"`) {
			t.Errorf("%s: %d %s", operation, r.Status, r.Text)
		}
	}
	if r := d.call("admin", "apiKeys/list", `{}`); !r.Success || strings.Contains(r.Text, k.Secret) {
		t.Errorf("list: %d %s", r.Status, r.Text)
	}
}

func TestAKeyHasEveryProperty(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	w := do[site](d, "owner", "websites/create", shop)
	expires := time.Now().Add(time.Hour).UTC().Truncate(time.Millisecond)
	k := do[apiKey](d, "owner", "apiKeys/create",
		fmt.Sprintf(`{"name":" Cafe\u0301 ","scopes":["track:events","read:data","track:events"],
		"access":{"type":"website","websiteId":%q},"expiresAt":%q,"rateLimit":{"enabled":true},
		"ipAllow":["192.0.2.7/24"],"idleExpiryDays":30,"tags":["b","a","b"]}`, w.ClientID, expires.Format(time.RFC3339Nano)))
	if k.Name != "Café" || k.Access.Type != "website" || k.Access.WebsiteID != w.ID || !k.ExpiresAt.Equal(expires) ||
		*k.IdleExpiryDays != 30 || k.CreatedBy != "usr_owner" {
		t.Errorf("key %+v", k)
	}
	if !k.RateLimit.Enabled || k.RateLimit.Limit != 300 || k.RateLimit.WindowSeconds != 60 {
		t.Errorf("a limit without figures is %+v", k.RateLimit)
	}
	if diff := cmp.Diff([][]string{{"track:events", "read:data"}, {"192.0.2.0/24"}, {"b", "a"}},
		[][]string{k.Scopes, k.IPAllow, k.Tags}); diff != "" {
		t.Errorf("lists (-want +got):\n%s", diff)
	}
	ref := `{"id":"` + k.ID + `",%s}`
	do[apiKey](d, "owner", "apiKeys/update", fmt.Sprintf(ref, `"rateLimit":{"enabled":true,"windowSeconds":3600},"version":1`))
	k = do[apiKey](d, "owner", "apiKeys/update", fmt.Sprintf(ref, `"rateLimit":{"enabled":true,"limit":500},"version":2`))
	if k.RateLimit.Limit != 500 || k.RateLimit.WindowSeconds != 3600 || k.Version != 3 || k.Name != "Café" ||
		*k.IdleExpiryDays != 30 {
		t.Errorf("after a change of the limit: %+v", k)
	}
	k = do[apiKey](d, "owner", "apiKeys/update", fmt.Sprintf(ref, `"rateLimit":{"enabled":false},"expiresAt":null,"idleExpiryDays":null,"ipAllow":[],"tags":[],"scopes":["read:data"],"name":"x"`))
	if again := do[apiKey](d, "owner", "apiKeys/update", fmt.Sprintf(ref,
		`"rateLimit":{"enabled":true}`)); again.RateLimit.Limit != 500 || again.RateLimit.WindowSeconds != 3600 {
		t.Errorf("a limit that is enabled again is %+v", again.RateLimit)
	}
	if k.RateLimit.Enabled || k.RateLimit.Limit != 500 || k.ExpiresAt != nil || k.IdleExpiryDays != nil ||
		len(k.IPAllow)+len(k.Tags) != 0 || len(k.Scopes) != 1 || k.Name != "x" {
		t.Errorf("after clearing: %+v", k)
	}
	global := do[apiKey](d, "owner", "apiKeys/create", ci)
	if global.Access.Type != "global" || global.RateLimit.Enabled || global.ExpiresAt != nil {
		t.Errorf("a plain key is %+v", global)
	}
}

func TestWhatIsWrongWithAKeyIsSaidByField(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	foreign := do[site](d, "stranger", "websites/create", shop)
	with := func(field string) string { return `{"name":"n","scopes":["read:data"],` + field + `}` }
	tags := func(n int) string { return `["` + strings.Join(numbers(n), `","`) + `"]` }
	for _, tc := range []struct{ body, field string }{
		{`{}`, "name"},
		{`{"name":"n"}`, "scopes"},
		{`{"name":"n","scopes":[]}`, "scopes"},
		{`{"name":"n","scopes":["read:dat"]}`, "scopes[0]"},
		{`{"name":"n","scopes":["read:data"],"colour":1}`, "colour"},
		{`{"name":"` + strings.Repeat("x", 101) + `","scopes":["read:data"]}`, "name"},
		{`{"name":"a\u0000b","scopes":["read:data"]}`, "name"},
		{with(`"expiresAt":"2001-01-01T00:00:00Z"`), "expiresAt"},
		{with(`"expiresAt":"tomorrow"`), "expiresAt"},
		{with(`"expiresAt":"9999-01-01T00:00:00Z"`), "expiresAt"},
		{with(`"rateLimit":{"enabled":true,"limit":0}`), "rateLimit.limit"},
		{with(`"rateLimit":{"enabled":true,"limit":100001}`), "rateLimit.limit"},
		{with(`"rateLimit":{"enabled":true,"windowSeconds":3601}`), "rateLimit.windowSeconds"},
		{with(`"rateLimit":{"limit":5}`), "rateLimit.enabled"},
		{with(`"rateLimit":5`), "rateLimit"},
		{with(`"ipAllow":["10.0.0.0/33"]`), "ipAllow[0]"},
		{with(`"ipAllow":["10.0.0.1","example.com"]`), "ipAllow[1]"},
		{with(`"idleExpiryDays":0`), "idleExpiryDays"},
		{with(`"idleExpiryDays":3651`), "idleExpiryDays"},
		{with(`"tags":` + tags(21)), "tags"},
		{with(`"tags":["ok",""]`), "tags[1]"},
		{with(`"tags":["` + strings.Repeat("x", 51) + `"]`), "tags[0]"},
		{with(`"access":{"type":"website"}`), "access.websiteId"},
		{with(`"access":{"type":"global","websiteId":"web_1"}`), "access.websiteId"},
		{with(`"access":{"type":"some"}`), "access.type"},
		{with(`"access":{}`), "access.type"},
	} {
		r := d.rejected("owner", "apiKeys/create", tc.body, 400, apierr.Validation)
		if len(r.Details) == 0 || r.Details[0].Field != tc.field {
			t.Errorf("%.100s: %s, want a problem of %s", tc.body, r.Text, tc.field)
		}
	}
	if r := d.call("owner", "apiKeys/create",
		`{"name":"n","scopes":["read:dat"]}`); r.Details[0].Suggestion != "Did you mean 'read:data'?" {
		t.Errorf("suggestion: %s", r.Text)
	}
	if r := d.call("owner", "apiKeys/create", with(`"tags":`+tags(20)+
		`,"idleExpiryDays":3650,"rateLimit":{"enabled":true,"limit":100000,"windowSeconds":3600}`)); !r.Success {
		t.Errorf("at the limits: %s", r.Text)
	}
	d.rejected("owner", "apiKeys/create",
		with(`"access":{"type":"website","websiteId":"`+foreign.ID+`"}`), 404, apierr.NotFound)
}

func numbers(n int) []string {
	texts := make([]string, n)
	for i := range texts {
		texts[i] = fmt.Sprint("t", i)
	}
	return texts
}

func TestAKeyNeverManagesKeys(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	k := do[apiKey](d, "owner", "apiKeys/create", ci)
	ref := `{"id":"` + k.ID + `"}`
	for operation, body := range map[string]string{
		"create": ci, "list": `{}`, "get": ref, "update": ref, "rotate": ref, "revoke": ref, "delete": ref,
	} {
		operation = "apiKeys/" + operation
		d.rejected(d.key("", "manage:config", "manage:websites"), operation, body, 403, apierr.AccessDenied)
		d.rejected("editor", operation, body, 403, apierr.Forbidden)
		d.rejected("viewer", operation, body, 403, apierr.Forbidden)
		d.rejected("", operation, body, 401, apierr.AuthRequired)
		if body == ref {
			d.rejected("stranger", operation, body, 404, apierr.NotFound)
		}
	}
}

func TestRotatedRevokedAndDeletedKeysAreRejectedAndStaySo(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	k := do[apiKey](d, "owner", "apiKeys/create", ci)
	ref := `{"id":"` + k.ID + `"}`
	second := do[apiKey](d, "owner", "apiKeys/rotate", ref)
	if second.ID != k.ID || d.accepts(k.Secret) || !d.accepts(second.Secret) || second.OldSecretUntil != nil {
		t.Errorf("rotated: %+v; the old secret is accepted: %t", second, d.accepts(k.Secret))
	}
	third := do[apiKey](d, "owner", "apiKeys/rotate", `{"id":"`+k.ID+`","gracePeriodSeconds":86400}`)
	if !d.accepts(second.Secret) || !d.accepts(third.Secret) || third.OldSecretUntil == nil {
		t.Errorf("rotated with a grace: %+v", third)
	}
	d.rejected("owner", "apiKeys/rotate", `{"id":"`+k.ID+`","gracePeriodSeconds":86401}`, 400, apierr.Validation)
	revoked := do[apiKey](d, "owner", "apiKeys/revoke", ref)
	if revoked.Status != "revoked" || revoked.RevokedAt == nil || d.accepts(second.Secret) || d.accepts(third.Secret) {
		t.Errorf("revoked: %+v", revoked)
	}
	for _, operation := range []string{"update", "rotate", "revoke"} {
		d.rejected("owner", "apiKeys/"+operation, ref, 409, apierr.Conflict)
	}
	if got := do[apiKey](d, "owner", "apiKeys/get", ref); got.Status != "revoked" {
		t.Errorf("a revoked key is %+v", got)
	}
	do[apiKey](d, "owner", "apiKeys/delete", ref)
	for _, operation := range []string{"get", "update", "rotate", "revoke", "delete"} { // as of a deleted website
		d.rejected("owner", "apiKeys/"+operation, ref, 404, apierr.NotFound)
	}
	if all := do[[]apiKey](d, "owner", "apiKeys/list", `{}`); len(all) != 0 {
		t.Errorf("the list has %+v", all)
	}
}

func TestOfThoseWhoEndAKeyAtOnceOneWins(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	k := do[apiKey](d, "owner", "apiKeys/create", ci)
	statuses := make([]int, 9)
	var wg sync.WaitGroup
	for i := range statuses {
		operation := []string{"rotate", "revoke", "delete"}[i%3]
		wg.Go(func() { statuses[i] = d.call("owner", "apiKeys/"+operation, `{"id":"`+k.ID+`","version":1}`).Status })
	}
	wg.Wait()
	got := map[int]int{}
	for _, s := range statuses {
		got[s]++
	}
	if got[200] != 1 || got[409]+got[404] != 8 { // 404 for who comes after a deletion
		t.Errorf("statuses %v, want one 200 and eight 409 or 404", statuses)
	}
}

func TestKeysAreFoundByStatusTagAndName(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	w := do[site](d, "owner", "websites/create", shop)
	w = do[site](d, "owner", "websites/rotateClientId", `{"id":"`+w.ID+`"}`) // else it is its id
	for _, body := range []string{
		`{"name":"one","scopes":["read:data"],"tags":["blue"," cafe\u0301"]}`,
		`{"name":"two","scopes":["read:data"],"access":{"type":"website","websiteId":"` + w.ID + `"}}`,
		`{"name":"three","scopes":["read:data"]}`,
	} {
		k := do[apiKey](d, "owner", "apiKeys/create", body)
		if k.Name == "three" {
			do[apiKey](d, "owner", "apiKeys/revoke", `{"id":"`+k.ID+`"}`)
		}
		waitMilli()
	}
	for body, want := range map[string][]string{
		`{}`:                                 {"three", "two", "one"},
		`{"sort":"createdAt"}`:               {"one", "two", "three"},
		`{"status":"active"}`:                {"two", "one"},
		`{"status":"revoked"}`:               {"three"},
		`{"tag":"blue"}`:                     {"one"},
		`{"tag":"cafe\u0301 "}`:              {"one"}, // as it was sent, which is not as it is kept
		`{"search":"WO"}`:                    {"two"},
		`{"websiteId":"` + w.ID + `"}`:       {"two"},
		`{"websiteId":"` + w.ClientID + `"}`: {"two"},
		`{"websiteId":"web_none"}`:           nil,
		`{"createdBy":"usr_owner"}`:          {"three", "two", "one"},
		`{"createdBy":"usr_admin"}`:          nil,
		`{"status":"expired","limit":100}`:   nil,
	} {
		var got []string
		for _, k := range do[[]apiKey](d, "owner", "apiKeys/list", body) {
			got = append(got, k.Name)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("list %s (-want +got):\n%s", body, diff)
		}
	}
	if all := do[[]apiKey](d, "stranger", "apiKeys/list", `{}`); len(all) != 0 {
		t.Errorf("a stranger sees %+v", all)
	}
}

func TestAKeyIsRejectedFromAddressesThatAreNotItsOwn(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	for _, tc := range []struct {
		ips    string
		status int
		code   apierr.Code
	}{
		{`["0.0.0.0"]`, 200, ""}, // from where these tests come
		{`["10.0.0.0/8","2001:db8::/32"]`, 403, apierr.IPNotAuthorized},
	} {
		k := do[apiKey](d, "owner", "apiKeys/create", `{"name":"n","scopes":["read:data"],"ipAllow":`+tc.ips+`}`)
		if r := d.call(k.Secret, "websites/list", `{}`); r.Status != tc.status || r.Code != string(tc.code) {
			t.Errorf("a key for %s: %d %s, want %d", tc.ips, r.Status, r.Text, tc.status)
		}
	}
}

func TestAResponseThatWasLostIsGivenAgainByItsIdempotencyKey(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	k := do[apiKey](d, "owner", "apiKeys/create", `{"name":"ci","scopes":["track:events"]}`)
	rotate := func(key string) *reply {
		return d.call("owner", "apiKeys/rotate", fmt.Sprintf(`{"id":%q}`, k.ID), "Idempotency-Key", key)
	}
	first, again := rotate("a"), rotate("a")
	if !first.Success || string(first.Data) != string(again.Data) || again.Header.Get("Idempotency-Replayed") != "true" {
		t.Errorf("rotate: %s\nand again: %s", first.Text, again.Text)
	}
	if next := rotate("b"); !next.Success || string(next.Data) == string(first.Data) {
		t.Errorf("rotate with another key: %s", next.Text)
	}
	d.rejected("owner", "apiKeys/revoke", fmt.Sprintf(`{"id":%q,"version":1}`, k.ID), 409, apierr.Conflict)
}
