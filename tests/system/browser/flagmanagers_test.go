package browser

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/testkit"
)

// serverManager asks for flags as a server does: several at once, for another person, and all.
func (o *openFeature) serverManager(t *testing.T) {
	t.Helper()
	out := runNode(t, o.managers, "flagmanagers/node.mjs", o.QueryURL, o.ClientID, "web_none")
	got := strings.ReplaceAll(out, `},"`, "},\n\"")
	want := `{"nav":{"enabled":true,"value":true,"variant":"on","reason":"BOOLEAN_DEFAULT"},
"layout":{"enabled":true,"value":"v2","variant":"two","reason":"USER_RULE_MATCH"},
"theme":{"enabled":true,"value":{"color":"black"},
"variant":"dark","reason":"BOOLEAN_DEFAULT"},
"resting":{"enabled":false,"value":false,"reason":"NOT_FOUND"},
"secret":{"enabled":false,"value":false,"reason":"NOT_FOUND"},
"free":{"enabled":true,"value":"v1","variant":"one","reason":"BOOLEAN_DEFAULT"},
"all":["banner","half","layout","nav","theme"],"lost":{"enabled":false,"value":false,"reason":"ERROR"},
"seen":["200 nav,layout,theme,resting,secret","200 layout","200 null","404 nav"]}`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// browserManager asks for flags in a page, which keeps them.
func (o *openFeature) browserManager(t *testing.T) {
	t.Helper()
	v := openModule(t, o.managers, "flagmanagers/page.mjs", "", "flags")
	v.run(fmt.Sprintf(`flags.start({apiUrl: %q, clientId: %q, user: {userId: "ann", properties: {plan: "pro"}}})`,
		o.QueryURL, o.ClientID))
	manages(t, v, "layout", `true "v2" two USER_RULE_MATCH`)
	manages(t, v, "theme", `true {"color":"black"} dark BOOLEAN_DEFAULT`)
	manages(t, v, "secret", `false false undefined NOT_FOUND`)
	manages(t, v, "resting", `false false undefined NOT_FOUND`)
	v.run(`flags.be({userId: "bob", properties: {plan: "free"}})`)
	manages(t, v, "layout", `true "v1" one BOOLEAN_DEFAULT`)

	// What the page keeps is what the next one shows, which asks nobody. A flag that is asked for by
	// itself may be there before all are.
	testkit.Eventually(t, within, func() error {
		if !get[bool](v, `flags.keeps("nav", "bob")`) {
			return errors.New("nav is not kept")
		}
		return nil
	})
	v.run(`flags.start({apiUrl: "http://127.0.0.1:1", clientId: "web_none", autoFetch: false,
		user: {userId: "bob", properties: {plan: "free"}}})`)
	manages(t, v, "nav", `true true on BOOLEAN_DEFAULT`)
	if statuses := get[string](v, `[...new Set(flags.seen)].join()`); statuses != "200" {
		t.Errorf("the responses were %s", statuses)
	}
}

// manages waits until a flag is in the page's manager with what is told of it.
func manages(t *testing.T, v *visitor, key, want string) {
	t.Helper()
	testkit.Eventually(t, within, func() error {
		if got := get[string](v, fmt.Sprintf("flags.text(%q)", key)); got != want {
			return errors.New(key + " is " + got + ", want " + want)
		}
		return nil
	})
}
