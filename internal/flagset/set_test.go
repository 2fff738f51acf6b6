package flagset_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/flag"
	"github.com/millrace/millrace/internal/flageval"
	"github.com/millrace/millrace/internal/flagset"
	"github.com/millrace/millrace/internal/managed"
)

func TestAMarkIsBeforeThoseOfLaterLivesAndVersions(t *testing.T) {
	t.Parallel()
	marks := []flagset.Mark{
		{}, {Epoch: 1}, {Epoch: 1, Version: 1}, {Epoch: 1, Version: 9}, {Epoch: 2}, {Epoch: 2, Version: 5},
	}
	for i, a := range marks {
		for j, b := range marks {
			if got := a.Before(b); got != (i < j) {
				t.Errorf("%v.Before(%v) = %t", a, b, got)
			}
		}
	}
}

// keyed is a flag of a website, or with an empty one of all, in a state.
func keyed(websiteID, key string, state flag.State) *flag.Flag {
	f := valued("org_1", websiteID+"/"+key)
	f.Record = managed.Record{ID: "flg_" + websiteID + "_" + key, Version: 7}
	f.WebsiteID, f.Definition.Key, f.State = websiteID, key, state
	return f
}

func TestAWebsiteHasItsFlagsAndThoseOfAllThatTheyDoNotHide(t *testing.T) {
	t.Parallel()
	s, err := flagset.New("org_1", flagset.Mark{Epoch: 1, Version: 1}, []*flag.Flag{
		keyed("", "d", flag.Active), keyed("", "b", flag.Active),
		keyed("", "a", flag.Archived), keyed("", "e", flag.Active),
		keyed("web_1", "c", flag.Inactive), keyed("web_1", "b", flag.Active),
		keyed("web_1", "e", flag.Archived), keyed("web_1", "f", flag.Active),
		keyed("web_2", "z", flag.Active),
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for site, want := range map[string]string{
		"web_1": "web_1/b web_1/c /d /e web_1/f", "web_2": "/b /d /e web_2/z", "web_3": "/b /d /e", "": "/b /d /e",
	} {
		var got []string
		for f := range s.All(site) {
			got = append(got, f.WebsiteID+"/"+f.Key())
			if found := s.Find(site, f.Key()); found != f {
				t.Errorf("%s: found %+v, want %+v", site, found, f)
			}
			if f.ID != "flg_"+f.WebsiteID+"_"+f.Key() || f.Version != 7 || f.About.Type != flag.String {
				t.Errorf("%s: %+v", site, f)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q has %v, want %s", site, got, want)
		}
		for range s.All(site) {
			break // whoever has enough may stop
		}
		for _, key := range []string{"a", "g", ""} {
			if found := s.Find(site, key); found != nil {
				t.Errorf("%s: %s is %+v", site, key, found)
			}
		}
	}
}

func TestSegmentsAreInOrder(t *testing.T) {
	t.Parallel()
	var all []*flag.Segment
	for _, name := range []string{"web_2/a", "/b", "web_1/z", "/a", "web_1/a"} {
		site, key, _ := strings.Cut(name, "/")
		all = append(all, &flag.Segment{
			WebsiteID: site, Definition: flageval.Segment{Key: key, UserIDs: []string{"u"}},
		})
	}
	given := slices.Clone(all)
	s, err := flagset.New("org_1", flagset.Mark{}, nil, all)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, g := range s.Segments {
		got = append(got, g.WebsiteID+"/"+g.Key())
	}
	if want := "/a /b web_1/a web_1/z web_2/a"; strings.Join(got, " ") != want || !slices.Equal(all, given) {
		t.Errorf("%v, want %s", got, want)
	}
}

func TestAFlagThatCannotBeCompiledIsNamed(t *testing.T) {
	t.Parallel()
	bad := keyed("web_1", "nav", flag.Active)
	bad.Definition.OffVariant = "none"
	_, err := flagset.New("org_1", flagset.Mark{}, []*flag.Flag{bad}, nil)
	if err == nil || !strings.Contains(err.Error(), "org_1") || !strings.Contains(err.Error(), "nav") {
		t.Errorf("New() = %v", err)
	}
}
