package flag

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/resource/flag/flageval"
)

// made is a boolean flag by the fields.
func made(t *testing.T, f Fields) (*Flag, error) {
	t.Helper()
	is := &Flag{About: About{Type: Boolean, Visibility: Public, Exposures: Exposures{ExposeSplit, 100}}}
	is.ID, is.Definition.Key = "flg_a", "a"
	is.enter(Inactive)
	return is, f.apply(is)
}

func TestEachLimitIsAllowedAndOneBeyondItIsNot(t *testing.T) {
	t.Parallel()
	long := func(n int) *string { return new(strings.Repeat("ü", n)) }
	days := func(n int) *int { return &n }
	for name, c := range map[string]struct {
		at     int
		fields func(n int) Fields
		field  string
	}{
		"name":        {MaxNameLen, func(n int) Fields { return Fields{Name: long(n)} }, "name"},
		"description": {MaxDescriptionLen, func(n int) Fields { return Fields{Description: long(n)} }, "description"},
		"owner":       {MaxOwnerLen, func(n int) Fields { return Fields{Owner: long(n)} }, "owner"},
		"tag":         {MaxTagLen, func(n int) Fields { return Fields{Tags: &[]string{*long(n)}} }, "tags[0]"},
		"stale":       {MaxStaleDays, func(n int) Fields { return Fields{StaleAfterDays: days(n)} }, "staleAfterDays"},
		"sample": {
			100, func(n int) Fields { return Fields{Exposures: &Exposures{ExposeAll, n}} }, "exposures.samplePercent",
		},
		"tags": {MaxTags, func(n int) Fields {
			var tags []string
			for i := range n {
				tags = append(tags, fmt.Sprint("t", i))
			}
			return Fields{Tags: &tags}
		}, "tags"},
		"rule id": {MaxRuleIDLen, func(n int) Fields {
			return Fields{Rules: &[]flageval.Rule{{ID: strings.Repeat("r", n), Serve: flageval.Serve{Variant: "on"}}}}
		}, "rules[0].id"},
		"rules": {flageval.MaxRules, func(n int) Fields {
			rules := make([]flageval.Rule, n)
			for i := range rules {
				rules[i].Serve.Variant = "on"
			}
			return Fields{Rules: &rules}
		}, "rules"},
	} {
		if _, err := made(t, c.fields(c.at)); err != nil {
			t.Errorf("%s of %d: %v", name, c.at, err)
		}
		_, err := made(t, c.fields(c.at+1))
		if f := apierr.Of(err); !apierr.Is(err, apierr.Validation) || f.Details[0].Field != c.field {
			t.Errorf("%s of %d: %v, want a problem of %s", name, c.at+1, err, c.field)
		}
	}
}

func TestADefinitionMayHaveAsManyBytesInAll(t *testing.T) {
	t.Parallel()
	people := func(more int) Fields {
		ids := make([]string, 1000)
		for i := range ids {
			ids[i] = strings.Repeat("u", 250)
		}
		ids[0] = strings.Repeat("u", 200+more)
		return Fields{Targets: &[]flageval.Target{
			{Variant: "on", UserIDs: ids}, {Variant: "off", UserIDs: []string{strings.Repeat("v", 256)}},
		}}
	}
	f, err := made(t, people(0))
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(f.Definition)
	if err != nil {
		t.Fatal(err)
	}
	room := MaxBytes - len(text)
	f.Definition.Variants[0].Description = strings.Repeat("<", room-len(`,"description":""`))
	for more, want := range map[string]bool{"": true, "<": false} {
		var bad apierr.Rejection
		is := f.Definition
		is.Variants = append([]flageval.Variant(nil), is.Variants...)
		is.Variants[0].Description += more
		if fits(&bad, is); (bad.Err() == nil) != want {
			t.Errorf("with %d more: %v", len(more), bad.Err())
		}
	}
}

