package management_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/contract/apierr"
)

type linkData struct {
	ID, ShortURL, Slug, URL, Status, FolderID, ExternalID string
	Version                                               int64
	Tags                                                  []string
	HasPassword, Enabled, ForwardQuery, Created           bool
	RedirectStatus                                        int
	MaxClicks                                             *int64
	UTM                                                   map[string]string
}

func TestALinkIsMadeWithItsDefaults(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	r := d.call("editor", "links/create", `{"url":"https://example.com/sale","slug":"Sale-26"}`)
	if r.Status != http.StatusCreated {
		t.Errorf("status %d, want 201: %s", r.Status, r.Text)
	}
	got := do[linkData](d, "viewer", "links/get", `{"slug":"sale-26"}`)
	want := linkData{
		ID: got.ID, ShortURL: "https://go.example.com/Sale-26", Slug: "Sale-26", URL: "https://example.com/sale",
		Status:  "active",
		Version: 1, Tags: []string{}, Enabled: true, ForwardQuery: true, RedirectStatus: 302, UTM: map[string]string{},
	}
	if diff := cmp.Diff(want, got); diff != "" || !strings.HasPrefix(got.ID, "lnk_") {
		t.Errorf("links/get (-want +got):\n%s", diff)
	}
	if made := do[linkData](d, "editor", "links/create", `{"url":"https://example.com"}`); len(made.Slug) != 8 {
		t.Errorf("a made up slug is %q", made.Slug)
	}
}

func TestAChangeOfALinkKeepsWhatItDoesNotName(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	made := do[linkData](d, "editor", "links/create",
		`{"url":"https://example.com","password":"secret","maxClicks":7,"utm":{"source":"a","medium":"b"},"tags":["x"]}`)
	if !made.HasPassword || *made.MaxClicks != 7 {
		t.Errorf("made %+v", made)
	}
	for _, step := range []struct {
		patch string
		check func(linkData) bool
	}{
		{`"name":"Sale"`, func(l linkData) bool {
			return l.HasPassword && *l.MaxClicks == 7 && len(l.UTM) == 2 && len(l.Tags) == 1
		}},
		{`"utm":{"source":"c"}`, func(l linkData) bool { return len(l.UTM) == 1 && l.UTM["source"] == "c" }},
		{`"password":null,"maxClicks":null,"utm":{},"tags":[]`, func(l linkData) bool {
			return !l.HasPassword && l.MaxClicks == nil && len(l.UTM) == 0 && len(l.Tags) == 0
		}},
		{`"enabled":false`, func(l linkData) bool { return l.Status == "disabled" }},
	} {
		if got := do[linkData](d, "editor", "links/update", fmt.Sprintf(`{"id":%q,%s}`,
			made.ID, step.patch)); !step.check(got) {
			t.Errorf("after %s: %+v", step.patch, got)
		}
	}
	d.rejected("editor", "links/update", fmt.Sprintf(`{"id":%q,"version":1,"name":"x"}`, made.ID), 409, apierr.Conflict)
	if r := d.call("admin", "links/get", fmt.Sprintf(`{"id":%q}`, made.ID)); strings.Contains(r.Text, "argon2id") {
		t.Errorf("the hash of a password is told: %s", r.Text)
	}
}

func TestWhoMayReachLinks(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	made := do[linkData](d, "editor", "links/create", `{"url":"https://example.com","slug":"sale"}`)
	byID := fmt.Sprintf(`{"id":%q}`, made.ID)
	site := do[struct{ ID string }](d, "owner", "websites/create", `{"name":"Shop","domain":"shop.example.com"}`).ID
	reads, writes, data := d.key("", "read:links"), d.key("", "write:links"), d.key("", "read:data",
		"manage:websites", "manage:config")
	if got := do[linkData](d, reads, "links/get", byID); got.ID != made.ID {
		t.Errorf("a key reads %+v", got)
	}
	do[linkData](d, writes, "links/update", fmt.Sprintf(`{"id":%q,"name":"x"}`, made.ID))
	d.rejected("viewer", "links/update", byID, 403, apierr.Forbidden)
	d.rejected(reads, "links/update", byID, 403, apierr.Forbidden)
	d.rejected(writes, "links/get", byID, 403, apierr.Forbidden)
	d.rejected(data, "links/list", `{}`, 403, apierr.Forbidden)
	d.rejected(d.key(site, "read:links", "write:links"), "links/list", `{}`, 403, apierr.AccessDenied)
	d.rejected(d.key(site, "read:links", "write:links"), "linkFolders/create", `{"name":"x"}`, 403, apierr.AccessDenied)
	d.rejected("stranger", "links/get", byID, 404, apierr.NotFound)
	d.rejected("stranger", "links/update", byID, 404, apierr.NotFound)
	d.rejected("stranger", "links/get", `{"slug":"sale"}`, 404, apierr.NotFound)
	d.rejected("", "links/get", byID, 401, apierr.AuthRequired)
}

