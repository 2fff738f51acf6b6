package ingest

import (
	"log/slog"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/contract/event"
	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/pipeline/enrich"
	"github.com/millrace/millrace/internal/privacy/salt"
	"github.com/millrace/millrace/internal/tenant/managed"
	"github.com/millrace/millrace/internal/tenant/website"
)

func TestPagesOfTheWebsiteMaySendForItAndOthersMayNot(t *testing.T) {
	t.Parallel()
	free := &website.Website{Domain: "shop.example.com"}
	listing := &website.Website{Domain: "shop.example.com", Settings: website.Settings{
		AllowedOrigins: []string{"app.example.net", "*.example.org", "localhost", "192.0.2.7", "2001:db8::7"},
	}}
	local := &website.Website{Domain: "localhost"}
	www := &website.Website{Domain: "www.com"}
	registered, err := website.NormalizeDomain("https://www.co.uk/")
	if err != nil {
		t.Fatal(err)
	}
	country := &website.Website{Domain: registered}
	for _, tc := range []struct {
		site   *website.Website
		origin string
		want   bool
	}{
		{free, "", true},
		{free, "https://shop.example.com", true},
		{free, "http://shop.example.com:8080", true},
		{free, "https://www.shop.example.com", true},
		{free, "https://de.shop.example.com", true},
		{free, "https://SHOP.example.com", true},
		{free, "https://shop.example.com.", true},
		{free, "https://example.com", false},
		{free, "https://evilshop.example.com", false},
		{free, "https://shop.example.com.evil.test", false},
		{free, "https://shop.example.com@evil.test", false},
		{free, "https://evil.test/shop.example.com", false},
		{free, "https://evil.test?.shop.example.com", false},
		{free, "https://.shop.example.com", false},
		{free, "null", false},
		{free, "https://", false},
		{free, "://shop.example.com", false},
		{free, "shop.example.com", false},
		{free, "http://localhost:3000", false},
		{listing, "", false},
		{listing, "https://shop.example.com", true},
		{listing, "https://app.example.net", true},
		{listing, "https://www.app.example.net", true},
		{listing, "https://x.app.example.net", false},
		{listing, "https://a.example.org", true},
		{listing, "https://a.b.example.org", true},
		{listing, "https://example.org", false},
		{listing, "http://localhost:3000", true},
		{listing, "http://192.0.2.7:3000", true},
		{listing, "http://192.0.2.8", false},
		{listing, "http://[2001:db8::7]:3000", true},
		{listing, "http://[2001:db8::7", false},
		{listing, "null", false},
		{www, "https://www.com", true},
		{www, "https://www.www.com", true},
		{www, "https://com", false},
		{www, "https://shop.com", false},
		{country, "https://www.co.uk", true},
		{country, "https://shop.www.co.uk", true},
		{country, "https://co.uk", false},
		{country, "https://shop.co.uk", false},
		{local, "http://localhost:3000", true},
		{local, "http://app.localhost:3000", true},
		{local, "http://127.0.0.1:3000", false},
	} {
		err := checkCaller(tc.site, []byte(tc.origin), netip.MustParseAddr("192.0.2.1"))
		if (err == nil) != tc.want || err != nil && !apierr.Is(err, apierr.OriginNotAuthorized) {
			t.Errorf("origin %q for %s, list %v: %v", tc.origin, tc.site.Domain, tc.site.AllowedOrigins, err)
		}
	}
}

func TestAWebsiteTakesEventsOnlyFromTheAddressesItLists(t *testing.T) {
	t.Parallel()
	w := &website.Website{
		Settings: website.Settings{AllowedIPs: []string{"192.0.2.7", "198.51.100.0/24", "2001:db8::/32", "what?"}},
	}
	for addr, want := range map[string]bool{
		"192.0.2.7": true, "192.0.2.8": false, "198.51.100.0": true, "198.51.100.255": true, "198.51.101.0": false,
		"2001:db8:ffff::1": true, "2001:db9::1": false, "::ffff:192.0.2.7": true,
	} {
		err := checkCaller(w, nil, netip.MustParseAddr(addr))
		if (err == nil) != want || err != nil && !apierr.Is(err, apierr.IPNotAuthorized) {
			t.Errorf("from %s: %v", addr, err)
		}
	}
	if err := checkCaller(w, nil, netip.Addr{}); !apierr.Is(err, apierr.IPNotAuthorized) {
		t.Errorf("from nowhere: %v", err)
	}
}

