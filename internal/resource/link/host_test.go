package link

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAHostHasOneKeyHoweverItIsWritten(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]string{
		"evil.example":           "evil.example",
		"Evil.EXAMPLE.":          "evil.example",
		"bücher.example":         "xn--bcher-kva.example",
		"BÜCHER.example":         "xn--bcher-kva.example",
		"XN--BCHER-KVA.example":  "xn--bcher-kva.example",
		"faß.example":            "xn--fa-hia.example",
		"ｅｖｉｌ．example":           "evil.example",
		"evil。example。":          "evil.example",
		"e\u00advil.example":     "evil.example",
		"a_b.ｅvil.example":       "a_b.evil.example",
		"-a-.evil.example":       "-a-.evil.example",
		"localhost":              "localhost",
		"198.51.100.7":           "198.51.100.7",
		"198.51.100.7.":          "198.51.100.7",
		"3325256711":             "198.51.100.7",
		"0xC6.0x33.0x64.0x7":     "198.51.100.7",
		"0306.063.25607":         "198.51.100.7",
		"127.1":                  "127.0.0.1",
		"0x.0":                   "0.0.0.0",
		"256.1.1.1":              "256.1.1.1",
		"1.1.1.1.1":              "1.1.1.1.1",
		"4294967296":             "4294967296",
		"1.+1":                   "1.+1",
		"1..1":                   "1..1",
		"08.1":                   "08.1",
		"2001:DB8:0:0::1":        "2001:db8::1",
		"":                       "",
		".":                      "",
		"7.evil.example":         "7.evil.example",
		"evil.example7":          "evil.example7",
		"xn--a.example":          "xn--a.example",
		strings.Repeat("a", 300): strings.Repeat("a", 300),
	} {
		if got := HostKey(host); got != want {
			t.Errorf("HostKey(%.40q) = %.40q, want %.40q", host, got, want)
		}
		if again := HostKey(want); again != want {
			t.Errorf("HostKey(%.40q) = %.40q: not its own key", want, again)
		}
	}
}

func TestOnlyAddressesOfTheWebHaveAHost(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"https://Evil.example:8443/x?y#z": "evil.example",
		"HTTP://user@evil.example.":       "evil.example",
		"http://[2001:DB8::1]:80/":        "2001:db8::1",
		"https://0x7f.1/":                 "127.0.0.1",
		"mailto:ann@evil.example":         "",
		"myapp://evil.example/x":          "",
		"evil.example":                    "",
		"https://%zz":                     "",
		"https://evil.example:x/":         "",
		"https://evil.example:/":          "evil.example",
		"https://evil.example?y":          "evil.example",
		"https://evil.example#@good":      "evil.example",
		"https:evil.example":              "",
		"":                                "",
	} {
		if got := HostOf(address); got != want {
			t.Errorf("HostOf(%q) = %q, want %q", address, got, want)
		}
	}
}

//nolint:paralleltest // what others allocate would be counted
func TestAnOrdinaryHostIsItsKeyWithoutAnAllocation(t *testing.T) {
	if n := testing.AllocsPerRun(100,
		func() { HostKey("www.shop-2.example"); HostOf("https://www.shop-2.example:8443/x?y") }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestAHostIsBelowAllThatItEndsWith(t *testing.T) {
	t.Parallel()
	labels := func(n int) string { return strings.Repeat("a.", n-1) + "a" }
	for host, want := range map[string][]string{
		"a.b.example":  {"example", "b.example", "a.b.example"},
		"localhost":    {"localhost"},
		"198.51.100.7": {"198.51.100.7"},
		"2001:db8::1":  {"2001:db8::1"},
		"":             nil,
	} {
		if diff := cmp.Diff(want, hostAndAbove(host)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", host, diff)
		}
	}
	for n, want := range map[int]int{MaxBlockLabels: MaxBlockLabels, MaxBlockLabels + 1: MaxBlockLabels} {
		got := hostAndAbove(labels(n))
		if len(got) != want || got[want-1] != labels(want) {
			t.Errorf("of %d labels: %d hosts, the last %q", n, len(got), got[len(got)-1])
		}
	}
}