func TestALinkAgainstTheRulesIsRejectedWithItsField(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	do[linkData](d, "editor", "links/create", `{"url":"https://example.com","slug":"sale","externalId":"x"}`)
	for body, field := range map[string]string{
		`{}`:                                 "url",
		`{"url":"javascript:alert(1)"}`:      "url",
		`{"url":"https://go.example.com/x"}`: "url",
		`{"url":"https://example.com","slug":"ab"}`:                                                          "slug",
		`{"url":"https://example.com","slug":"admin"}`:                                                       "slug",
		`{"url":"https://example.com","redirectStatus":303}`:                                                 "redirectStatus",
		`{"url":"https://example.com","maxClicks":0}`:                                                        "maxClicks",
		`{"url":"https://example.com","maxClicks":1000000001}`:                                               "maxClicks",
		`{"url":"https://example.com","password":"abc"}`:                                                     "password",
		`{"url":"https://example.com","utm":{"ref":"x"}}`:                                                    "utm.ref",
		`{"url":"https://example.com","expiredUrl":"data:text/html,x"}`:                                      "expiredUrl",
		`{"url":"https://example.com","tags":["a","b","c","d","e","f","g","h","i","j","k"]}`:                 "tags",
		`{"url":"https://example.com","startsAt":"2026-01-02T00:00:00Z","expiresAt":"2026-01-02T00:00:00Z"}`: "expiresAt",
		`{"url":"https://example.com/` + strings.Repeat("p", 2048) + `"}`:                                    "url",
		`{"url":"https://example.com","name":"` + strings.Repeat("n", 256) + `"}`:                            "name",
		`{"url":"https://example.com","externalId":"` + strings.Repeat("n", 256) + `"}`:                      "externalId",
		`{"url":"https://example.com","utm":{"source":"` + strings.Repeat("n", 256) + `"}}`:                  "utm.source",
		`{"url":"https://example.com","password":"` + strings.Repeat("n", 129) + `"}`:                        "password",
		`{"url":"https://example.com","slug":"` + strings.Repeat("n", 51) + `"}`:                             "slug",
		`{"url":"https://example.com","tags":["` + strings.Repeat("n", 51) + `"]}`:                           "tags[0]",
		`{"url":"https://example.com","startsAt":"tomorrow"}`:                                                "startsAt",
		`{"url":"https://user:pw@example.com"}`:                                                              "url",
	} {
		r := d.rejected("editor", "links/create", body, 400, apierr.Validation)
		if len(r.Details) == 0 || r.Details[0].Field != field {
			t.Errorf("%.80s: %s, want a detail of %s", body, r.Text, field)
		}
	}
	taken := d.rejected("editor", "links/create", `{"url":"https://example.com","slug":"SALE"}`, 409, apierr.Conflict)
	if taken.Error != "This slug is already taken" {
		t.Errorf("a slug that is taken: %s", taken.Text)
	}
	d.rejected("stranger", "links/create", `{"url":"https://example.com","slug":"sale"}`, 409, apierr.Conflict)
	d.rejected("editor", "links/create", `{"url":"https://example.com","externalId":"x"}`, 409, apierr.Conflict)
	d.rejected("editor", "links/create", `{"url":"https://example.com","folderId":"fld_none"}`, 404, apierr.NotFound)
	d.rejected("editor", "links/get", `{}`, 400, apierr.Validation)
	d.rejected("editor", "links/get", `{"slug":"sale","externalId":"x"}`, 400, apierr.Validation)
}

