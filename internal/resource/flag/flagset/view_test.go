package flagset_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/resource/flag"
	"github.com/millrace/millrace/internal/resource/flag/flageval"
	"github.com/millrace/millrace/internal/resource/flag/flagset"
	"github.com/millrace/millrace/internal/tenant/managed"
)

var noon = time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)

// onOff is a boolean flag of a website, or with an empty one of all, in a state.
func onOff(websiteID, key string, state flag.State) *flag.Flag {
	return &flag.Flag{WebsiteID: websiteID, State: state, Definition: flageval.Definition{
		Key: key, Active: state == flag.Active, DefaultVariant: "on", OffVariant: "off",
		Variants: []flageval.Variant{{Key: "on", Value: []byte("true")}, {Key: "off", Value: []byte("false")}},
	}}
}

// organization is what a set is made of, to be changed.
type organization struct {
	epoch    int64
	flags    []*flag.Flag
	segments []*flag.Segment
}

// newOrganization has a flag for servers, one of another website, one that needs another
// for servers and asks for the segment b of the website's own, and one that is inactive.
func newOrganization() *organization {
	o := &organization{}
	add := func(website, key string, state flag.State, visibility flag.Visibility, change func(*flageval.Definition)) {
		f := onOff(website, key, state)
		f.Record = managed.Record{ID: website + "." + key, Version: 1}
		f.About.Visibility = visibility
		if change != nil {
			change(&f.Definition)
		}
		o.flags = append(o.flags, f)
	}
	in := func(key string) *flageval.Conditions {
		return &flageval.Conditions{All: []flageval.Condition{{Op: flageval.OpInSegment, Values: []any{key}}}}
	}
	add("web_1", "plain", flag.Active, flag.Public, nil)
	add("web_1", "secret", flag.Active, flag.Server, nil)
	add("web_2", "other", flag.Active, flag.Public, nil)
	add("", "everywhere", flag.Active, flag.Public, nil)
	add("web_1", "inactive", flag.Inactive, flag.Public, nil)
	add("web_1", "archived", flag.Archived, flag.Public, nil)
	add("web_1", "needed", flag.Active, flag.Server, func(d *flageval.Definition) {
		d.Rules = []flageval.Rule{{Conditions: in("a"), Serve: flageval.Serve{Variant: "on"}}}
	})
	add("web_1", "needy", flag.Active, flag.Public, func(d *flageval.Definition) {
		d.Prerequisites = []flageval.Prerequisite{{FlagKey: "needed", Variants: []string{"on"}}}
		d.Rules = []flageval.Rule{{Conditions: in("b"), Serve: flageval.Serve{Variant: "on"}}}
	})
	for _, s := range []struct{ website, key string }{{"", "a"}, {"", "b"}, {"web_1", "b"}, {"web_1", "c"}} {
		o.segments = append(o.segments, &flag.Segment{
			Record: managed.Record{ID: s.website + "." + s.key, Version: 1}, WebsiteID: s.website,
			Definition: flageval.Segment{Key: s.key, UserIDs: []string{"ann"}},
		})
	}
	return o
}

