package flagapi

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/millrace/millrace/internal/resource/flag"
	"github.com/millrace/millrace/internal/resource/flag/flageval"
	"github.com/millrace/millrace/internal/resource/flag/flagset"
	"github.com/millrace/millrace/internal/tenant/managed"
)

// boolean is an active flag of all websites that is on, or whatever changes make of it.
func boolean(key string, changes ...func(*flag.Flag)) *flag.Flag {
	f := &flag.Flag{
		Record: managed.Record{ID: "flg_" + key, OrganizationID: "org_1", Version: 1, CreatedAt: now, UpdatedAt: now},
		State:  flag.Active, About: flag.About{Type: flag.Boolean, Visibility: flag.Public},
		Definition: flageval.Definition{
			Key: key, Active: true, DefaultVariant: "on", OffVariant: "off",
			Variants: []flageval.Variant{
				{Key: "on", Value: json.RawMessage("true"), Payload: json.RawMessage(`{"n":1}`)},
				{Key: "off", Value: json.RawMessage("false"), Payload: json.RawMessage(`{"n":0}`)},
			},
		},
	}
	for _, change := range changes {
		change(f)
	}
	return f
}

// text is such a flag of the values v1 and v2, of which it serves v1.
func text(key string, changes ...func(*flag.Flag)) *flag.Flag {
	return boolean(key, append([]func(*flag.Flag){func(f *flag.Flag) {
		f.About.Type = flag.String
		f.Definition.DefaultVariant, f.Definition.OffVariant = "one", "one"
		f.Definition.Variants = []flageval.Variant{
			{Key: "one", Value: json.RawMessage(`"v1"`)},
			{Key: "two", Value: json.RawMessage(`"v2"`), Payload: json.RawMessage(`[2]`)},
		}
	}}, changes...)...)
}

func of(websiteID string) func(*flag.Flag) { return func(f *flag.Flag) { f.WebsiteID = websiteID } }

func inactive(f *flag.Flag) { f.State, f.Definition.Active = flag.Inactive, false }

func server(f *flag.Flag) { f.About.Visibility = flag.Server }

func rule(r flageval.Rule) func(*flag.Flag) {
	return func(f *flag.Flag) { f.Definition.Rules = append(f.Definition.Rules, r) }
}

// where is a condition about an attribute.
func where(attribute, op string, values ...any) *flageval.Conditions {
	return &flageval.Conditions{All: []flageval.Condition{{Attribute: attribute, Op: op, Values: values}}}
}

// two serves the variant two to those who meet conditions.
func two(conditions *flageval.Conditions) func(*flag.Flag) {
	return rule(flageval.Rule{Conditions: conditions, Serve: flageval.Serve{Variant: "two"}})
}

// rollout serves the variant two to a percentage.
func rollout(percentage float64, onMiss string) flageval.Serve {
	return flageval.Serve{Rollout: &flageval.Rollout{Variant: "two", Percentage: percentage, OnMiss: onMiss}}
}

// testFlags are the flags of these tests, one for each way to decide.
func testFlags() []*flag.Flag {
	return []*flag.Flag{
		boolean("nav"), boolean("other", of("web_2")), boolean("resting", inactive), boolean("secret", server),
		boolean("hidden"), boolean("hidden", of("web_1"), server),
		boolean("stopped"), boolean("stopped", of("web_1"), inactive),
		boolean("later", func(f *flag.Flag) { f.Definition.Schedule.StartsAt = now.Add(time.Second) }),
		boolean("over", func(f *flag.Flag) { f.Definition.Schedule.EndsAt = now }),
		boolean("staged", inactive, func(f *flag.Flag) {
			f.Definition.Environments = map[string]flageval.Override{"staging": {Active: new(true)}}
		}),
		boolean("needy", func(f *flag.Flag) {
			f.Definition.Prerequisites = []flageval.Prerequisite{{FlagKey: "resting", Variants: []string{"off"}}}
		}),
		text("needy-text", func(f *flag.Flag) {
			f.Definition.Prerequisites = []flageval.Prerequisite{{FlagKey: "nav", Variants: []string{"off"}}}
		}),
		text("named", func(f *flag.Flag) {
			named := flageval.Target{Variant: "two", UserIDs: []string{"ann"}, Emails: []string{"Ann@Shop.example"}}
			f.Definition.Targets = []flageval.Target{named}
		}),
		text("ruled", two(where("plan", "eq", "pro"))),
		text("grouped", two(where("", "inSegment", "testers"))),
		text("grouped-ramp", rule(flageval.Rule{Conditions: where("", "inSegment", "testers"), Serve: rollout(100, "")})),
		text("ramp", rule(flageval.Rule{Serve: rollout(100, "")})),
		text("missed", rule(flageval.Rule{Serve: rollout(0, flageval.MissStop)})),
		text("passed", rule(flageval.Rule{Serve: rollout(0, "")})),
		text("split", rule(flageval.Rule{Serve: flageval.Serve{
			Split: &[]flageval.Share{{Variant: "one", Weight: 0}, {Variant: "two", Weight: 100}},
		}})),
		text("here", two(where("$country", "country", "DE"))),
		text("near", two(where("$ip", "ipInRange", "198.51.100.0/24"))),
		text("nobody", two(where("userId", "eq", anonymous))),
	}
}

// testSet is a set of flags, and of the segment testers, which is the user bob.
func testSet(tb testing.TB, flags []*flag.Flag) *flagset.Set {
	tb.Helper()
	s, err := flagset.New("org_1", flagset.Mark{Version: 1}, flags, []*flag.Segment{
		{
			Record:     managed.Record{ID: "seg_1", OrganizationID: "org_1"},
			Definition: flageval.Segment{Key: "testers", UserIDs: []string{"bob"}},
		},
		{
			Record: managed.Record{ID: "seg_2", OrganizationID: "org_1"}, WebsiteID: "web_2",
			Definition: flageval.Segment{Key: "elsewhere", UserIDs: []string{"eve"}},
		},
	})
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// mounted is an app with the routes, around flags.
func mounted(tb testing.TB, flags []*flag.Flag, changes ...func(*Deps)) *fiber.App {
	tb.Helper()
	deps := tenants{set: testSet(tb, flags)}.deps()
	for _, change := range changes {
		change(&deps)
	}
	app := newKit()
	Mount(app, deps)
	return app
}
