package flagset_test

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/resource/flag"
	"github.com/millrace/millrace/internal/resource/flag/flageval"
	"github.com/millrace/millrace/internal/resource/flag/flagset"
	"github.com/millrace/millrace/internal/tenant/managed"
)

// TestASetSaysAboutWhatItTakes compares what sets say that they take with what the process takes
// more of with them.
//
//nolint:paralleltest // what others take would count
func TestASetSaysAboutWhatItTakes(t *testing.T) {
	for name, tc := range map[string]struct {
		flags, segments, sets int
		definition            func(i int) flageval.Definition
	}{
		"no flags":               {0, 0, 2000, nil},
		"one flag":               {1, 0, 500, plain},
		"many plain flags":       {2000, 0, 2, plain},
		"rules of conditions":    {200, 0, 2, ruled},
		"targets":                {10, 0, 2, targeted},
		"large payloads":         {100, 0, 2, loaded},
		"expressions, addresses": {200, 0, 2, matched},
		"segments":               {1, 50, 2, plain},
	} {
		t.Run(name, func(t *testing.T) {
			var kept []*flagset.Set
			before := inUse()
			for n := range tc.sets {
				kept = append(kept, made(t, n, tc.flags, tc.segments, tc.definition))
			}
			took := int64(inUse() - before)
			said := kept[0].Bytes * int64(len(kept))
			if said < took*8/10 || said > took*12/10 {
				t.Errorf("%d sets say that they take %d bytes and take %d", len(kept), said, took)
			}
			runtime.KeepAlive(kept)
		})
	}
}

func inUse() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// made is a set whose flags and segments come from JSON, as a store's do.
func made(t *testing.T, n, flags, segments int, definition func(i int) flageval.Definition) *flagset.Set {
	t.Helper()
	all := make([]*flag.Flag, flags)
	for i := range all {
		text, err := json.Marshal(definition(i))
		if err != nil {
			t.Fatal(err)
		}
		all[i] = &flag.Flag{
			Record: managed.Record{
				ID: fmt.Sprintf("flg_%026d", i), OrganizationID: strings.Clone("org_1"), Name: fmt.Sprint("Flag ", i), Version: 1,
			},
			State: flag.Active,
			About: flag.About{Type: flag.Boolean, Visibility: flag.Public, Description: strings.Repeat("d", 50)},
		}
		if err := json.Unmarshal(text, &all[i].Definition); err != nil {
			t.Fatal(err)
		}
	}
	groups := make([]*flag.Segment, segments)
	for i := range groups {
		groups[i] = crowd(t, i)
	}
	s, err := flagset.New(fmt.Sprint("org_", n), flagset.Mark{Epoch: 1, Version: 1}, all, groups)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// crowd is a segment of a thousand people, and a condition.
func crowd(t *testing.T, i int) *flag.Segment {
	t.Helper()
	d := flageval.Segment{Key: fmt.Sprint("group-", i), Conditions: &flageval.Conditions{All: []flageval.Condition{
		{Attribute: "plan", Op: flageval.OpIn, Values: []any{"some value", "another one"}},
	}}}
	for n := range 1000 {
		d.UserIDs = append(d.UserIDs, fmt.Sprintf("user-%d-%08d", i, n))
	}
	text, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	g := &flag.Segment{
		Record: managed.Record{ID: fmt.Sprintf("seg_%026d", i), OrganizationID: strings.Clone("org_1"), Version: 1},
	}
	if err := json.Unmarshal(text, &g.Definition); err != nil {
		t.Fatal(err)
	}
	return g
}

func plain(i int) flageval.Definition {
	return flageval.Definition{
		Key: fmt.Sprint("flag-", i), Active: true, DefaultVariant: "on", OffVariant: "off",
		Variants: []flageval.Variant{
			{Key: "on", Value: json.RawMessage("true")}, {Key: "off", Value: json.RawMessage("false")},
		},
	}
}

func ruled(i int) flageval.Definition {
	d := plain(i)
	for r := range 10 {
		var asked []flageval.Condition
		for c := range 3 {
			asked = append(asked, flageval.Condition{
				Attribute: fmt.Sprint("attr", c), Op: flageval.OpIn, Values: []any{"some value", "another one", 1.5, true},
			})
		}
		d.Rules = append(d.Rules, flageval.Rule{
			ID: fmt.Sprint("rule-", r), Conditions: &flageval.Conditions{All: asked},
			Serve:    flageval.Serve{Rollout: &flageval.Rollout{Variant: "on", Percentage: 12.5}},
			Schedule: flageval.Schedule{StartsAt: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)},
		})
	}
	return d
}