func (o *organization) set(t *testing.T) *flagset.Set {
	t.Helper()
	s, err := flagset.New("org_1", flagset.Mark{Epoch: o.epoch, Version: 1}, o.flags, o.segments)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (o *organization) flag(id string) *flag.Flag {
	return o.flags[slices.IndexFunc(o.flags, func(f *flag.Flag) bool { return f.ID == id })]
}

func (o *organization) segment(id string) *flag.Segment {
	return o.segments[slices.IndexFunc(o.segments, func(s *flag.Segment) bool { return s.ID == id })]
}

func TestWhatAWebsiteSeesHasAPrintOfItsOwn(t *testing.T) {
	t.Parallel()
	before := newOrganization().set(t)
	raise := func(id string) func(*organization) { return func(o *organization) { o.flag(id).Version++ } }
	grow := func(id string) func(*organization) { return func(o *organization) { o.segment(id).Version++ } }
	for name, tc := range map[string]struct {
		change           func(*organization)
		public, tellsKey bool
	}{
		"nothing":                           {func(*organization) {}, false, false},
		"a flag":                            {raise("web_1.plain"), true, true},
		"one of all websites":               {raise(".everywhere"), true, true},
		"an inactive one":                   {raise("web_1.inactive"), true, true},
		"one for servers":                   {raise("web_1.secret"), false, true},
		"one for servers that a flag needs": {raise("web_1.needed"), true, true},
		"another website's":                 {raise("web_2.other"), false, false},
		"an archived one":                   {raise("web_1.archived"), false, false},
		"a segment that is asked for":       {grow("web_1.b"), true, true},
		"one that a needed flag asks for":   {grow(".a"), true, true},
		"a segment that another one hides":  {grow(".b"), false, false},
		"a segment that nobody asks for":    {grow("web_1.c"), false, false},
		"one becomes public": {func(o *organization) {
			o.flag("web_1.secret").About.Visibility = flag.Public
		}, true, false},
		"one is archived": {func(o *organization) {
			o.flag("web_1.plain").State = flag.Archived
		}, true, true},
		"another store with the same things": {func(o *organization) { o.epoch++ }, true, true},
	} {
		o := newOrganization()
		tc.change(o)
		after := o.set(t)
		for trusted, changes := range map[bool]bool{false: tc.public, true: tc.tellsKey} {
			if got := after.View("web_1", trusted).Print != before.View("web_1", trusted).Print; got != changes {
				t.Errorf("%s, trusted %t: the print changes: %t", name, trusted, got)
			}
		}
	}
	if again := before.View("web_1", true); again != before.View("web_1", true) {
		t.Error("a view is made twice")
	}
}

func TestTheNextTimeIsThatOfAScheduleOrOfAStepOfARamp(t *testing.T) {
	t.Parallel()
	at := func(seconds int) time.Time { return noon.Add(time.Duration(seconds) * time.Second) }
	o := &organization{}
	add := func(key string, visibility flag.Visibility, change func(*flageval.Definition)) {
		f := onOff("web_1", key, flag.Active)
		f.ID, f.About.Visibility = key, visibility
		change(&f.Definition)
		o.flags = append(o.flags, f)
	}
	ramp := func(from, to int) func(*flageval.Definition) {
		return func(d *flageval.Definition) {
			d.Rules = append(d.Rules, flageval.Rule{
				Serve:       flageval.Serve{Rollout: &flageval.Rollout{Variant: "on"}},
				Progressive: &flageval.Progressive{From: 0, To: 100, StartsAt: at(from), EndsAt: at(to)},
			})
		}
	}
	add("scheduled", flag.Public, func(d *flageval.Definition) {
		d.Schedule.StartsAt, d.Schedule.EndsAt = at(10), at(1000)
	})
	add("ramp", flag.Public, ramp(90, 200))
	add("beside", flag.Public, ramp(150, 250))
	add("short", flag.Public, ramp(310, 350))
	add("secret", flag.Server, func(d *flageval.Definition) { d.Schedule.EndsAt = at(20) })
	add("needed", flag.Server, func(d *flageval.Definition) { d.Schedule.EndsAt = at(30) })
	add("needy", flag.Public, func(d *flageval.Definition) {
		d.Prerequisites = []flageval.Prerequisite{{FlagKey: "needed", Variants: []string{"on"}}}
	})
	s := o.set(t)
	walk := func(trusted bool) (all []int) {
		for next := at(0); ; {
			if next = s.View("web_1", trusted).Next(next); next.IsZero() {
				return all
			}
			all = append(all, int(next.Sub(noon)/time.Second))
		}
	}
	want := []int{10, 30, 90, 120, 150, 180, 200, 240, 250, 310, 350, 1000}
	if diff := cmp.Diff(want, walk(false)); diff != "" {
		t.Errorf("with a client id (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(append([]int{10, 20}, want[1:]...), walk(true)); diff != "" {
		t.Errorf("with a key (-want +got):\n%s", diff)
	}
	if next := s.View("web_2", true).Next(noon); !next.IsZero() {
		t.Errorf("a website without flags has a time: %v", next)
	}
}
