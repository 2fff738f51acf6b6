package enrich

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func campaignOf(query string) Campaign {
	var c Campaign
	addCampaign(nil, &c, []byte(query))
	return c
}

func TestCampaignsAreReadFromTheQuery(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ü", MaxCampaignLen)
	for query, want := range map[string]Campaign{
		"":  {},
		"&": {},
		"utm_source=a&utm_medium=b&utm_campaign=c&utm_term=d&utm_content=e": {
			Source: []byte("a"), Medium: []byte("b"), Name: []byte("c"), Term: []byte("d"), Content: []byte("e"),
		},
		"UTM_Source=News+Letter%21":      {Source: []byte("News Letter!")},
		"utm_source=a&utm_source=b":      {Source: []byte("a")},
		"utm_source=&utm_source=b":       {Source: []byte("b")},
		"utm_source":                     {},
		"utm_source=%20%0a+":             {Source: []byte{}},
		"utm_source=a%00%1bb%FFc":        {Source: []byte("abc")},
		"utm_source=100%&utm_medium=%zz": {Source: []byte("100%"), Medium: []byte("%zz")},
		"utm_source=" + long:             {Source: []byte(long)},
		"utm_source=" + long + "x":       {Source: []byte(long)},
		"utm_sourcex=a&xutm_source=b":    {},
		"gclid=abc&fbclid=def":           {ClickKind: "gclid", ClickID: []byte("abc")},
		"FBCLID=Def":                     {ClickKind: "fbclid", ClickID: []byte("Def")},
		"gclid=&li_fat_id=1":             {ClickKind: "li_fat_id", ClickID: []byte("1")},
		"a=b;utm_source=c":               {},
		"utm_source=a=b":                 {Source: []byte("a=b")},
	} {
		if diff := cmp.Diff(want, campaignOf(query)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", query, diff)
		}
	}
}

func TestEveryParameterOfCampaignsIsKnown(t *testing.T) {
	t.Parallel()
	for _, p := range campaignParams {
		c := campaignOf(p.name + "=v")
		if got := *c.field(p.field); string(got) != "v" || p.field == clickField && c.ClickKind != p.name {
			t.Errorf("%s gives %+v", p.name, c)
		}
		if !isCampaignParam([]byte(strings.ToUpper(p.name))) || len(p.name) > maxParamName ||
			p.name != strings.ToLower(p.name) {
			t.Errorf("%s would stay in an address", p.name)
		}
	}
}

func TestParametersOfCampaignsNeverStayInAnAddress(t *testing.T) {
	t.Parallel()
	rules := Compile(nil, nil, []string{"utm_source", "utm_other", "gclid", "tab", "a[b]"})
	a := split([]byte("/x?utm_source=1&utm_other=2&gclid=3&TAB=4&tab=5&tab=a+b&a%5Bb%5D=6&a[b]=7&other=8&tab"))
	if got, want := string(appendPage(nil, &a, rules)), "/x?tab=5&tab=a%20b&a%5Bb%5D=6&a%5Bb%5D=7&tab="; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func FuzzCampaign(f *testing.F) {
	f.Add([]byte("utm_source=a%20b+c&gclid=%FF&utm_term=%E3%81%82"))
	f.Fuzz(func(t *testing.T, query []byte) {
		c := campaignOf(string(query))
		for _, v := range [][]byte{c.Source, c.Medium, c.Name, c.Term, c.Content, c.ClickID} {
			if !utf8.Valid(v) || utf8.RuneCount(v) > MaxCampaignLen {
				t.Errorf("%q gives %q", query, v)
			}
		}
		if (len(c.ClickID) > 0) != (c.ClickKind != "") {
			t.Errorf("%q gives %+v", query, c)
		}
	})
}
