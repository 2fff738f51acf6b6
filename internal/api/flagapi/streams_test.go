package flagapi

import (
	"fmt"
	"net/http"
	"net/netip"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/tenant/managed"
	"github.com/millrace/millrace/internal/tenant/website"
	"github.com/millrace/millrace/internal/testkit"
)

func TestAWebsiteAndAnAddressHaveSoManyStreams(t *testing.T) {
	t.Parallel()
	s := newStreams(0, prometheus.NewRegistry())
	here, there := netip.MustParseAddr("2001:db8::1"), netip.MustParseAddr("2001:db8:0:1::1")
	var leave func()
	for range MaxStreamsPerAddr {
		var err error
		if leave, err = s.enter(viewed("web_1"), here); err != nil {
			t.Fatal(err)
		}
	}
	beside := netip.MustParseAddr("2001:db8::2") // of the same network
	_, err := s.enter(viewed("web_1"), beside)
	if f := apierr.Of(err); f == nil || f.Code != apierr.RateLimited || f.RetryAfter <= 0 {
		t.Errorf("one more is %v", err)
	}
	for _, other := range []struct {
		id   string
		addr netip.Addr
	}{{"web_2", here}, {"web_1", there}} {
		if _, err := s.enter(viewed(other.id), other.addr); err != nil {
			t.Errorf("%v: %v", other, err)
		}
	}
	leave()
	if _, err := s.enter(viewed("web_1"), beside); err != nil {
		t.Errorf("after one has left: %v", err)
	}
	if got := testutil.ToFloat64(s.rejectedFrom); got != 1 || s.Taken() != MaxStreamsPerAddr+2 {
		t.Errorf("%v refused, %d open", got, s.Taken())
	}
}

// viewed is a website of an organization.
func viewed(id string) *website.Website { return viewedOf(id, "org_1") }

func viewedOf(id, organizationID string) *website.Website {
	return &website.Website{Record: managed.Record{ID: id, OrganizationID: organizationID}}
}

func TestStreams_HaveSharesOfAddressAndOrganization(t *testing.T) {
	t.Parallel()
	const most = 1000 // 100 of an address, 500 of an organization
	s := newStreams(most, prometheus.NewRegistry())
	enter := func(site, addr, want string) {
		t.Helper()
		_, err := s.enter(viewed(site), netip.MustParseAddr(addr))
		f := apierr.Of(err)
		if got := f != nil; got != (want != "") || got && (f.Code != apierr.RateLimited || f.Message != want) {
			t.Fatalf("%s from %s: %v, want %q", site, addr, err, want)
		}
	}
	for i := range most / organizationPart {
		addr := fmt.Sprintf("192.0.2.%d", i/100) // each has two websites, of 50 streams
		if i%100 == 0 && i > 0 {
			enter("web_other", fmt.Sprintf("192.0.2.%d", i/100-1), "Too many open streams from this IP address")
		}
		enter(fmt.Sprint("web_", i/50), addr, "")
	}
	enter("web_more", "192.0.2.99", "Too many open streams for this organization")
	other := viewedOf("web_x", "org_2")
	if _, err := s.enter(other, netip.MustParseAddr("192.0.2.99")); err != nil {
		t.Errorf("another organization: %v", err)
	}
}

func TestAProcessHasSoManyStreams(t *testing.T) {
	t.Parallel()
	const most = 3
	s := newStreams(most, prometheus.NewRegistry())
	var leave []func()
	for i := range most {
		left, err := s.enter(viewed(fmt.Sprint("web_", i)), netip.MustParseAddr("192.0.2.1"))
		if err != nil {
			t.Fatal(err)
		}
		leave = append(leave, left)
	}
	_, err := s.enter(viewed("web_more"), netip.MustParseAddr("192.0.2.1"))
	if f := apierr.Of(err); f == nil || f.Code != apierr.ServiceUnavailable || f.RetryAfter <= 0 {
		t.Errorf("one more is %v", err)
	}
	for _, left := range leave {
		left()
	}
	if s.Taken() != 0 || testutil.ToFloat64(s.rejectedAll) != 1 {
		t.Errorf("%d open", s.Taken())
	}
}

func TestAHostHasAsManyStreamsAsItIsTold(t *testing.T) {
	t.Parallel()
	const most = 2
	h := newChanging(t, boolean("nav")).host(func(d *Deps) { d.MaxStreams = most })
	url, _ := serving(t, h)
	var open []*following
	for range most {
		open = append(open, follow(t, url, ""))
		if open[len(open)-1].block() == nil {
			t.Fatal("a stream within the bound is refused")
		}
	}
	got := follow(t, url, "").resp
	if got.StatusCode != http.StatusServiceUnavailable || got.Header.Get("Retry-After") != "10" ||
		got.Header.Get("Access-Control-Allow-Origin") != "*" {
		t.Errorf("one more: %d %v", got.StatusCode, got.Header)
	}
	open[0].resp.Body.Close()
	testkit.Eventually(t, within, func() error {
		if got := follow(t, url, "").resp; got.StatusCode != http.StatusOK {
			return fmt.Errorf("after one has left: %d", got.StatusCode)
		}
		return nil
	})
}