func targeted(i int) flageval.Definition {
	d := plain(i)
	d.Targets = []flageval.Target{{Variant: "on"}}
	for n := range 2000 {
		d.Targets[0].UserIDs = append(d.Targets[0].UserIDs, fmt.Sprintf("user-%d-%08d", i, n))
		d.Targets[0].Emails = append(d.Targets[0].Emails, fmt.Sprintf("person-%d-%08d@example.com", i, n))
	}
	return d
}

func loaded(i int) flageval.Definition {
	d := plain(i)
	d.Variants[0].Payload = json.RawMessage(`"` + strings.Repeat("x", 16_000) + `"`)
	return d
}

func matched(i int) flageval.Definition {
	d := plain(i)
	asked := &flageval.Conditions{Any: []flageval.Condition{
		{
			Attribute: "path", Op: flageval.OpMatches,
			Values: []any{"^/(shop|blog)/[a-z0-9-]{3,20}/?$", "(?i)checkout.*done"},
		},
		{Op: flageval.OpIPInRange, Values: []any{"10.0.0.0/8", "192.0.2.7", "2001:db8::/32"}},
	}}
	d.Rules = []flageval.Rule{{Serve: flageval.Serve{Variant: "on"}, Conditions: asked}}
	return d
}

// A set that takes over says that it takes what a new one does.
func TestASetThatTakesOverSaysTheSame(t *testing.T) {
	t.Parallel()
	flags := benchFlags(50)
	segments := []*flag.Segment{group("a", "u1"), group("b", "u1", "u2")}
	var was *flagset.Set
	for n := range 8 {
		flags[n] = &flag.Flag{Record: flags[n].Record, State: flag.Active, Definition: ruled(n)}
		if n == 4 {
			segments[1] = group("b", "u3")
		}
		is, err := flagset.Renew(was, "org_1", flagset.Mark{}, flags, segments)
		if err != nil {
			t.Fatal(err)
		}
		fresh, err := flagset.New("org_1", flagset.Mark{}, flags, segments)
		if err != nil || is.Bytes != fresh.Bytes {
			t.Errorf("change %d: a set that takes over says %d bytes, a new one %d, %v", n, is.Bytes, fresh.Bytes, err)
		}
		was = is
	}
}

func group(key string, users ...string) *flag.Segment {
	return &flag.Segment{Record: managed.Record{ID: "seg_" + key}, Definition: flageval.Segment{Key: key, UserIDs: users}}
}

func benchFlags(n int) []*flag.Flag {
	all := make([]*flag.Flag, n)
	for i := range all {
		all[i] = &flag.Flag{Record: managed.Record{ID: fmt.Sprint("flg_", i)}, State: flag.Active, Definition: ruled(i)}
	}
	return all
}

// BenchmarkRenew is what a change of one flag of a thousand costs.
func BenchmarkRenew(b *testing.B) {
	all := benchFlags(1000)
	was, err := flagset.New("org_1", flagset.Mark{}, all, nil)
	if err != nil {
		b.Fatal(err)
	}
	for n := 0; b.Loop(); n++ {
		all[n%1000] = &flag.Flag{Record: all[n%1000].Record, State: flag.Active, Definition: ruled(n % 1000)}
		if was, err = flagset.Renew(was, "org_1", flagset.Mark{}, all, nil); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkNew(b *testing.B) {
	all := benchFlags(1000)
	for b.Loop() {
		if _, err := flagset.New("org_1", flagset.Mark{}, all, nil); err != nil {
			b.Fatal(err)
		}
	}
}
