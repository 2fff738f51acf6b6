package management_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/contract/id"
	"github.com/millrace/millrace/web/tracker"
)

// site is a website as the wire has it.
type site struct {
	ID, ClientID, Name, Domain, Timezone, OrganizationID, CreatedBy string
	OldClientID                                                     *string
	OldClientIDUntil, DeletedAt, RestorableUntil                    *time.Time
	CreatedAt, UpdatedAt                                            time.Time
	Version                                                         int64
	IsPublic                                                        bool
	Settings                                                        map[string]any
}

const shop = `{"name":"Shop","domain":"https://www.Shop.example/"}`

func TestAWebsiteIsMadeWithEverySettingAtItsDefault(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	r := d.call("editor", "websites/create", shop)
	var w site
	if err := json.Unmarshal(r.Data, &w); err != nil || r.Status != 201 { //nolint:musttag // the names differ in case only
		t.Fatalf("%d %s: %v", r.Status, r.Text, err)
	}
	if !id.Valid("web", w.ID) || w.ClientID != w.ID || w.OrganizationID != d.own.ID ||
		w.CreatedBy != "usr_editor" || w.Version != 1 {
		t.Errorf("website %+v", w)
	}
	var got map[string]any
	if err := json.Unmarshal(r.Data, &got); err != nil {
		t.Fatal(err)
	}
	for _, field := range []string{"id", "clientId", "organizationId", "createdAt", "updatedAt"} {
		delete(got, field)
	}
	empty := []any{}
	want := map[string]any{
		"version": 1.0, "oldClientId": nil, "oldClientIdUntil": nil, "name": "Shop", "domain": "shop.example",
		"timezone": "UTC",
		"isPublic": false, "deletedAt": nil, "restorableUntil": nil, "createdBy": "usr_editor",
		"settings": map[string]any{
			"allowedOrigins": empty, "allowedIps": empty, "excludedPaths": empty, "excludedIps": empty, "maskPatterns": empty,
			"anonymizeVisitorIds": true, "sessionTimeoutMinutes": 30.0, "botFilter": true, "honorGlobalPrivacyControl": false,
			"honorDoNotTrack": false, "dataRetentionDays": nil, "trackQueryParams": empty,
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}
}

func TestEverySettingOfAWebsiteIsKeptAndChangedAlone(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	w := do[site](d, "owner", "websites/create",
		`{"name":" Cafe\u0301 ","domain":"BÜCHER.example:8080","timezone":"Europe/Berlin","isPublic":true,
		"settings":{"allowedOrigins":["*.Shop.example","https://b\u00fccher.example/x"],"botFilter":false}}`)
	if w.Name != "Café" || w.Domain != "xn--bcher-kva.example" || w.Timezone != "Europe/Berlin" || !w.IsPublic {
		t.Errorf("website %+v", w)
	}
	settings := w.Settings
	ref := `{"id":"` + w.ID + `","settings":{%s}}`
	for _, tc := range []struct {
		name, send string
		want       any
	}{
		{"allowedIps", `["::ffff:192.0.2.1","10.1.2.3/8","192.0.2.1"]`, []any{"192.0.2.1", "10.0.0.0/8"}},
		{"excludedPaths", `["/admin/**"]`, []any{"/admin/**"}},
		{"excludedIps", `["2001:DB8::/32"]`, []any{"2001:db8::/32"}},
		{"maskPatterns", `["/users/*"]`, []any{"/users/*"}},
		{"anonymizeVisitorIds", `"auto"`, "auto"},
		{"anonymizeVisitorIds", `false`, false},
		{"sessionTimeoutMinutes", `1440`, 1440.0},
		{"botFilter", `true`, true},
		{"honorGlobalPrivacyControl", `true`, true},
		{"honorDoNotTrack", `true`, true},
		{"dataRetentionDays", `90`, 90.0},
		{"dataRetentionDays", `null`, nil},
		{"trackQueryParams", `["q"]`, []any{"q"}},
		{"allowedOrigins", `[]`, []any{}},
	} {
		settings[tc.name] = tc.want
		got := do[site](d, "owner", "websites/update", fmt.Sprintf(ref, `"`+tc.name+`":`+tc.send))
		if diff := cmp.Diff(settings, got.Settings); diff != "" {
			t.Errorf("after %s = %s (-want +got):\n%s", tc.name, tc.send, diff)
		}
	}
	got := do[site](d, "owner", "websites/get", `{"id":"`+w.ID+`"}`)
	if diff := cmp.Diff(settings, got.Settings); diff != "" || got.Version != 15 {
		t.Errorf("version %d, settings (-want +got):\n%s", got.Version, diff)
	}
	if again := do[site](d, "owner", "websites/update", `{"id":"`+w.ID+`","name":"Café"}`); again.Version != 15 {
		t.Errorf("an update that changes nothing made version %d", again.Version)
	}
}

func TestWhatIsWrongWithAWebsiteIsSaidByField(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	long := strings.Repeat("a", 300)
	entries := func(n int) string { return `["a` + strings.Repeat(`.example","a`, n-1) + `"]` }
	for _, tc := range []struct{ body, field string }{
		{`{}`, "domain"},
		{`{"name":"n"}`, "domain"},
		{`{"name":"n","domain":"a.example","color":"red"}`, "color"},
		{`{"name":7,"domain":"a.example"}`, "name"},
		{`{"name":"` + long + `","domain":"a.example"}`, "name"},
		{`{"name":"line\nbreak","domain":"a.example"}`, "name"},
		{`{"name":"a\u202eb","domain":"a.example"}`, "name"},
		{`{"name":"   ","domain":"a.example"}`, "name"},
		{`{"name":"n","domain":"exa mple.com"}`, "domain"},
		{`{"name":"n","domain":"a.example\r\nX-Evil: 1"}`, "domain"},
		{`{"name":"n","domain":"xn--a.example"}`, "domain"},
		{`{"name":"n","domain":"a\u200b.example"}`, ""}, // taken away, as browsers do
		{`{"name":"n","domain":"` + long + `"}`, "domain"},
		{`{"name":"n","domain":"a.example","timezone":"Mars/Base"}`, "timezone"},
		{`{"name":"n","domain":"a.example","timezone":"Local"}`, "timezone"},
		{`{"name":"n","domain":"a.example","timezone":"Factory"}`, "timezone"},
		{`{"name":"n","domain":"a.example","timezone":"../etc/passwd"}`, "timezone"},
		{`{"name":"n","domain":"a.example","settings":{"allowedOrigins":["https://"]}}`, "settings.allowedOrigins[0]"},
		{`{"name":"n","domain":"a.example","settings":{"allowedOrigins":["*"]}}`, "settings.allowedOrigins[0]"},
		{`{"name":"n","domain":"a.example","settings":{"allowedOrigins":["*.xn--a.example"]}}`, "settings.allowedOrigins[0]"},
		{
			`{"name":"n","domain":"a.example","settings":{"allowedOrigins":["a.example","*.10.0.0.1"]}}`,
			"settings.allowedOrigins[1]",
		},
		{`{"name":"n","domain":"a.example","settings":{"allowedOrigins":` + entries(101) + `}}`, "settings.allowedOrigins"},
		{`{"name":"n","domain":"a.example","settings":{"allowedIps":["10.0.0.0/33"]}}`, "settings.allowedIps[0]"},
		{`{"name":"n","domain":"a.example","settings":{"excludedIps":["ten"]}}`, "settings.excludedIps[0]"},
		{`{"name":"n","domain":"a.example","settings":{"excludedPaths":["admin"]}}`, "settings.excludedPaths[0]"},
		{`{"name":"n","domain":"a.example","settings":{"maskPatterns":["/a b"]}}`, "settings.maskPatterns[0]"},
		{`{"name":"n","domain":"a.example","settings":{"trackQueryParams":["a=b"]}}`, "settings.trackQueryParams[0]"},
		{`{"name":"n","domain":"a.example","settings":{"anonymizeVisitorIds":"yes"}}`, "settings.anonymizeVisitorIds"},
		{`{"name":"n","domain":"a.example","settings":{"sessionTimeoutMinutes":0}}`, "settings.sessionTimeoutMinutes"},
		{`{"name":"n","domain":"a.example","settings":{"sessionTimeoutMinutes":1441}}`, "settings.sessionTimeoutMinutes"},
		{`{"name":"n","domain":"a.example","settings":{"dataRetentionDays":3651}}`, "settings.dataRetentionDays"},
		{`{"name":"n","domain":"a.example","settings":{"botFilter":null}}`, "settings.botFilter"},
		{`{"name":null,"domain":"a.example"}`, "name"},
	} {
		r := d.call("owner", "websites/create", tc.body)
		if tc.field == "" {
			if !r.Success {
				t.Errorf("%.120s: %s, want it made", tc.body, r.Text)
			}
			continue
		}
		if r.Status != 400 || r.Code != string(apierr.Validation) || len(r.Details) == 0 || r.Details[0].Field != tc.field ||
			!strings.Contains(r.Details[0].Message, tc.field) {
			t.Errorf("%.120s: %d %s, want a problem of %s", tc.body, r.Status, r.Text, tc.field)
		}
	}
}

func TestADomainIsTakenOnceInAnOrganization(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	first := do[site](d, "owner", "websites/create", shop)
	d.rejected("owner", "websites/create", `{"name":"n","domain":"shop.EXAMPLE"}`, 409, apierr.Conflict)
	do[site](d, "stranger", "websites/create", shop)
	ref := `{"id":"` + first.ID + `"}`
	do[site](d, "owner", "websites/delete", ref)
	second := do[site](d, "owner", "websites/create", shop)
	d.rejected("owner", "websites/restore", ref, 409, apierr.Conflict)
	do[site](d, "owner", "websites/delete", `{"id":"`+second.ID+`"}`)
	restored := do[site](d, "owner", "websites/restore", ref)
	if restored.DeletedAt != nil || restored.Version != 3 || restored.Domain != "shop.example" {
		t.Errorf("restored %+v", restored)
	}
	d.rejected("owner", "websites/restore", ref, 409, apierr.Conflict)
}

func TestAWebsiteGoesThroughItsLife(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	w := do[site](d, "owner", "websites/create", shop)
	ref := `{"id":"` + w.ID + `"}`
	if got := do[site](d, "owner", "websites/publish", ref); !got.IsPublic || got.Version != 2 {
		t.Errorf("published %+v", got)
	}
	if got := do[site](d, "owner", "websites/publish", ref); got.Version != 2 {
		t.Errorf("published again: version %d", got.Version)
	}
	if got := do[site](d, "owner", "websites/unpublish", ref); got.IsPublic {
		t.Errorf("unpublished %+v", got)
	}
	got := do[site](d, "owner", "websites/rotateClientId", `{"id":"`+w.ID+`","gracePeriodSeconds":60}`)
	if got.ClientID == w.ID || got.OldClientID == nil || *got.OldClientID != w.ID || got.OldClientIDUntil == nil {
		t.Errorf("rotated %+v", got)
	}
	if byClientID := do[site](d, "owner", "websites/get", `{"id":"`+got.ClientID+`"}`); byClientID.ID != w.ID {
		t.Errorf("by client id %+v", byClientID)
	}
	d.rejected("owner", "websites/rotateClientId", `{"id":"`+w.ID+`","gracePeriodSeconds":2592001}`,
		400, apierr.Validation)
	snippet := do[struct{ ClientID, IngestURL, ScriptURL, Integrity, HTML, FloatingHTML string }](d, "viewer",
		"websites/snippet", ref)
	script := tracker.Script()
	rest := ` data-client-id="` + got.ClientID + `" data-api-url="https://in.example.com"` +
		` data-track-web-vitals="true" data-track-errors="true" data-track-outgoing-links="true"></script>`
	pinned := `<script async src="https://in.example.com/` + script.Hashed + `" integrity="` + script.Integrity +
		`" crossorigin="anonymous"` + rest
	if snippet.HTML != pinned || snippet.Integrity != script.Integrity ||
		snippet.ScriptURL != "https://in.example.com/tracker.js" ||
		snippet.FloatingHTML != `<script async src="https://in.example.com/tracker.js"`+rest {
		t.Errorf("snippet %+v", snippet)
	}
	for _, v := range []struct{ minutes, attribute string }{
		{"1", ` data-session-timeout-minutes="1"`}, {"1440", ` data-session-timeout-minutes="1440"`}, {"30", ""},
	} {
		do[site](d, "owner", "websites/update", `{"id":"`+w.ID+`","settings":{"sessionTimeoutMinutes":`+v.minutes+`}}`)
		got := do[struct{ HTML, FloatingHTML string }](d, "viewer", "websites/snippet", ref)
		for _, html := range []string{got.HTML, got.FloatingHTML} {
			if !strings.HasSuffix(html, ` data-track-outgoing-links="true"`+v.attribute+`></script>`) {
				t.Errorf("with sessions of %s minutes: %s", v.minutes, html)
			}
		}
	}
	d.rejected("owner", "websites/update", `{"id":"`+w.ID+`","name":"Late","version":1}`, 409, apierr.Conflict)
	deleted := do[site](d, "owner", "websites/delete", ref)
	if deleted.DeletedAt == nil || !deleted.RestorableUntil.Equal(deleted.DeletedAt.Add(30*24*time.Hour)) {
		t.Errorf("deleted %+v", deleted)
	}
	for _, operation := range []string{"get", "update", "publish", "delete", "snippet", "rotateClientId"} {
		d.rejected("owner", "websites/"+operation, ref, 404, apierr.NotFound)
	}
	if all := do[[]site](d, "owner", "websites/list", `{}`); len(all) != 0 {
		t.Errorf("the list has %+v", all)
	}
	if all := do[[]site](d, "owner", "websites/list", `{"deleted":true}`); len(all) != 1 || all[0].ID != w.ID {
		t.Errorf("the list of deleted ones has %+v", all)
	}
}

func TestWhoMayDoWhatWithWebsites(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	first := do[site](d, "owner", "websites/create", shop)
	second := do[site](d, "owner", "websites/create", `{"name":"Blog","domain":"blog.example"}`)
	all, reader, limited := d.key("", "manage:websites"), d.key("", "read:data"), d.key(first.ID,
		"manage:websites", "read:data")
	other := d.key("", "track:events")
	ref := func(w site) string { return `{"id":"` + w.ID + `"}` }
	for _, tc := range []struct {
		who, operation, body string
		status               int
		code                 apierr.Code
	}{
		{"", "get", ref(first), 401, apierr.AuthRequired},
		{"viewer", "get", ref(first), 200, ""},
		{"viewer", "publish", ref(first), 403, apierr.Forbidden},
		{"editor", "publish", ref(first), 200, ""},
		{"stranger", "get", ref(first), 404, apierr.NotFound},
		{"stranger", "update", `{"id":"` + first.ID + `","name":"Mine"}`, 404, apierr.NotFound},
		{"stranger", "get", `{"id":"` + first.ID + `","organizationId":"` + d.own.ID + `"}`, 404, apierr.NotFound},
		{reader, "get", ref(first), 403, apierr.Forbidden},
		{reader, "list", `{}`, 200, ""},
		{reader, "publish", ref(first), 403, apierr.Forbidden},
		{all, "publish", ref(second), 200, ""},
		{all, "create", `{"name":"n","domain":"third.example"}`, 201, ""},
		{all, "get", `{"id":"` + first.ID + `","organizationId":"` + d.other.ID + `"}`, 404, apierr.NotFound},
		{limited, "publish", ref(first), 200, ""},
		{limited, "get", ref(second), 403, apierr.AccessDenied},
		{limited, "delete", ref(second), 403, apierr.AccessDenied},
		{limited, "create", `{"name":"n","domain":"fourth.example"}`, 403, apierr.AccessDenied},
		{other, "list", `{}`, 403, apierr.Forbidden},
		{"owner", "get", `{"id":"web_none"}`, 404, apierr.NotFound},
		{"owner", "get", `{"id":"' OR 1=1 --"}`, 404, apierr.NotFound},
	} {
		r := d.call(tc.who, "websites/"+tc.operation, tc.body)
		if r.Status != tc.status || r.Code != string(tc.code) {
			t.Errorf("%s %s by %.12s: %d %s, want %d %s", tc.operation, tc.body, tc.who, r.Status, r.Text, tc.status, tc.code)
		}
	}
	if got := do[[]site](d, limited, "websites/list", `{}`); len(got) != 1 || got[0].ID != first.ID {
		t.Errorf("a key of one website lists %+v", got)
	}
}

func TestWebsitesAreListedPageByPage(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	var made []string
	for i := range 3 {
		made = append(made,
			do[site](d, "owner", "websites/create", fmt.Sprintf(`{"name":"Site %d","domain":"s%d.example"}`, i, i)).ID)
		waitMilli() // ids of one millisecond have no order
	}
	for sort, want := range map[string][]string{"createdAt": made, "-createdAt": {made[2], made[1], made[0]}} {
		var got []string
		for cursor := ""; ; {
			r := d.call("viewer", "websites/list", fmt.Sprintf(`{"limit":2,"sort":%q%s}`, sort, cursor))
			var page []site
			if err := json.Unmarshal(r.Data, &page); err != nil { //nolint:musttag // the names differ in case only
				t.Fatalf("%s: %v", r.Text, err)
			}
			for _, w := range page {
				got = append(got, w.ID)
			}
			if r.Pagination.NextCursor == nil {
				break
			}
			cursor = fmt.Sprintf(`,"cursor":%q`, *r.Pagination.NextCursor)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("sorted by %s (-want +got):\n%s", sort, diff)
		}
	}
	if got := do[[]site](d, "viewer", "websites/list", `{"search":"SITE 1"}`); len(got) != 1 || got[0].ID != made[1] {
		t.Errorf("a search found %+v", got)
	}
	d.rejected("viewer", "websites/list", `{"cursor":"nonsense"}`, 400, apierr.Validation)
	d.rejected("viewer", "websites/list", `{"limit":101}`, 400, apierr.Validation)
}

// waitMilli returns when the clock shows another millisecond.
func waitMilli() {
	for start := time.Now().UnixMilli(); time.Now().UnixMilli() == start; {
	}
}

// Which addresses and pages may send is for who manages websites: a key that reads data
// needs to know which websites there are, and no more (specification, 5.3).
func TestAKeyThatReadsDataLearnsNoRulesOfAWebsite(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	w := do[site](d, "owner", "websites/create",
		`{"name":"Shop","domain":"shop.example","settings":{"allowedIps":["192.0.2.7"]}}`)
	reader, manager := d.key("", "read:data"), d.key("", "read:data", "manage:websites")
	ref := fmt.Sprintf(`{"id":%q}`, w.ID)
	d.rejected(reader, "websites/get", ref, http.StatusForbidden, apierr.Forbidden)
	for who, sees := range map[string]bool{
		reader: false, manager: true, d.key("", "manage:websites"): true, "viewer": true,
	} {
		list := d.call(who, "websites/list", `{}`)
		if list.Status != http.StatusOK || !strings.Contains(list.Text, w.ID) ||
			strings.Contains(list.Text, "192.0.2.7") != sees {
			t.Errorf("websites/list by %s: %d %s", who, list.Status, list.Text)
		}
	}
	if got := d.call(manager, "websites/get", ref); got.Status != http.StatusOK ||
		!strings.Contains(got.Text, "192.0.2.7") {
		t.Errorf("websites/get by who manages: %d %s", got.Status, got.Text)
	}
	if got := d.call(reader, "websites/snippet", ref); got.Status != http.StatusOK {
		t.Errorf("websites/snippet: %d %s", got.Status, got.Text)
	}
}