func TestOneLinkMoreThanThereMayBeIsRejectedWithTheLimit(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	for range 3 {
		do[linkData](d, "editor", "links/create", `{"url":"https://example.com"}`)
	}
	if r := d.rejected("editor", "links/create", `{"url":"https://example.com"}`, 402,
		apierr.QuotaExceeded); r.Error != "The organization has reached its limit of 3 links" {
		t.Errorf("refused with %s", r.Text)
	}
}

func TestManyLinksAreMadeChangedAndDeletedEachByItself(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	type items struct {
		Items []struct {
			OK          bool
			Data        linkData
			Error, Code string
			Errors      []struct{ Field, Rule, Message string }
		}
	}
	made := do[items](d, "editor", "links/bulkCreate", `{"items":[{"url":"https://example.com/1","slug":"one"},`+
		`{"url":"https://example.com/2","slug":"ONE"},{"url":"ftp://example.com"},{"url":"https://example.com/4"},{"url":"https://example.com/5"},{"url":"https://example.com/6"}]}`).Items
	var codes []string
	for _, item := range made {
		codes = append(codes, item.Code)
		if item.OK != (item.Code == "") || item.OK != (item.Data.ID != "") || item.OK != (item.Error == "") {
			t.Errorf("item %+v", item)
		}
	}
	if diff := cmp.Diff([]string{"", "CONFLICT", "VALIDATION_ERROR", "", "", "QUOTA_EXCEEDED"}, codes); diff != "" {
		t.Fatalf("codes (-want +got):\n%s", diff)
	}
	if got := made[2].Errors; len(got) != 1 || got[0].Field != "url" || got[0].Rule != "scheme" {
		t.Errorf("problems %+v", got)
	}
	changed := do[items](d, "editor", "links/bulkUpdate", fmt.Sprintf(
		`{"items":[{"id":%q,"enabled":false},{"id":"lnk_none","enabled":false},{"id":%q,"version":9,"enabled":false}]}`,
		made[0].Data.ID, made[3].Data.ID)).Items
	if !changed[0].OK || changed[0].Data.Status != "disabled" || changed[1].Code != "NOT_FOUND" ||
		changed[2].Code != "CONFLICT" {
		t.Errorf("changed %+v", changed)
	}
	deleted := do[items](d, "editor", "links/bulkDelete", fmt.Sprintf(`{"items":[{"id":%q},{"id":%q}]}`,
		made[0].Data.ID, made[0].Data.ID)).Items
	if !deleted[0].OK || deleted[1].Code != "NOT_FOUND" {
		t.Errorf("deleted %+v", deleted)
	}
	most := do[items](d, "editor", "links/bulkDelete",
		`{"items":[`+strings.Repeat(`{"id":"lnk_none"},`, 99)+`{"id":"lnk_none"}]}`).Items
	if len(most) != 100 {
		t.Errorf("%d items are answered", len(most))
	}
	for body, field := range map[string]string{
		`{"items":[]}`: "items",
		`{"items":[` + strings.Repeat(`{"url":"https://example.com"},`, 100) + `{"url":"https://example.com"}]}`: "items",
		`{"items":[{"url":"https://example.com"},{"slug":"two"}]}`:                                               "items[1].url",
		`{"items":[{"url":"https://example.com"},{"url":"https://example.com","maxClicks":0}]}`:                  "items[1].maxClicks",
	} {
		r := d.rejected("editor", "links/bulkCreate", body, 400, apierr.Validation)
		if len(r.Details) == 0 || r.Details[0].Field != field {
			t.Errorf("%.80s: %s, want a detail of %s", body, r.Text, field)
		}
	}
}

