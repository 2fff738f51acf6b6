package flagset

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/resource/flag"
	"github.com/millrace/millrace/internal/resource/flag/flageval"
)

func flagOf(website, key string, state flag.State) *flag.Flag {
	return &flag.Flag{WebsiteID: website, State: state, Definition: flageval.Definition{
		Key: key, Active: state == flag.Active, DefaultVariant: "on", OffVariant: "off",
		Variants: []flageval.Variant{{Key: "on", Value: []byte("true")}, {Key: "off", Value: []byte("false")}},
	}}
}

func TestAWebsiteSeesItsOwnFlagsAndThoseOfAllThatTheyDoNotHide(t *testing.T) {
	t.Parallel()
	s, err := New("org_1", Mark{Version: 3}, []*flag.Flag{
		flagOf("", "b", flag.Active), flagOf("web_1", "c", flag.Inactive), flagOf("", "d", flag.Active),
		flagOf("web_1", "a", flag.Active), flagOf("web_1", "b", flag.Active), flagOf("web_1", "d", flag.Archived),
		flagOf("web_2", "a", flag.Active),
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	type seen struct{ website, key string }
	for website, want := range map[string][]seen{
		"web_1": {{"web_1", "a"}, {"web_1", "b"}, {"web_1", "c"}, {"", "d"}},
		"web_2": {{"web_2", "a"}, {"", "b"}, {"", "d"}},
		"web_3": {{"", "b"}, {"", "d"}},
		"":      {{"", "b"}, {"", "d"}},
	} {
		var got []seen
		for f := range s.All(website) {
			got = append(got, seen{f.WebsiteID, f.Key()})
			if s.Find(website, f.Key()) != f {
				t.Errorf("website %q: the flag %s is found otherwise than it is listed", website, f.Key())
			}
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(seen{})); diff != "" {
			t.Errorf("website %q sees (-want +got):\n%s", website, diff)
		}
	}
	if s.Find("web_2", "c") != nil {
		t.Error("another website's flag is found")
	}
	if n := len(slices.Collect(s.All("web_1"))); n != 4 {
		t.Errorf("a second walk finds %d flags", n)
	}
}

// What segments hold counts once, however much it is: as theirs, and not as the set's.
func TestSegmentsCountOnce(t *testing.T) {
	t.Parallel()
	rest := func(users int) int64 {
		g := &flag.Segment{Definition: flageval.Segment{Key: "staff", UserIDs: slices.Repeat([]string{"ann"}, users)}}
		s, err := New("org_1", Mark{}, nil, []*flag.Segment{g})
		if err != nil {
			t.Fatal(err)
		}
		return s.Bytes - s.segmentBytes
	}
	if few, many := rest(1), rest(1000); few != many {
		t.Errorf("a set takes %d bytes besides a small segment, and %d besides a large one", few, many)
	}
}
