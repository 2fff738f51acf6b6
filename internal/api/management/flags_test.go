package management_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/contract/apierr"
)

type flagData struct {
	ID, Key, Name, Type, Status, Visibility, WebsiteID string
	Version                                            int64
	DefaultVariant, OffVariant                         string
	Variants                                           []struct {
		Key            string
		Value, Payload any
	}
	Targets []struct {
		Variant         string
		UserIDs, Emails []string
	}
	Rules         []struct{ ID, Name string }
	Prerequisites []struct{ FlagKey string }
	Environments  map[string]struct{ Status string }
}

// flagged makes a flag and returns its id.
func (d *fixture) flagged(members string) string {
	d.t.Helper()
	return do[flagData](d, "editor", "flags/create", "{"+members+"}").ID
}

func byID(id, more string) string { return fmt.Sprintf(`{"id":%q%s}`, id, more) }

func TestAFlagIsMadeWithItsDefaults(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	r := d.call("editor", "flags/create", `{"key":"new-nav","type":"boolean"}`)
	if r.Status != http.StatusCreated {
		t.Fatalf("status %d, want 201: %s", r.Status, r.Text)
	}
	var got map[string]any
	if err := json.Unmarshal(r.Data, &got); err != nil {
		t.Fatal(err)
	}
	for _, field := range []string{"id", "createdAt", "updatedAt"} {
		delete(got, field)
	}
	var want map[string]any
	if err := json.Unmarshal(fmt.Appendf(nil,
		`{"organizationId":%q,"websiteId":null,"version":1,"key":"new-nav","name":"new-nav","description":null,
		"type":"boolean","status":"inactive","visibility":"public","tags":[],"owner":null,"staleAfterDays":null,"stale":false,
		"exposures":{"mode":"split","samplePercent":100},"variants":[{"key":"on","value":true},{"key":"off","value":false}],
		"defaultVariant":"on","offVariant":"off","schedule":null,"prerequisites":[],"targets":[],"rules":[],"environments":{},"createdBy":"usr_editor"}`, d.own.ID), &want); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("flags/create (-want +got):\n%s", diff)
	}
}

// full is a flag with all that there is, as it is told.
const full = `"key":"checkout","type":"string","name":"Checkout","description":"about","visibility":"server","tags":["a"],"owner":"ann","staleAfterDays":30,
	"exposures":{"mode":"all","samplePercent":5},
	"variants":[{"key":"old","value":"v1","description":"d"},{"key":"new","value":"v2","payload":{"z":[1,null],"a":"<b>"}}],
	"defaultVariant":"old","offVariant":"old","schedule":{"startsAt":"2026-01-02T03:04:05.678Z","endsAt":"2027-01-02T03:04:05.000Z"},
	"prerequisites":[{"flagKey":"base","variants":["on"]}],
	"targets":[{"variant":"new","userIds":["u1"],"emails":["Ann@example.com"]}],
	"rules":[
		{"id":"r1","name":"beta","enabled":false,"schedule":{"endsAt":"2027-01-02T03:04:05.000Z"},
			"conditions":{"any":[{"all":[{"attribute":"plan","op":"in","values":["a",1.5,true],"negate":true}]},{"op":"inSegment","values":["staff"]}]},
			"serve":{"rollout":{"variant":"new","percentage":12.345,"bucketBy":"attr:x","seed":"s","onMiss":"stop"}},
			"progressive":{"from":1,"to":99.5,"startsAt":"2026-01-02T03:04:05.000Z","endsAt":"2026-02-02T03:04:05.000Z"}},
		{"id":"r2","serve":{"split":[{"variant":"old","weight":33.333},{"variant":"new","weight":66.667}],"bucketBy":"teamId"}},
		{"id":"r3","serve":{"variant":"new"}}],
	"environments":{"dev":{"status":"active","schedule":{"startsAt":"2026-01-02T03:04:05.000Z"},"defaultVariant":"new","offVariant":"new","targets":[],"rules":[{"id":"r1","serve":{"variant":"old"}}]}}`

