package cidr_test

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/platform/cidr"
)

func TestARangeHasOneWrittenForm(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"203.0.113.7":                       "203.0.113.7",
		" 203.0.113.7 ":                     "203.0.113.7",
		"203.0.113.7/32":                    "203.0.113.7",
		"203.0.113.7/24":                    "203.0.113.0/24",
		"0.0.0.0/0":                         "0.0.0.0/0",
		"::ffff:203.0.113.7":                "203.0.113.7",
		"::ffff:203.0.113.7/120":            "203.0.113.0/24",
		"::ffff:0:0/96":                     "0.0.0.0/0",
		"::ffff:0:0/95":                     "",
		"2001:DB8::1":                       "2001:db8::1",
		"2001:db8:ffff::/32":                "2001:db8::/32",
		"::/0":                              "::/0",
		"fe80::1%eth0":                      "",
		"fe80::%eth0/64":                    "",
		"203.0.113.007":                     "",
		"203.0.113.7/33":                    "",
		"203.0.113.7/":                      "",
		"203.0.113.7/024":                   "",
		"203.0.113":                         "",
		"localhost":                         "",
		"":                                  "",
		"203.0.113.7\n":                     "203.0.113.7",
		"203.0.113.7, 10.0.0.1":             "",
		strings.Repeat(" ", 64) + "1.2.3.4": "",
	} {
		p, err := cidr.Parse(text)
		if (err == nil) != (want != "") {
			t.Errorf("Parse(%q) = %s, %v, want %q", text, p, err, want)
		}
		if err == nil && cidr.Format([]netip.Prefix{p})[0] != want {
			t.Errorf("Parse(%q) reads %s, want %s", text, p, want)
		}
	}
}

func TestAListHoldsAnAddressInEitherSpelling(t *testing.T) {
	t.Parallel()
	list, _, err := cidr.ParseList([]string{"10.0.0.0/8", "2001:db8::/32", "10.0.0.0/8", "::ffff:192.0.2.1"})
	if err != nil || len(list) != 3 {
		t.Fatalf("ParseList() = %v, %v", list, err)
	}
	got := map[string]bool{}
	want := map[string]bool{
		"10.255.255.255": true, "11.0.0.0": false, "9.255.255.255": false, "::ffff:10.0.0.1": true,
		"192.0.2.1": true, "192.0.2.2": false, "2001:db8:ffff::1": true, "2001:db9::": false, "2001:db8::1%eth0": true,
	}
	for text := range want {
		got[text] = cidr.Contains(list, netip.MustParseAddr(text))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Contains() (-want +got):\n%s", diff)
	}
	everything := []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0")}
	if cidr.Contains(everything, netip.Addr{}) {
		t.Error("an unknown address is in a list")
	}
}

func TestAListTellsWhichEntryIsWrong(t *testing.T) {
	t.Parallel()
	_, at, err := cidr.ParseList([]string{"10.0.0.1", "ten"})
	if at != 1 || err == nil || !strings.Contains(err.Error(), "ten") {
		t.Errorf("ParseList() = entry %d, %v", at, err)
	}
	if got := cidr.Format(nil); !slices.Equal(got, []string{}) {
		t.Errorf("Format(nil) = %v", got)
	}
}
