package management_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/resource/link"
	"github.com/millrace/millrace/internal/tenant/audit"
)

// block has the operator block something.
func (d *fixture) block(target string) {
	d.t.Helper()
	if _, err := link.NewBlocks("https://go.example.com", d.db, nil).Block(d.t.Context(), audit.ByOperator("ann"),
		target, "phishing"); err != nil {
		d.t.Fatal(err)
	}
}

func TestABlockedLinkSaysSo(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	do[linkData](d, "editor", "links/create", `{"url":"https://good.example","slug":"good"}`)
	led := do[linkData](d, "editor", "links/create", `{"url":"https://www.evil.example","slug":"evil","enabled":false}`)
	named := do[linkData](d, "editor", "links/create", `{"url":"https://good.example","slug":"Named"}`)
	d.block("evil.example")
	d.block("https://go.example.com/named")

	statuses := func(filter string) map[string]string {
		all := map[string]string{}
		for _, l := range do[[]linkData](d, "viewer", "links/list", filter) {
			all[l.Slug] = l.Status
		}
		return all
	}
	for filter, want := range map[string]map[string]string{
		`{}`:                    {"good": "active", "evil": "blocked", "Named": "blocked"},
		`{"status":"blocked"}`:  {"evil": "blocked", "Named": "blocked"},
		`{"status":"active"}`:   {"good": "active"},
		`{"status":"disabled"}`: {},
	} {
		if diff := cmp.Diff(want, statuses(filter)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", filter, diff)
		}
	}
	if got := do[linkData](d, "viewer", "links/get", `{"slug":"evil"}`); got.Status != "blocked" {
		t.Errorf("links/get: %s", got.Status)
	}
	if got := do[linkData](d, "editor", "links/update",
		fmt.Sprintf(`{"id":%q,"name":"x"}`, named.ID)); got.Status != "blocked" {
		t.Errorf("links/update: %s", got.Status)
	}
	if got := do[linkData](d, "editor", "links/update",
		fmt.Sprintf(`{"id":%q,"url":"https://good.example","enabled":true}`, led.ID)); got.Status != "active" {
		t.Errorf("leading elsewhere: %s", got.Status)
	}
	if got := do[linkData](d, "editor", "links/delete", fmt.Sprintf(`{"id":%q}`, named.ID)); got.Status != "deleted" {
		t.Errorf("links/delete: %s", got.Status)
	}
	entries := do[[]struct {
		Actor   struct{ Type string }
		Changes map[string]struct{ To string }
	}](d, "owner", "audit/list", fmt.Sprintf(`{"resourceId":%q,"action":"link.blocked"}`, named.ID))
	if len(entries) != 1 || entries[0].Actor.Type != "operator" || entries[0].Changes["reason"].To != "phishing" {
		t.Errorf("the owner is told %+v", entries)
	}
}

func TestNoAddressOfALinkIsOnABlockedHost(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	d.block("evil.example")
	const good, evil = `"url":"https://good.example"`, `"url":"https://www.EVIL.example/x"`
	made := do[linkData](d, "editor", "links/create", `{`+good+`}`)
	for body, field := range map[string]string{
		`{` + evil + `}`: "url",
		`{` + good +
			`,"expiredUrl":"https://evil.example"}`: "expiredUrl",
		`{` + good +
			`,"rules":[{"url":"http://evil.example.","conditions":[{"field":"os","op":"in","value":["iOS"]}]}]}`: "rules[0].url",
		`{` + good +
			`,"variants":[{"url":"https://good.example","weight":1},{"url":"https://ｅvil.example:8443","weight":1}]}`: "variants[1].url",
		`{` + good +
			`,"preview":{"imageUrl":"https://evil.example/i.png"}}`: "preview.imageUrl",
	} {
		r := d.rejected("editor", "links/create", body, 400, apierr.Validation)
		if len(r.Details) != 1 || r.Details[0].Field != field || !strings.Contains(r.Error, "the operator has blocked") {
			t.Errorf("%s: %s, want a detail of %s", body, r.Text, field)
		}
	}
	d.rejected("editor", "links/update", fmt.Sprintf(`{"id":%q,%s}`, made.ID, evil), 400, apierr.Validation)
	d.rejected("editor", "links/upsert", `{"externalId":"x",`+evil+`}`, 400, apierr.Validation)
	type items struct {
		Items []struct {
			OK     bool
			Errors []struct{ Field, Rule string }
		}
	}
	for operation, bodies := range map[string][2]string{
		"links/bulkCreate": {evil, good},
		"links/bulkUpdate": {fmt.Sprintf(`"id":%q,%s`, made.ID, evil), fmt.Sprintf(`"id":%q,"name":"x"`, made.ID)},
	} {
		got := do[items](d, "editor", operation, `{"items":[{`+bodies[0]+`},{`+bodies[1]+`}]}`).Items
		if got[0].OK || len(got[0].Errors) != 1 || got[0].Errors[0].Rule != "blocked_host" || !got[1].OK {
			t.Errorf("%s: %+v", operation, got)
		}
	}
}
