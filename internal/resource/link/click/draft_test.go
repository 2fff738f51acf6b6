package click

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/contract/record/recordtest"
	"github.com/millrace/millrace/internal/resource/link"
)

// recordOf makes the record of a click, and reads it.
func recordOf(t *testing.T, c *Click, salt []byte) (*record.Record, *record.Event) {
	t.Helper()
	var d draft
	r := new(record.ClickRecord)
	d.write(anyClick(), salt, r) // what was there before is to leave no trace
	d.write(c, salt, r)
	recordtest.Validate(t, &r.Record)
	var e record.Event
	if err := new(record.Decoder).DecodeEvent(r.Value, &e); err != nil {
		t.Fatal(err)
	}
	return &r.Record, &e
}

// texts returns what an event tells of the web.
func texts(e *record.Event) map[string]string {
	all := map[string]string{}
	for i, v := range &e.Web.Texts {
		if len(v) > 0 {
			all[record.WebTexts[i].Key] = string(v)
		}
	}
	return all
}

func TestARecordTellsOfTheClick(t *testing.T) {
	t.Parallel()
	c := anyClick()
	c.RuleID, c.VariantID, c.Bot, c.RequestID = "rul_1", "var_1", BotPrefetch, []byte("req-1")
	r, e := recordOf(t, c, salt)
	want := map[string]string{
		"country": "AT", "region": "Tyrol", "city": "Innsbruck", "device": "desktop", "os": "Windows", "browser": "Chrome",
		"language":     "de-AT",
		"referrerHost": "google.com", "referrerKind": "search", "referrerName": "Google", "utmSource": "newsletter",
		"utmMedium": "email",
	}
	if diff := cmp.Diff(want, texts(e)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	click := &record.Click{
		Link: []byte(c.Link.ID), Visitor: visitorOf(c), RuleID: []byte("rul_1"), VariantID: []byte("var_1"),
		BotReason: []byte("prefetch"), IsBot: true, Status: 302,
	}
	if diff := cmp.Diff(click, e.Click); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	h, err := record.ParseHeaders(r.Headers)
	if err != nil || string(h.RequestID) != "req-1" || e.TimeMillis != c.At.UnixMilli() || e.ReceivedAt != e.TimeMillis {
		t.Errorf("request %q at %d, received at %d, %v", h.RequestID, e.TimeMillis, e.ReceivedAt, err)
	}
	if !regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`).Match(e.ID) {
		t.Errorf("id %s", e.ID)
	}
}

// visitorOf follows the recipe that the topic's schema tells.
func visitorOf(c *Click) []byte {
	addr := c.Addr.As16()
	sum := sha256.Sum256(slices.Concat(salt, []byte(c.Link.ID), addr[:], c.UserAgent))
	return []byte(hex.EncodeToString(sum[:16]))
}

func TestNeitherAddressNorUserAgentNorReferrerArePublished(t *testing.T) {
	t.Parallel()
	for _, addr := range []string{"203.0.113.77", "2001:db8:1234::77"} {
		c := anyClick()
		c.Addr, c.Referrer = netip.MustParseAddr(addr),
			[]byte("https://user:pass@www.example.org/private/page?token=secret#part")
		r, _ := recordOf(t, c, salt)
		all := append([]byte{}, r.Value...)
		for _, h := range r.Headers {
			all = append(all, h.Value...)
		}
		for _, secret := range []string{
			addr, "Mozilla", "AppleWebKit", "126.0", "private", "secret", "user", "pass", hex.EncodeToString(c.Addr.AsSlice()),
		} {
			if bytes.Contains(all, []byte(secret)) {
				t.Errorf("%s is in the record %s", secret, r.Value)
			}
		}
	}
}

func TestAVisitorIsKnownForADayAndALink(t *testing.T) {
	t.Parallel()
	of := func(salt []byte, change func(*Click)) string {
		c := anyClick()
		change(c)
		_, e := recordOf(t, c, salt)
		return string(e.Click.Visitor)
	}
	same := func(c *Click) { c.Referrer, c.Query, c.At = nil, nil, c.At.Add(1) }
	first := of(salt, func(*Click) {})
	if again := of(salt, same); again != first {
		t.Errorf("one visitor is %s and %s", first, again)
	}
	if mapped := of(salt, func(c *Click) { c.Addr = netip.MustParseAddr("::ffff:192.0.2.1") }); mapped != of(salt,
		func(c *Click) { c.Addr = netip.MustParseAddr("192.0.2.1") }) {
		t.Error("one address in two forms is two visitors")
	}
	seen := map[string]bool{first: true}
	for i, other := range []string{
		of(bytes.Repeat([]byte{1}, 32), same),
		of(salt, func(c *Click) { c.Link = &link.Served{ID: "lnk_01JQZ3F8Y4M2N6P8R0S2T4V6WX", OrganizationID: "org_1"} }),
		of(salt, func(c *Click) { c.Addr = netip.MustParseAddr("2001:db8::2") }),
		of(salt, func(c *Click) { c.UserAgent = append([]byte{}, c.UserAgent[1:]...) }),
	} {
		if seen[other] {
			t.Errorf("change %d leaves the visitor the same", i)
		}
		seen[other] = true
	}
	if none := of(nil, same); none != "" {
		t.Errorf("without a salt the visitor is %s", none)
	}
}

func TestACampaignIsTheLinksAndElseTheAddresss(t *testing.T) {
	t.Parallel()
	c := anyClick()
	c.Link = &link.Served{ID: "lnk_1", OrganizationID: "org_1", UTM: link.UTM{Source: "s", Term: "t"}}
	c.Query = []byte("utm_source=x&utm_medium=m%C3%A9&utm_campaign=c+d&utm_content=&utm_term=y&gclid=1")
	c.Referrer, c.Languages = nil, nil
	_, e := recordOf(t, c, nil)
	want := map[string]string{
		"utmSource": "s", "utmMedium": "mé", "utmCampaign": "c d", "utmTerm": "t", "referrerKind": "direct",
	}
	got := texts(e)
	for _, known := range []string{"country", "region", "city", "device", "os", "browser"} {
		delete(got, known)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestQRCodesAreRecognised(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]bool{
		"qr=1": true, "a=b&qr=1": true, "qr=1&a": true, "": false, "qr": false, "qr=": false, "qr=0": false, "qr=11": false,
		"xqr=1": false, "a=qr=1": false,
	} {
		c := anyClick()
		c.Query = []byte(query)
		if _, e := recordOf(t, c, nil); e.Click.IsQR != want {
			t.Errorf("%q: %t", query, e.Click.IsQR)
		}
	}
}

func TestTheLanguageIsTheFirstThatTheBrowserNames(t *testing.T) {
	t.Parallel()
	longest := "a" + strings.Repeat("-b", 17) // 35 bytes
	for header, want := range map[string]string{
		"de-AT,de;q=0.9": "de-AT", "en ;q=0.5": "en", "": "", "*": "", "<script>": "", "de\x00": "", longest: longest,
		longest + "c": "",
	} {
		c := anyClick()
		c.Languages = []byte(header)
		if _, e := recordOf(t, c, nil); texts(e)["language"] != want {
			t.Errorf("%q: %q", header, texts(e)["language"])
		}
	}
}

func TestAClickOfWhichNothingIsKnownIsARecordToo(t *testing.T) {
	t.Parallel()
	_, e := recordOf(t,
		&Click{Link: &link.Served{ID: "lnk_1", OrganizationID: "org_1"}, At: anyClick().At, Status: 301}, salt)
	if diff := cmp.Diff(map[string]string{"referrerKind": "direct"}, texts(e)); diff != "" || len(e.Click.Visitor) != 32 {
		t.Errorf("visitor %q (-want +got):\n%s", e.Click.Visitor, diff)
	}
}

func TestNoTwoClicksHaveOneID(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for range 100_000 {
		seen[string(appendID(nil, 1795000000000))] = true
	}
	if len(seen) != 100_000 {
		t.Errorf("%d ids are different", len(seen))
	}
}
