package flagset_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/resource/flag"
	"github.com/millrace/millrace/internal/resource/flag/flageval"
	"github.com/millrace/millrace/internal/resource/flag/flagset"
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
	bad := valued("org_1", "v")
	bad.Definition.OffVariant = "none"
	_, err := flagset.New("org_1", flagset.Mark{}, []*flag.Flag{bad}, nil)
	if err == nil || !strings.Contains(err.Error(), "org_1") || !strings.Contains(err.Error(), "nav") {
		t.Errorf("New() = %v", err)
	}
}