func TestALinkThatIsMadeTwiceWithOneIdempotencyKeyIsMadeOnce(t *testing.T) {
	t.Parallel()
	for operation, body := range map[string]string{
		"links/create":     `{"url":"https://example.com"}`,
		"links/upsert":     `{"url":"https://example.com","externalId":"x"}`,
		"links/bulkCreate": `{"items":[{"url":"https://example.com"}]}`,
	} {
		d := newFixture(t)
		first := d.call("editor", operation, body, "Idempotency-Key", "k")
		again := d.call("editor", operation, body, "Idempotency-Key", "k")
		if !first.Success || first.Status != again.Status || string(first.Data) != string(again.Data) ||
			again.Header.Get("Idempotency-Replayed") != "true" {
			t.Errorf("%s: %s, then %d %s", operation, first.Text, again.Status, again.Text)
		}
		if all := do[[]linkData](d, "viewer", "links/list", `{}`); len(all) != 1 {
			t.Errorf("%s: %d links", operation, len(all))
		}
	}
}

func TestAnUpsertSaysWhetherTheLinkIsNew(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	first := do[linkData](d, "editor", "links/upsert", `{"url":"https://example.com/1","externalId":"x"}`)
	second := do[linkData](d, "editor", "links/upsert", `{"url":"https://example.com/2","externalId":"x"}`)
	kept := do[linkData](d, "editor", "links/upsert", `{"externalId":"x","name":"n"}`)
	if !first.Created || second.Created || second.ID != first.ID || second.Version != 2 ||
		kept.URL != "https://example.com/2" {
		t.Errorf("%+v, then %+v, then %+v", first, second, kept)
	}
	d.rejected("editor", "links/upsert", `{"externalId":"y"}`, 400, apierr.Validation)
	d.rejected("editor", "links/upsert", `{"url":"https://example.com"}`, 400, apierr.Validation)
}

func TestALinkIsDeletedAndRestored(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	made := do[linkData](d, "editor", "links/create", `{"url":"https://example.com","slug":"sale"}`)
	byID := fmt.Sprintf(`{"id":%q}`, made.ID)
	d.rejected("editor", "links/restore", byID, 409, apierr.Conflict)
	if got := do[linkData](d, "editor", "links/delete", byID); got.Status != "deleted" {
		t.Errorf("deleted %+v", got)
	}
	for _, operation := range []string{"links/get", "links/update", "links/delete"} {
		d.rejected("editor", operation, byID, 404, apierr.NotFound)
	}
	if got := do[[]linkData](d, "viewer", "links/list", `{"status":"deleted"}`); len(got) != 1 {
		t.Errorf("deleted ones: %+v", got)
	}
	if got := do[linkData](d, "editor", "links/restore", byID); got.Status != "active" || got.Slug != "sale" {
		t.Errorf("restored %+v", got)
	}
}

func TestASlugIsSaidToBeFreeOrWhyNot(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	do[linkData](d, "editor", "links/create", `{"url":"https://example.com","slug":"sale"}`)
	type check struct {
		Available bool
		Reason    string
	}
	for slug, want := range map[string]check{
		"summer": {Available: true}, "SALE": {Reason: "taken"}, "admin": {Reason: "reserved"},
		"a/b": {Reason: "invalid_slug"},
	} {
		if got := do[check](d, "viewer", "links/checkSlug", fmt.Sprintf(`{"slug":%q}`, slug)); got != want {
			t.Errorf("%s: %+v, want %+v", slug, got, want)
		}
	}
	if got := do[check](d, "stranger", "links/checkSlug", `{"slug":"sale"}`); got.Reason != "taken" {
		t.Errorf("of another organization: %+v", got)
	}
}