func TestAFlagIsToldAsItWasSent(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	d.flagged(`"key":"base","type":"boolean"`)
	do[flagData](d, "editor", "segments/create", `{"key":"staff","emails":["a@example.com"],"conditions":{"all":[{"attribute":"email","op":"endsWith","values":["@example.com"]}]}}`)
	id := d.flagged(full)
	var want, got map[string]any
	if err := json.Unmarshal([]byte("{"+full+"}"), &want); err != nil {
		t.Fatal(err)
	}
	for _, read := range []string{byID(id, ""), `{"key":"checkout"}`, byID(id, `,"version":1`)} {
		if err := json.Unmarshal(d.call("viewer", "flags/get", read).Data, &got); err != nil {
			t.Fatal(err)
		}
		for field := range got {
			if _, sent := want[field]; !sent {
				delete(got, field)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("flags/get %s (-want +got):\n%s", read, diff)
		}
	}
	// What is told can be sent back, and changes nothing.
	again := strings.Replace(full, `"key":"checkout","type":"string",`, "", 1)
	if f := do[flagData](d, "editor", "flags/update", byID(id, ","+again)); f.Version != 1 {
		t.Errorf("sent back, it is version %d", f.Version)
	}
}

// exact is JSON with digits that float64 does not hold, and characters that HTML has a meaning for.
const exact = `{"a":"<&>","id":1234567890123456789,"list":[1.10,1e21,-0.10000000000000000001,123456789012345678901234567890]}`

func TestPayloadsAndValuesKeepTheirDigits(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	id := d.flagged(fmt.Sprintf(`"key":"a","type":"number","variants":[{"key":"x","value":9007199254740993,"payload":%s}],
		"defaultVariant":"x","offVariant":"x"`, exact))
	for call, body := range map[string]string{
		"flags/get": byID(id, ""), "flags/evaluate": `{"key":"a","context":{}}`, "flags/update": byID(id, `,"name":"b"`),
		"flags/versions": byID(id, ""), "flags/duplicate": byID(id, `,"key":"b"`),
	} {
		text := string(d.call("editor", call, body).Data)
		if call == "flags/versions" {
			text = string(d.call("editor", "flags/get", byID(id, `,"version":1`)).Data)
		}
		// Responses are written so that HTML finds nothing in them.
		for _, want := range []string{
			`"value":9007199254740993`, `"payload":` + strings.Replace(exact, "<&>", `\u003c\u0026\u003e`, 1),
		} {
			if !strings.Contains(text, want) {
				t.Errorf("%s answers %s, want %s", call, text, want)
			}
		}
	}
}

// Characters count once, however they are escaped elsewhere, also when the flag is read again.
func TestAPayloadMayHaveAsManyBytesOfAnyCharacter(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	variants := func(n int) string {
		return fmt.Sprintf(`"variants":[{"key":"x","value":"","payload":%q}],"defaultVariant":"x","offVariant":"x"`,
			strings.Repeat("<", n-len(`""`)))
	}
	d.rejected("editor", "flags/create", `{"key":"a","type":"string",`+variants(16_385)+`}`, 400, apierr.Validation)
	id := d.flagged(`"key":"a","type":"string",` + variants(16_384))
	if f := do[flagData](d, "editor", "flags/update", byID(id, `,"name":"b"`)); f.Name != "b" {
		t.Errorf("changed, it is %+v", f)
	}
	d.rejected("editor", "flags/update", byID(id, ","+variants(16_385)), 400, apierr.Validation)
}

func TestNumbersThatCannotBeComparedExactlyAreRejectedAndNameTheirPlace(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	asks := func(number string) string {
		return fmt.Sprintf(`{"all":[{"attribute":"n","op":"numEq","values":[%s]}]}`, number)
	}
	rule := func(number string) string {
		return fmt.Sprintf(`"rules":[{"conditions":%s,"serve":{"variant":"on"}}]`, asks(number))
	}
	d.flagged(`"key":"a","type":"boolean",` + rule("9007199254740992"))
	for call, body := range map[string]string{
		"flags/create":    `{"key":"b","type":"boolean",` + rule("9007199254740993") + `}`,
		"flags/evaluate":  `{"key":"a","context":{},"draft":{` + rule("9007199254740993") + `}}`,
		"segments/create": `{"key":"s","conditions":` + asks("9007199254740993") + `}`,
	} {
		want := map[string]string{
			"flags/create": "rules[0].conditions.all[0].values[0]", "segments/create": "conditions.all[0].values[0]",
			"flags/evaluate": "draft.rules[0].conditions.all[0].values[0]",
		}[call]
		if r := d.call("editor", call, body); r.Status != 400 || !strings.Contains(r.Text, `"field":"`+want+`"`) {
			t.Errorf("%s: %d %s, want 400 with %s", call, r.Status, r.Text, want)
		}
	}
}

func TestAChangeOfAFlagKeepsWhatItDoesNotName(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	id := d.flagged(`"key":"a","type":"boolean","owner":"ann","tags":["x","cafe\u0301"],"targets":[{"variant":"on","userIds":["u"]}]`)
	for _, tag := range []string{"x", " x", `cafe\u0301`, "caf\u00e9"} {
		if found := do[[]flagData](d, "viewer", "flags/list", `{"tag":"`+tag+`"}`); len(found) != 1 {
			t.Errorf("by the tag %q there are %d flags", tag, len(found))
		}
	}
	for _, step := range []struct {
		patch string
		check func(flagData) bool
	}{
		{
			`"name":"Nav"`, func(f flagData) bool { return f.Name == "Nav" && len(f.Targets) == 1 && f.DefaultVariant == "off" },
		},
		{`"targets":[]`, func(f flagData) bool { return f.Name == "Nav" && len(f.Targets) == 0 && f.DefaultVariant == "on" }},
		{`"defaultVariant":"off"`, func(f flagData) bool { return f.DefaultVariant == "off" }},
		{`"rules":[{"serve":{"variant":"on"}}]`, func(f flagData) bool {
			return f.DefaultVariant == "off" && len(f.Rules) == 1 && strings.HasPrefix(f.Rules[0].ID, "rul_")
		}},
		{`"defaultVariant":"on"`, func(f flagData) bool { return f.DefaultVariant == "on" }},
		{`"defaultVariant":null`, func(f flagData) bool { return f.DefaultVariant == "off" }},
		{`"name":null,"rules":[]`, func(f flagData) bool { return f.Name == "a" && f.DefaultVariant == "on" }},
		// Chosen is also what it is already.
		{`"defaultVariant":"on"`, func(f flagData) bool { return f.DefaultVariant == "on" }},
		{`"targets":[{"variant":"off","userIds":["u"]}]`, func(f flagData) bool { return f.DefaultVariant == "on" }},
		{`"targets":[]`, func(f flagData) bool { return f.DefaultVariant == "on" }},
		{`"defaultVariant":null`, func(f flagData) bool { return f.DefaultVariant == "on" }},
		{`"targets":[{"variant":"on","userIds":["u"]}]`, func(f flagData) bool { return f.DefaultVariant == "off" }},
	} {
		if got := do[flagData](d, "editor", "flags/update", byID(id, ","+step.patch)); !step.check(got) {
			t.Errorf("after %s: %+v", step.patch, got)
		}
	}
	d.rejected("editor", "flags/update", byID(id, `,"version":1,"name":"x"`), 409, apierr.Conflict)
	if same := do[flagData](d, "editor", "flags/update", byID(id, `,"version":13,"name":null`)); same.Version != 13 {
		t.Errorf("a change that changes nothing made version %d", same.Version)
	}
}

func TestWhatIsWrongWithAFlagIsNamedByItsPath(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	d.flagged(`"key":"base","type":"boolean"`)
	const two = `"key":"x","type":"string","variants":[{"key":"a","value":"1"},{"key":"b","value":"2"}],"defaultVariant":"a","offVariant":"b"`
	for members, field := range map[string]string{
		`"type":"boolean"`:                                         "key",
		`"key":"-x","type":"boolean"`:                              "key",
		`"key":"x"`:                                                "type",
		`"key":"x","type":"colour"`:                                "type",
		`"key":"x","type":"string"`:                                "variants",
		two + `,"defaultVariant":"c"`:                              "defaultVariant",
		two + `,"offVariant":null`:                                 "offVariant",
		two + `,"rules":[{}]`:                                      "rules[0].serve",
		two + `,"rules":[{"serve":{}}]`:                            "rules[0].serve",
		two + `,"status":"active"`:                                 "status",
		two + `,"staleAfterDays":3651`:                             "staleAfterDays",
		two + `,"visibility":"client"`:                             "visibility",
		two + `,"exposures":{"mode":1}`:                            "exposures.mode",
		two + `,"tags":["a","` + strings.Repeat("t", 51) + `"]`:    "tags[1]",
		two + `,"description":"` + strings.Repeat("d", 2001) + `"`: "description",
		two + `,"owner":"` + strings.Repeat("d", 256) + `"`:        "owner",
		two + `,"name":"` + strings.Repeat("d", 256) + `"`:         "name",
		`"key":"x","type":"boolean","variants":[{"key":"yes","value":true},{"key":"off","value":false}]`:       "variants[0]",
		`"key":"x","type":"number","variants":[{"key":"a","value":"1"}],"defaultVariant":"a","offVariant":"a"`: "variants[0].value",
		two +
			`,"rules":[{"serve":{"variant":"a"}},{"serve":{"variant":"a"}},{"serve":{"variant":"a","split":[]}}]`: "rules[2].serve",
		two +
			`,"rules":[{"serve":{"rollout":{"variant":"a","percentage":101}}}]`: "rules[0].serve.rollout.percentage",
		two +
			`,"rules":[{"serve":{"rollout":{"variant":"a","percentage":0.0001}}}]`: "rules[0].serve.rollout.percentage",
		two +
			`,"rules":[{"serve":{"split":[{"variant":"a","weight":50}]}}]`: "rules[0].serve.split",
		two +
			`,"rules":[{"serve":{"variant":"a"},"conditions":{"all":[{"attribute":"x","op":"percentOf","values":[1]}]}}]`: "rules[0].conditions.all[0].op",
		two +
			`,"rules":[{"serve":{"variant":"a"},"conditions":{"all":[{"attribute":"x","op":"matches","values":["("]}]}}]`: "rules[0].conditions.all[0].values[0]",
		two +
			`,"rules":[{"serve":{"variant":"a"},"conditions":{"all":[{"op":"inSegment","values":["none"]}]}}]`: "rules[0].conditions.all[0].values[0]",
		two +
			`,"rules":[{"serve":{"variant":"a"},"conditions":{"all":[{"any":[{"attribute":"x","op":"exists"}],"negate":true}]}}]`: "rules[0].conditions.all[0]",
		two +
			`,"rules":[{"id":"r","serve":{"variant":"a"}},{"id":"r","serve":{"variant":"a"}}]`: "rules[1].id",
		two +
			`,"schedule":{"startsAt":"2026-01-02T00:00:00Z","endsAt":"2026-01-02T00:00:00Z"}`: "schedule.endsAt",
		two +
			`,"targets":[{"variant":"c","userIds":["u"]}]`: "targets[0].variant",
		two +
			`,"environments":{"dev":{"rules":[{"serve":{"variant":"c"}}]}}`: "environments.dev.rules[0].serve.variant",
		two +
			`,"environments":{"dev":{"colour":1}}`: "environments.dev.colour",
		two +
			`,"prerequisites":[{"flagKey":"none","variants":["on"]}]`: "prerequisites[0].flagKey",
		two +
			`,"prerequisites":[{"flagKey":"base","variants":["on","maybe"]}]`: "prerequisites[0].variants[1]",
		two +
			`,"prerequisites":[{"flagKey":"base","variants":[]}]`: "prerequisites[0].variants",
		two + `,"targets":[{"variant":"a","userIds":[` +
			strings.Repeat(`"`+strings.Repeat("u", 250)+`",`, 1100) + `"u"]}]`: "",
		`"key":"x","type":"json","variants":[{"key":"a","value":"` + strings.Repeat("v", 16<<10) +
			`"}],"defaultVariant":"a"`: "variants[0].value",
	} {
		r := d.rejected("editor", "flags/create", "{"+members+"}", 400, apierr.Validation)
		if len(r.Details) == 0 || r.Details[0].Field != field {
			t.Errorf("%.200s: %.300s, want a detail of %q", members, r.Text, field)
		}
	}
	for members, field := range map[string]string{
		`"key":"x"`: "conditions",
		`"key":"x","conditions":{"all":[{"op":"inSegment","values":["y"]}]}`: "conditions",
		`"key":"x","userIds":[""]`: "userIds[0]",
	} {
		r := d.rejected("editor", "segments/create", "{"+members+"}", 400, apierr.Validation)
		if len(r.Details) == 0 || r.Details[0].Field != field {
			t.Errorf("%s: %s, want a detail of %q", members, r.Text, field)
		}
	}
}

func TestAFlagGoesFromStateToState(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	id := d.flagged(`"key":"a","type":"boolean"`)
	for _, step := range []struct {
		operation, want string // a status, or what is said of a conflict
	}{
		{"unarchive", "inactive"}, // it is so already
		{"disable", "inactive"},
		{"delete", "Only an archived flag can be deleted; this one is inactive"},
		{"enable", "active"},
		{"enable", "active"},
		{"archive", "Only an inactive flag can be archived; disable it first; this one is active"},
		{"unarchive", "Only an archived flag can be unarchived; this one is active"},
		{"disable", "inactive"},
		{"archive", "archived"},
		{"enable", "Only an inactive flag can be enabled; this one is archived"},
		{"disable", "Only an active flag can be disabled; this one is archived"},
		{"update", "The flag is archived; unarchive it before you change it"},
		{"unarchive", "inactive"},
		{"archive", "archived"},
		{"delete", ""},
	} {
		body := byID(id, "")
		if step.operation == "update" {
			body = byID(id, `,"name":"x"`)
		}
		r := d.call("editor", "flags/"+step.operation, body)
		var f struct {
			Status string `json:"status"`
		}
		if err := json.Unmarshal(r.Data, &f); err != nil && r.Success {
			t.Fatal(err)
		}
		if r.Success && f.Status != step.want || !r.Success && (r.Status != 409 || r.Error != step.want) {
			t.Errorf("%s: %s, want %q", step.operation, r.Text, step.want)
		}
	}
	d.rejected("editor", "flags/get", byID(id, ""), 404, apierr.NotFound)
	again := d.flagged(`"key":"a","type":"boolean"`)
	d.rejected("editor", "flags/enable", byID(again, `,"version":2`), 409, apierr.Conflict)
}

func TestFlagsThatNeedEachOtherAreKeptFromHarm(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	needs := func(key string) string {
		return fmt.Sprintf(`"prerequisites":[{"flagKey":%q,"variants":["on"]}]`, key)
	}
	site := do[site](d, "owner", "websites/create", shop).ID
	a := d.flagged(`"key":"a","type":"boolean"`)
	b := d.flagged(`"key":"b","type":"boolean",` + needs("a"))
	c := d.flagged(fmt.Sprintf(`"key":"c","type":"boolean","websiteId":%q,%s`, site, needs("b")))
	segment := do[flagData](d, "editor", "segments/create", `{"key":"staff","userIds":["u"]}`).ID
	do[flagData](d, "editor", "flags/update",
		byID(b, `,"rules":[{"conditions":{"all":[{"op":"inSegment","values":["staff"]}]},"serve":{"variant":"on"}}]`))
	for _, rejected := range []struct{ operation, body, says string }{
		{"flags/update", byID(a, ","+needs("b")), "The prerequisites form a cycle: a → b → a"},
		{"flags/update", byID(a, ","+needs("a")), "Flag a cannot be a prerequisite of itself"},
		{"flags/archive", byID(a, ""), "Flag a is a prerequisite of flag b"},
		{"flags/archive", byID(b, ""), "Flag b is a prerequisite of flag c"},
		{"segments/delete", byID(segment, ""), "Segment staff is used by flag b"},
		{"flags/create", `{"key":"a","type":"boolean"}`, "Another flag already has this key"},
		{"segments/create", `{"key":"staff","userIds":["u"]}`, "Another segment already has this key"},
		// It would hide the one that c needs.
		{
			"flags/create", fmt.Sprintf(`{"key":"b","type":"boolean","websiteId":%q,%s}`, site, needs("c")),
			"The prerequisites form a cycle: b → c → b",
		},
		{
			"flags/create", fmt.Sprintf(`{"key":"b","type":"string","websiteId":%q,"variants":[{"key":"x","value":""}],"defaultVariant":"x","offVariant":"x"}`, site),
			"The change removes a variant of flag b that is a prerequisite of flag c",
		},
	} {
		if r := d.rejected("editor", rejected.operation, rejected.body, 409, apierr.Conflict); r.Error != rejected.says {
			t.Errorf("%s %s: %q, want %q", rejected.operation, rejected.body, r.Error, rejected.says)
		}
	}
	// Once nobody needs it, it goes; what needed it does not come back before it does.
	do[flagData](d, "editor", "flags/archive", byID(c, ""))
	do[flagData](d, "editor", "flags/archive", byID(b, ""))
	do[flagData](d, "editor", "segments/delete", byID(segment, ""))
	if r := d.rejected("editor", "flags/unarchive", byID(c, ""), 409, apierr.Conflict); !strings.Contains(r.Error,
		"b does not exist") {
		t.Errorf("brought back before what it needs: %s", r.Text)
	}
	if r := d.rejected("editor", "flags/unarchive", byID(b, ""), 409, apierr.Conflict); !strings.Contains(r.Error,
		"staff does not exist") {
		t.Errorf("brought back without its segment: %s", r.Text)
	}
}

func TestPrerequisitesNeedEachOtherTenInARow(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	d.flagged(`"key":"f0","type":"boolean"`)
	for i := 1; i <= 10; i++ {
		d.flagged(fmt.Sprintf(`"key":"f%d","type":"boolean","prerequisites":[{"flagKey":"f%d","variants":["on"]}]`, i, i-1))
	}
	r := d.rejected("editor", "flags/create",
		`{"key":"f11","type":"boolean","prerequisites":[{"flagKey":"f10","variants":["on"]}]}`, 400, apierr.Validation)
	if len(r.Details) == 0 || r.Details[0].Field != "prerequisites" {
		t.Errorf("eleven in a row: %s", r.Text)
	}
	base := d.flagged(`"key":"base","type":"boolean"`)
	first := do[flagData](d, "editor", "flags/get", `{"key":"f0"}`).ID
	d.rejected("editor", "flags/update", byID(first, `,"prerequisites":[{"flagKey":"base","variants":["on"]}]`),
		400, apierr.Validation)
	d.flagged(`"key":"x","type":"boolean","prerequisites":[{"flagKey":"f9","variants":["on"]}]`)
	do[flagData](d, "editor", "flags/archive", byID(base, ""))
}

func TestWhoMayReachFlags(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	first := do[site](d, "owner", "websites/create", shop)
	second := do[site](d, "owner", "websites/create", `{"name":"Blog","domain":"blog.example.com"}`)
	shared, own := d.flagged(`"key":"nav","type":"boolean"`),
		d.flagged(fmt.Sprintf(`"key":"nav","type":"boolean","websiteId":%q`, first.ClientID))
	foreign := d.flagged(fmt.Sprintf(`"key":"nav","type":"boolean","websiteId":%q`, second.ID))
	all, limited, none := d.key("", "manage:flags"), d.key(first.ID, "manage:flags"), d.key("", "read:data",
		"manage:config", "manage:websites")
	for _, id := range []string{shared, own, foreign} {
		do[flagData](d, all, "flags/update", byID(id, `,"owner":"x"`))
		d.rejected("viewer", "flags/update", byID(id, `,"owner":"y"`), 403, apierr.Forbidden)
		do[flagData](d, "viewer", "flags/get", byID(id, ""))
		for _, operation := range []string{"get", "enable", "update", "versions"} {
			d.rejected(none, "flags/"+operation, byID(id, ""), 403, apierr.Forbidden)
			d.rejected("stranger", "flags/"+operation, byID(id, ""), 404, apierr.NotFound)
			d.rejected("", "flags/"+operation, byID(id, ""), 401, apierr.AuthRequired)
			if id != own {
				d.rejected(limited, "flags/"+operation, byID(id, ""), 403, apierr.AccessDenied)
			}
		}
	}
	if got := do[flagData](d, limited, "flags/get", `{"key":"nav"}`); got.ID != own || got.WebsiteID != first.ID {
		t.Errorf("a website's key finds %+v, want %s", got, own)
	}
	do[flagData](d, limited, "flags/enable", byID(own, ""))
	if got := do[[]flagData](d, limited, "flags/list", `{}`); len(got) != 1 || got[0].ID != own {
		t.Errorf("a website's key lists %+v", got)
	}
	if got := do[[]flagData](d, "viewer", "flags/list", `{"websiteId":null}`); len(got) != 1 || got[0].ID != shared {
		t.Errorf("those of all websites: %+v", got)
	}
	for _, rejected := range []struct{ operation, body string }{
		{"flags/create", `{"key":"x","type":"boolean"}`},
		{"flags/create", fmt.Sprintf(`{"key":"x","type":"boolean","websiteId":%q}`, second.ID)},
		{"segments/create", `{"key":"x","userIds":["u"]}`},
		{"flags/list", `{"websiteId":null}`},
		{"flags/list", fmt.Sprintf(`{"websiteId":%q}`, second.ID)},
		{"flags/duplicate", byID(own, `,"key":"y","websiteId":null`)},
		{"flags/evaluate", fmt.Sprintf(`{"key":"nav","context":{},"websiteId":%q}`, second.ID)},
	} {
		d.rejected(limited, rejected.operation, rejected.body, 403, apierr.AccessDenied)
	}
	do[flagData](d, limited, "flags/create", fmt.Sprintf(`{"key":"x","type":"boolean","websiteId":%q}`, first.ID))
	d.flagged(`"key":"shared","type":"boolean"`)
	d.rejected(limited, "flags/evaluate", `{"key":"shared","context":{}}`, 403, apierr.AccessDenied)
	d.rejected("editor", "flags/create", `{"key":"x","type":"boolean","websiteId":"web_none"}`, 404, apierr.NotFound)
}

func TestAnOrganizationHasAsManyFlagsAsItMayAndIsToldSo(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	for i := range 5 {
		do[flagData](d, "editor", "segments/create", fmt.Sprintf(`{"key":"s%d","userIds":["u"]}`, i))
	}
	if r := d.rejected("editor", "segments/create", `{"key":"s5","userIds":["u"]}`, 402,
		apierr.QuotaExceeded); r.Error != "The organization has reached its limit of 5 segments" {
		t.Errorf("one more: %s", r.Text)
	}
	for i := range 20 {
		d.flagged(fmt.Sprintf(`"key":"f%d","type":"boolean"`, i))
	}
	if r := d.rejected("editor", "flags/create", `{"key":"f20","type":"boolean"}`, 402,
		apierr.QuotaExceeded); r.Error != "The organization has reached its limit of 20 flags" {
		t.Errorf("one more: %s", r.Text)
	}
}

func TestPeopleAreGivenAVariantAndLeftToTheRules(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	id := d.flagged(`"key":"a","type":"boolean","targets":[{"variant":"off","userIds":["u1","u2"],"emails":["A@example.com"]}],"environments":{"dev":{}}`)
	type steps struct{ operation, members, want string }
	for _, step := range []steps{
		{
			"addTargets", `"variant":"on","userIds":["u2","u3","u3"],"emails":["a@EXAMPLE.com"]`,
			"off u1 / on u2,u3+a@EXAMPLE.com",
		},
		{"addTargets", `"variant":"on","userIds":["u4"],"mode":"replace"`, "off u1 / on u4"},
		{"removeTargets", `"userIds":["u1","nobody"]`, "on u4"},
		{"removeTargets", `"userIds":["u4"],"environment":"dev"`, "on u4"},
		{"removeTargets", `"userIds":["u4"]`, ""},
		{
			"update", `"targets":[{"variant":"on","userIds":["u1"]},{"variant":"off","userIds":["u2"]},{"variant":"on","userIds":["u3"]}]`,
			"on u1 / off u2 / on u3",
		},
		{"addTargets", `"variant":"on","userIds":["u4"],"mode":"replace"`, "on u4 / off u2"},
	} {
		f := do[flagData](d, "editor", "flags/"+step.operation, byID(id, ","+step.members))
		var got []string
		for _, t := range f.Targets {
			text := t.Variant + " " + strings.Join(t.UserIDs, ",")
			if len(t.Emails) > 0 {
				text += "+" + strings.Join(t.Emails, ",")
			}
			got = append(got, text)
		}
		if is := strings.Join(got, " / "); is != step.want {
			t.Errorf("after %s %s: %q, want %q", step.operation, step.members, is, step.want)
		}
	}
	d.rejected("editor", "flags/addTargets", byID(id, `,"variant":"maybe","userIds":["u"]`), 400, apierr.Validation)
	d.rejected("editor", "flags/addTargets", byID(id, `,"variant":"on","userIds":["u"],"environment":"none"`),
		400, apierr.Validation)
	// Who is nobody there is no reason for an environment to leave the flag's targets.
	id = d.flagged(`"key":"b","type":"boolean","targets":[{"variant":"on","userIds":["u"]}],"environments":{"dev":{}}`)
	for people, want := range map[string]string{
		`"userIds":["nobody"],"emails":["no@example.com"]`: `"environments":{"dev":{}}`,
		`"userIds":["nobody","u"]`:                         `"environments":{"dev":{"targets":[]}}`,
	} {
		r := d.call("editor", "flags/removeTargets", byID(id, `,"environment":"dev",`+people))
		if !strings.Contains(r.Text, want) {
			t.Errorf("without %s: %s, want %s", people, r.Text, want)
		}
		do[flagData](d, "editor", "flags/update", byID(id, `,"environments":{"dev":{}}`))
	}
}

func TestAFlagIsPutBackToAnEarlierVersion(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	id := d.flagged(`"key":"a","type":"boolean","owner":"one"`)
	do[flagData](d, "editor", "flags/enable", byID(id, ""))
	do[flagData](d, "editor", "flags/update", byID(id, `,"rules":[{"serve":{"variant":"off"}}],"name":"x"`))
	d.rejected("editor", "flags/rollback", byID(id, `,"version":1,"currentVersion":2`), 409, apierr.Conflict)
	d.rejected("editor", "flags/rollback", byID(id, `,"version":9`), 404, apierr.NotFound)
	back := do[flagData](d, "editor", "flags/rollback", byID(id, `,"version":1,"currentVersion":3`))
	if back.Version != 4 || len(back.Rules) != 0 || back.Name != "a" || back.Status != "active" ||
		back.DefaultVariant != "on" {
		t.Errorf("put back: %+v", back)
	}
	type version struct {
		Version int64
		Action  string
		Changed []string
		By      struct{ Type, ID string }
	}
	all := do[[]version](d, "viewer", "flags/versions", byID(id, ""))
	var got []string
	for _, v := range all {
		got = append(got, fmt.Sprint(v.Version, " ", v.Action, " ", strings.Join(v.Changed, ","), " by ", v.By.ID))
	}
	want := []string{
		"4 flag.rolledBack defaultVariant,name,rules by usr_editor", "3 flag.updated defaultVariant,name,rules by usr_editor",
		"2 flag.enabled status by usr_editor", "1 flag.created  by usr_editor",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("flags/versions (-want +got):\n%s", diff)
	}
	page := d.call("viewer", "flags/versions", byID(id, `,"limit":3`))
	if page.Pagination.NextCursor == nil {
		t.Fatalf("a page: %s", page.Text)
	}
	if rest := do[[]version](d, "viewer", "flags/versions", byID(id, fmt.Sprintf(`,"limit":3,"cursor":%q`,
		*page.Pagination.NextCursor))); len(rest) != 1 || rest[0].Version != 1 {
		t.Errorf("the rest: %+v", rest)
	}
	if was := do[flagData](d, "viewer", "flags/get", byID(id, `,"version":3`)); was.Version != 3 || was.Name != "x" {
		t.Errorf("version 3: %+v", was)
	}
	copied := do[flagData](d, "editor", "flags/duplicate", byID(id, `,"key":"b"`))
	if copied.Key != "b" || copied.Name != "b" || copied.Status != "inactive" || copied.Version != 1 || copied.ID == id {
		t.Errorf("a copy: %+v", copied)
	}
	d.rejected("editor", "flags/duplicate", byID(id, `,"key":"b"`), 409, apierr.Conflict)
	if keys := do[[]flagData](d, "viewer", "flags/list", `{"sort":"createdAt"}`); !slices.EqualFunc(keys,
		[]string{"a", "b"}, func(f flagData, key string) bool { return f.Key == key }) {
		t.Errorf("flags/list: %+v", keys)
	}
}

func TestAFlagThatIsMadeTwiceUnderOneIdempotencyKeyIsMadeOnce(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	const body = `{"key":"a","type":"boolean"}`
	first := d.call("editor", "flags/create", body, "Idempotency-Key", "k")
	second := d.call("editor", "flags/create", body, "Idempotency-Key", "k")
	if first.Status != http.StatusCreated || second.Status != http.StatusCreated ||
		string(first.Data) != string(second.Data) {
		t.Errorf("%s and %s", first.Text, second.Text)
	}
}