// ruled is a website with every rule, and the ones besides.
var ruled = []*website.Website{
	{
		Record: managed.Record{ID: "web_r", OrganizationID: "org_1", Version: 1}, ClientID: "client-r", Domain: "example.com",
		Settings: website.Settings{
			AllowedOrigins: []string{"*.example.net"}, AllowedIPs: []string{"192.0.2.0/24"}, ExcludedIPs: []string{"192.0.2.66"},
			ExcludedPaths: []string{"/admin/**"}, MaskPatterns: []string{"/users/*"}, AnonymizeVisitorIDs: "auto",
		},
	},
	{
		Record:   managed.Record{ID: "web_b", OrganizationID: "org_1", Version: 1},
		ClientID: "client-b",
		Domain:   "example.com",
		Settings: website.Settings{KeepBots: true},
	},
}

func init() { websites = append(websites, ruled...) } //nolint:gochecknoinits // more rows of a table

// enriching returns an acceptor that finds out about visitors.
func (w *world) enriching(t *testing.T) *Acceptor {
	t.Helper()
	e, err := enrich.New(enrich.Config{}, enrich.Deps{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	now := func() time.Time { return noon }
	return New(Deps{
		Access: w, Salts: salt.New(w, slog.New(slog.DiscardHandler), now), Publisher: w, Metrics: prometheus.NewRegistry(),
		Now: now, Enrich: e, Quota: w.quota,
	})
}

const (
	chrome = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 " +
		"Safari/537.36"
	gptBot = "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; GPTBot/1.2; +https://openai.com/gptbot)"
)

func TestWhatAClientSendsIsScreenedAndWhatAKeySendsIsNot(t *testing.T) {
	t.Parallel()
	const page = `{"eventId":"e","name":"screen_view","path":"https://example.com/admin/x"}`
	for _, tc := range []struct {
		name, key, site, from, origin, agent, body string
		route                                      *Route
		want                                       Result
	}{
		{"a browser", "", "client-r", "192.0.2.1", "https://a.example.net", chrome, `{"name":"a"}`, Track, Result{Count: 1}},
		{"a bot", "", "client-r", "192.0.2.1", "https://a.example.net", gptBot, `{"name":"a"}`, Track, Result{Silent: true}},
		{"a bot with a key", "global", "client-r", "192.0.2.1", "", gptBot, `{"name":"a"}`, Track, Result{Count: 1}},
		{"a bot that the website keeps", "", "client-b", "192.0.2.1", "", gptBot, `{"name":"a"}`, Track, Result{Count: 1}},
		{"curl", "", "client-b", "192.0.2.1", "", "curl/8.5.0", `{"name":"a"}`, Track, Result{Count: 1}},
		{
			"an excluded address", "", "client-r", "192.0.2.66", "https://a.example.net", chrome, `{"name":"a"}`, Track,
			Result{Silent: true},
		},
		{
			"an excluded address with a key", "global", "client-r", "192.0.2.66", "", chrome, `{"name":"a"}`, Track,
			Result{Count: 1},
		},
		{
			"an excluded path", "", "client-r", "192.0.2.1", "https://a.example.net", chrome, page, Page,
			Result{Silent: true, Type: "track"},
		},
		{
			"an excluded path with a key", "global", "client-r", "192.0.2.1", "", chrome,
			`[{"name":"a","path":"/admin/x"},{"name":"b"}]`, Track,
			Result{Count: 1},
		},
		{
			"nothing but excluded paths with a key", "global", "client-r", "192.0.2.1", "", chrome,
			`{"name":"a","path":"/admin/x"}`,
			Track,
			Result{},
		},
		{
			"some of a batch", "", "client-r", "192.0.2.1", "https://a.example.net", chrome,
			"[" + page + `,{"eventId":"f","name":"x"}]`, Batch,
			Result{
				Count: 1, Type: "track", Items: []Item{{Type: "track", EventID: "e"}, {Type: "track", EventID: "f"}},
			},
		},
		{
			"a bot's batch", "", "client-r", "192.0.2.1", "https://a.example.net", gptBot, "[" + page + "]", Batch,
			Result{Silent: true, Type: "track"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w := &world{}
			req := request(tc.key, tc.site, tc.body)
			req.Route, req.Origin, req.UserAgent, req.Addr = tc.route, []byte(tc.origin), []byte(tc.agent),
				netip.MustParseAddr(tc.from)
			got, err := w.enriching(t).Accept(t.Context(), req)
			if diff := cmp.Diff(tc.want, got); diff != "" || err != nil {
				t.Errorf("Accept() = %v (-want +got):\n%s", err, diff)
			}
			if len(w.published) != tc.want.Count {
				t.Errorf("%d records were published, want %d", len(w.published), tc.want.Count)
			}
		})
	}
}

func TestOriginAndAddressAreLookedAtOnlyOfClients(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		key, from, origin string
		want              apierr.Code
	}{
		{"", "192.0.2.1", "https://evil.test", apierr.OriginNotAuthorized},
		{"", "192.0.2.1", "", apierr.OriginNotAuthorized},
		{"", "203.0.113.1", "https://a.example.net", apierr.IPNotAuthorized},
		{"global", "203.0.113.1", "https://evil.test", ""},
	} {
		for _, route := range []*Route{Track, Vitals, Errors, Engagement, Batch, Page, Identify, PixelPage} {
			body := map[event.Shape]string{
				event.One: bodies[route.Form], event.OneOrMany: bodies[route.Form], event.Many: "[" + bodies[route.Form] + "]",
			}[route.Shape]
			w := &world{}
			req := request(tc.key, "client-r", body)
			req.Route, req.Origin, req.Addr = route, []byte(tc.origin), netip.MustParseAddr(tc.from)
			_, err := w.enriching(t).Accept(t.Context(), req)
			if f := apierr.Of(err); (f == nil) != (tc.want == "") || f != nil && f.Code != tc.want {
				t.Errorf("%s, key %q, from %s, origin %q: %v, want %q", route.Name, tc.key, tc.from, tc.origin, err, tc.want)
			}
		}
	}
}

// bodies are valid items.
var bodies = map[*event.Form]string{
	event.Track:       `{"name":"a"}`,
	event.Pages:       `{"eventId":"e","name":"a"}`,
	event.Pixels:      `{"name":"a"}`,
	event.Vitals:      `{"timestamp":1772366400000,"path":"/p","metricName":"LCP","metricValue":1}`,
	event.Errors:      `{"timestamp":1772366400000,"path":"/p","message":"m"}`,
	event.Engagements: `{"timestamp":1772366400000,"path":"/p"}`,
	event.Identities:  `{"profileId":"u"}`,
}

func TestAnIdentityIsAWebsites(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, key, site, body string
		want                  apierr.Code
	}{
		{"a global key with a website in the body", "global", "", `{"profileId":"u","websiteId":"web_1"}`, ""},
		{"a global key with a website in the query", "global", "web_1", `{"profileId":"u"}`, ""},
		{"a limited key", "limited", "", `{"profileId":"u"}`, ""},
		{"a client by the body", "", "", `{"profileId":"u","websiteId":"client-1"}`, ""},
		{"a global key without one", "global", "", `{"profileId":"u"}`, apierr.Validation},
		{"a limited key with another", "limited", "", `{"profileId":"u","websiteId":"web_2"}`, apierr.AccessDenied},
		{"nobody", "", "", `{"profileId":"u"}`, apierr.AuthRequired},
	} {
		w := &world{}
		req := request(tc.key, tc.site, tc.body)
		req.Route = Identify
		_, err := w.enriching(t).Accept(t.Context(), req)
		if f := apierr.Of(err); (f == nil) != (tc.want == "") || f != nil && f.Code != tc.want {
			t.Errorf("%s: %v, want %q", tc.name, err, tc.want)
		}
		if f := apierr.Of(err); f != nil && f.Code == apierr.Validation &&
			(f.Details[0].Field != "websiteId" || f.Message != missingWebsite) {
			t.Errorf("%s: %+v", tc.name, f)
		}
	}
}

