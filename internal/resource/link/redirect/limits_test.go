package redirect

import (
	"net/netip"
	"strconv"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/resource/link"
)

func TestAnAddressMayAskForSixtyUnknownSlugsAMinute(t *testing.T) {
	t.Parallel()
	s := newStage(t, &link.Link{Slug: "known", Enabled: true, URL: "https://a.example"},
		&link.Link{Slug: "off", URL: "https://a.example"})
	for i := range MaxUnknown - 1 {
		for range 2 { // the same again is not one more
			if _, err := s.ask(t, "nope"+strconv.Itoa(i), nil); code(err) != apierr.NotFound {
				t.Fatalf("slug %d: %v", i, err)
			}
		}
		s.pass(time.Second / 2)
	}
	if _, err := s.ask(t, "off", nil); code(err) != apierr.NotFound {
		t.Errorf("a disabled one: %v", err)
	}
	if _, err := s.ask(t, "known", nil); err != nil {
		t.Errorf("a link, before the limit is exceeded: %v", err)
	}
	_, err := s.ask(t, "one-more", nil)
	if f := apierr.Of(err); code(err) != apierr.RateLimited || f.RetryAfter <= 0 || f.RetryAfter > Window {
		t.Fatalf("one more: %v", err)
	}
	looked := s.looked
	if _, err := s.ask(t, "known", nil); code(err) != apierr.RateLimited || s.looked != looked {
		t.Errorf("a link, once the limit is exceeded: %v after %d look-ups", err, s.looked-looked)
	}
	if _, err := s.ask(t, "known", func(r *Request) { r.Addr = netip.MustParseAddr("192.0.2.8") }); err != nil {
		t.Errorf("of another address: %v", err)
	}
	s.pass(apierr.Of(err).RetryAfter)
	if _, err := s.ask(t, "known", nil); err != nil {
		t.Errorf("after what was told to wait: %v", err)
	}
}

func TestANetworkOfIPv6IsOneAddress(t *testing.T) {
	t.Parallel()
	tr := newTries(1, noon)
	for addr, same := range map[string]bool{"2001:db8:1:2:ffff::1": true, "2001:db8:1:3::1": false} {
		if got := tr.network(netip.MustParseAddr(addr)) == tr.network(netip.MustParseAddr("2001:db8:1:2::9")); got != same {
			t.Errorf("%s is the same: %v", addr, got)
		}
	}
	if tr.network(netip.MustParseAddr("::ffff:192.0.2.1")) != tr.network(netip.MustParseAddr("192.0.2.1")) {
		t.Error("an address of IPv4 in the form of IPv6 is another one")
	}
}

func TestTriesAreExactInAnyStretchOfTheWindow(t *testing.T) {
	t.Parallel()
	tr := newTries(3, noon)
	at := func(d time.Duration) bool { return tr.take(1, 0, noon.Add(d)) == nil }
	for _, tc := range []struct {
		at   time.Duration
		want bool
	}{
		{0, true},
		{50 * time.Second, true},
		{59 * time.Second, true},
		{Window - 1, false},
		{Window, true},
		{Window + 1, false},
		{110*time.Second - 1, false},
		{110 * time.Second, true},
		{300 * time.Second, true},
	} {
		if got := at(tc.at); got != tc.want {
			t.Errorf("after %v: %v", tc.at, got)
		}
	}
}

func TestTriesTakeABoundedMemory(t *testing.T) {
	t.Parallel()
	tr := newTries(1, noon)
	for who := range uint64(5 * maxTries) {
		tr.take(who, 0, noon)
		if len(tr.young) > maxTries || len(tr.old) > maxTries {
			t.Fatalf("%d and %d are remembered", len(tr.young), len(tr.old))
		}
	}
	if tr.take(5*maxTries-maxTries, 0, noon) == nil {
		t.Error("one of the last is forgotten")
	}
}