func TestAPlanInAnEnvironmentThatNamesNobodyIsKeptAsThat(t *testing.T) {
	t.Parallel()
	f, err := made(t, Fields{
		Targets:      &[]flageval.Target{{Variant: "on", UserIDs: []string{"u"}}},
		Environments: &map[string]flageval.Override{"dev": {}},
	})
	if err != nil {
		t.Fatal(err)
	}
	is := *f
	people := People{UserIDs: []string{"u"}, Environment: "dev"}
	if err := is.retarget(people, func(all []flageval.Target) []flageval.Target { return all }); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(is.Definition)
	if err != nil {
		t.Fatal(err)
	}
	var back flageval.Definition
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	if dev := back.Environments["dev"]; dev.Targets == nil || len(*dev.Targets) != 0 {
		t.Errorf("in dev there are %v", dev.Targets)
	}
	if len(back.Targets) != 1 || f.Definition.Environments["dev"].Targets != nil {
		t.Errorf("the flag that it was made of has changed: %+v", f.Definition)
	}
}

func TestAFlagIsStaleOnceNobodyHasChangedItForSoLong(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	f := &Flag{About: About{StaleAfterDays: 30}, State: Active}
	f.UpdatedAt = start
	for at, want := range map[time.Duration]bool{30*24*time.Hour - time.Millisecond: false, 30 * 24 * time.Hour: true} {
		if got := f.Stale(start.Add(at)); got != want {
			t.Errorf("after %v: %t", at, got)
		}
	}
	f.State = Archived
	never := &Flag{State: Active}
	if f.Stale(start.AddDate(1, 0, 0)) || never.Stale(start.AddDate(1, 0, 0)) {
		t.Error("an archived flag, or one that says nothing, is stale")
	}
}

func TestFlagsInUseAreNamed(t *testing.T) {
	t.Parallel()
	for want, keys := range map[string][]string{
		"flag a": {"a"}, "flags a, b": {"b", "a", "b"}, "flags a, b, c, d, e": {"e", "d", "c", "b", "a"},
		"flags a, b, c, d, e and 2 more": {"g", "f", "e", "d", "c", "b", "a"},
	} {
		if got := listed(keys); got != want {
			t.Errorf("listed() = %q, want %q", got, want)
		}
	}
}

// outlined is an outline that needs others to serve "on".
func outlined(website, key string, needs ...string) Outline {
	o := Outline{ID: "flg_" + website + key, WebsiteID: website, Key: key, Refs: Refs{Variants: []string{"on", "off"}}}
	for _, n := range needs {
		o.Refs.Prerequisites = append(o.Refs.Prerequisites, flageval.Prerequisite{FlagKey: n, Variants: []string{"on"}})
	}
	return o
}

func TestAWebsitesFlagMeansItsOwnFirst(t *testing.T) {
	t.Parallel()
	all := &Outlines{
		Flags: []Outline{outlined("", "a"), outlined("", "b", "a"), outlined("w", "c", "b"), outlined("x", "c", "b")},
	}
	judge := func(website, key string, needs ...string) error {
		f := &Flag{WebsiteID: website, State: Inactive}
		o := outlined(website, key, needs...)
		f.ID, f.Definition.Key, f.Definition.Prerequisites = o.ID, key, o.Refs.Prerequisites
		f.Definition.Variants = onOff()
		return fitting(nil, f)(all)
	}
	for name, c := range map[string]struct {
		err  error
		want error
	}{
		"one that hides what nobody needs":        {judge("w", "a"), nil},
		"one that hides what its own need":        {judge("w", "b"), nil},
		"one that its own would need in a circle": {judge("w", "b", "c"), ErrCycle},
		"one in another website is in no circle":  {judge("x", "d", "c"), nil},
	} {
		if !errors.Is(c.err, c.want) {
			t.Errorf("%s: %v, want %v", name, c.err, c.want)
		}
	}
	if err := judge("", "d", "c"); !apierr.Is(err, apierr.Validation) {
		t.Errorf("one of all websites that means a website's: %v", err)
	}
	n := byName(append(all.Flags, outlined("w", "a")))
	if diff := cmp.Diff("", n.find("x", "a").WebsiteID); diff != "" || n.find("w", "a").WebsiteID != "w" ||
		n.find("", "c") != nil {
		t.Errorf("find() finds another one")
	}
}