func TestTheClientIDOfAHeaderCountsLast(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		query, body, header, owner string
		route                      *Route
	}{
		{"client-1", `{"name":"a"}`, "client-2", "web_1", Track},
		{"", `{"name":"a","websiteId":"client-1"}`, "client-2", "web_1", Track},
		{"", `{"name":"a"}`, "client-2", "web_2", Track},
		{"", "[" + bodies[event.Vitals] + "]", "client-2", "web_2", Vitals},
	} {
		w := &world{}
		req := request("", tc.query, tc.body)
		req.Route, req.HeaderID = tc.route, []byte(tc.header)
		if _, err := w.acceptor().Accept(t.Context(), req); err != nil || string(w.published[0].Key) != tc.owner {
			t.Errorf("query %q, header %q, %s: %v", tc.query, tc.header, tc.body, err)
		}
	}
}

func TestLongTextsAreCutWhereRecordsEnd(t *testing.T) {
	t.Parallel()
	places := map[event.PageText]record.WebText{}
	for _, row := range told {
		places[row.from] = row.to
	}
	for name, row := range map[string]struct {
		form *event.Form
		text event.PageText
	}{
		"message": {event.Errors, event.Message}, "stack": {event.Errors, event.Stack},
		"filename": {event.Errors, event.Filename},
		"title":    {event.Pages, event.Title}, "href": {event.Pages, event.Href}, "text": {event.Pages, event.LinkText},
		"utm_source": {event.Pages, event.UTMSource}, "language": {event.Pages, event.Language},
	} {
		f, _ := row.form.Field(name)
		if want := record.WebTexts[places[row.text]].Max; f.Max != int64(want) {
			t.Errorf("%s may have %d characters, its record %d", name, f.Max, want)
		}
	}
}