func TestFoldersAndTagsSortLinks(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	folder := do[struct {
		ID      string
		Version int64
	}](d, "editor", "linkFolders/create", `{"name":"Ads"}`)
	d.rejected("editor", "linkFolders/create", `{"name":"ads"}`, 409, apierr.Conflict)
	d.rejected("editor", "linkFolders/create", `{"name":"`+strings.Repeat("n", 81)+`"}`, 400, apierr.Validation)
	d.rejected("viewer", "linkFolders/create", `{"name":"x"}`, 403, apierr.Forbidden)
	in := do[linkData](d, "editor", "links/create",
		fmt.Sprintf(`{"url":"https://example.com","folderId":%q,"tags":["b","a","b"]}`, folder.ID))
	out := do[linkData](d, "editor", "links/create", `{"url":"https://example.com","tags":["b"]}`)
	if diff := cmp.Diff([]string{"b", "a"}, in.Tags); diff != "" {
		t.Errorf("tags (-want +got):\n%s", diff)
	}
	oldest := []string{in.ID, out.ID}
	slices.Sort(oldest) // the ids of one millisecond are in no order
	for filter, want := range map[string][]string{
		`{}`: {oldest[1], oldest[0]}, `{"sort":"createdAt"}`: oldest, fmt.Sprintf(`{"folderId":%q}`, folder.ID): {in.ID},
		`{"folderId":null}`: {out.ID}, `{"tag":"a"}`: {in.ID}, `{"tag":" a"}`: {in.ID}, `{"search":"` + in.Slug[:4] + `"}`: {in.ID},
		`{"status":"disabled"}`: nil,
	} {
		var got []string
		for _, l := range do[[]linkData](d, "viewer", "links/list", filter) {
			got = append(got, l.ID)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", filter, diff)
		}
	}
	for n, status := range map[int]int{1: 400, 2: 200, 100: 200, 101: 400} {
		if r := d.call("viewer", "links/list", `{"search":"`+strings.Repeat("x", n)+`"}`); r.Status != status {
			t.Errorf("a search of %d characters: %d, want %d", n, r.Status, status)
		}
	}
	d.rejected("editor", "linkFolders/create", `{"name":""}`, 400, apierr.Validation)
	longest := do[struct{ ID string }](d, "editor", "linkFolders/create", `{"name":"`+strings.Repeat("n", 80)+`"}`)
	do[struct{ ID string }](d, "editor", "linkFolders/delete", fmt.Sprintf(`{"id":%q}`, longest.ID))
	type tag struct {
		Tag   string
		Links int
	}
	first := d.call("viewer", "links/tags", `{"limit":1}`)
	if !first.Pagination.HasMore {
		t.Fatalf("the first page: %s", first.Text)
	}
	if got := do[[]tag](d, "viewer", "links/tags", fmt.Sprintf(`{"limit":1,"cursor":%q}`,
		*first.Pagination.NextCursor)); len(got) != 1 || got[0] != (tag{"b", 2}) {
		t.Errorf("the second page: %+v", got)
	}
	do[struct{ ID string }](d, "editor", "linkFolders/update", fmt.Sprintf(`{"id":%q,"name":"Posts","version":%d}`,
		folder.ID, folder.Version))
	d.rejected("stranger", "linkFolders/delete", fmt.Sprintf(`{"id":%q}`, folder.ID), 404, apierr.NotFound)
	do[struct{ ID string }](d, "editor", "linkFolders/delete", fmt.Sprintf(`{"id":%q}`, folder.ID))
	if got := do[linkData](d, "viewer", "links/get", fmt.Sprintf(`{"id":%q}`, in.ID)); got.FolderID != "" {
		t.Errorf("the link is in folder %q", got.FolderID)
	}
	if got := do[[]struct{ ID string }](d, "viewer", "linkFolders/list", `{}`); len(got) != 0 {
		t.Errorf("folders %+v", got)
	}
}

func TestTargetsOfALinkAreKeptAndReplacedWhole(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	type target struct {
		ID, URL    string
		Weight     int
		Conditions []struct {
			Field, Op, Name string
			Value           []string
			At              *time.Time
		}
	}
	type targets struct {
		ID              string
		Rules, Variants []target
		Preview         map[string]string
	}
	made := do[targets](d, "editor", "links/create", `{"url":"https://example.com","rules":[`+
		`{"id":"dach","url":"https://example.com/de","conditions":[{"field":"country","op":"in","value":["de","AT"]},{"field":"time","op":"after","at":"2026-01-01T00:00:00Z"}]},`+
		`{"url":"https://example.com/x","conditions":[{"field":"query","op":"not_in","name":"src","value":["mail"]}]}],`+
		`"variants":[{"url":"https://example.com/a","weight":1},{"id":"b","url":"https://example.com/b","weight":10000}],"preview":{"title":"Sale"}}`)
	read := do[targets](d, "viewer", "links/get", fmt.Sprintf(`{"id":%q}`, made.ID))
	if diff := cmp.Diff(made, read); diff != "" {
		t.Errorf("made and read (-made +read):\n%s", diff)
	}
	first := read.Rules[0]
	if first.ID != "dach" || first.Conditions[0].Value[0] != "DE" || first.Conditions[1].At == nil ||
		read.Rules[1].ID == "" ||
		read.Variants[0].ID == "" || read.Variants[1].Weight != 10000 || read.Preview["title"] != "Sale" {
		t.Errorf("%+v", read)
	}
	if r := d.call("viewer", "links/get", fmt.Sprintf(`{"id":%q}`, made.ID)); strings.Contains(r.Text, "ecret") {
		t.Errorf("the link's secret is told: %s", r.Text)
	}
	kept := do[targets](d, "editor", "links/update", fmt.Sprintf(`{"id":%q,"name":"x"}`, made.ID))
	if diff := cmp.Diff(read, kept); diff != "" {
		t.Errorf("after a change of the name (-want +got):\n%s", diff)
	}
	bare := do[targets](d, "editor", "links/update",
		fmt.Sprintf(`{"id":%q,"rules":[],"variants":[],"preview":{}}`, made.ID))
	if len(bare.Rules) != 0 || len(bare.Variants) != 0 || len(bare.Preview) != 0 {
		t.Errorf("after they were taken away: %+v", bare)
	}
	const rule = `{"url":"https://example.com","conditions":[{"field":"city","op":"in","value":["x"]}]}`
	for body, field := range map[string]string{
		`"rules":[` + rule + `,` + rule +
			`,{"url":"https://example.com","conditions":[{"field":"country","op":"in","value":["DE","Germany"]}]}]`: "rules[2].conditions[0].value[1]",
		`"rules":[{"url":"https://example.com","conditions":[{"field":"city","op":"in"}]}]`:               "rules[0].conditions[0].value",
		`"rules":[{"url":"https://example.com","conditions":[{"field":"moon","op":"in","value":["x"]}]}]`: "rules[0].conditions[0].field",
		`"rules":[{"url":"https://example.com","conditions":[]}]`:                                         "rules[0].conditions",
		`"rules":[{"url":"javascript:x","conditions":[{"field":"city","op":"in","value":["x"]}]}]`:        "rules[0].url",
		`"rules":[` + strings.Repeat(rule+",", 20) + rule +
			`]`: "rules",
		`"variants":[{"url":"https://example.com","weight":1}]`:                                              "variants",
		`"variants":[{"url":"https://example.com","weight":1},{"url":"https://example.com","weight":10001}]`: "variants[1].weight",
		`"preview":{"title":"` + strings.Repeat("n", 201) +
			`"}`: "preview.title",
		`"preview":{"imageUrl":"https://go.example.com/x"}`: "preview.imageUrl",
	} {
		r := d.rejected("editor", "links/update", fmt.Sprintf(`{"id":%q,%s}`, made.ID, body), 400, apierr.Validation)
		if len(r.Details) == 0 || r.Details[0].Field != field {
			t.Errorf("%.120s: %.300s, want a detail of %s", body, r.Text, field)
		}
	}
}

func TestTheQRCodeOfALinkIsAPictureAsText(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	made := do[linkData](d, "editor", "links/create", `{"url":"https://example.com","slug":"sale"}`)
	type code struct {
		MediaType, URL string
		Base64         []byte
	}
	for with, want := range map[string]string{
		``: "<svg ", `,"format":"svg","size":64`: "<svg ", `,"format":"png"`: "\x89PNG",
		`,"format":"png","size":2048`: "\x89PNG",
	} {
		got := do[code](d, "viewer", "links/qr", fmt.Sprintf(`{"id":%q%s}`, made.ID, with))
		if !strings.HasPrefix(string(got.Base64), want) || got.URL != "https://go.example.com/sale?qr=1" ||
			(got.MediaType == "image/png") != strings.Contains(with, "png") {
			t.Errorf("%s: %s of %s, %.20q", with, got.MediaType, got.URL, got.Base64)
		}
	}
	for _, with := range []string{`"size":63`, `"size":2049`, `"format":"gif"`} {
		d.rejected("viewer", "links/qr", fmt.Sprintf(`{"id":%q,%s}`, made.ID, with), 400, apierr.Validation)
	}
	d.rejected("stranger", "links/qr", fmt.Sprintf(`{"id":%q}`, made.ID), 404, apierr.NotFound)
}
