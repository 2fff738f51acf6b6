package ingest

import (
	"fmt"
	"log/slog"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/maxmind/mmdbwriter/mmdbtype"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/pipeline/enrich"
	"github.com/millrace/millrace/internal/pipeline/enrich/enrichtest"
	"github.com/millrace/millrace/internal/privacy/salt"
)

// located returns an acceptor to which 192.0.2.0/25 is in the United States and the
// other half of that network in Austria.
func (w *world) located(t *testing.T) *Acceptor {
	t.Helper()
	file := filepath.Join(t.TempDir(), "places.mmdb")
	enrichtest.Write(t, file, map[string]mmdbtype.Map{
		"192.0.2.0/25":   enrichtest.MaxMind("US", "Ohio", "Dayton"),
		"192.0.2.128/25": enrichtest.MaxMind("AT", "Tyrol", "Hall"),
	})
	e, err := enrich.New(enrich.Config{GeoFiles: []string{file}}, enrich.Deps{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	now := func() time.Time { return noon }
	return New(Deps{
		Access: w, Salts: salt.New(w, slog.New(slog.DiscardHandler), now), Publisher: w, Metrics: prometheus.NewRegistry(),
		Now: now, Enrich: e,
	})
}

// fromBrowser is a request of the ruled website's pages.
func fromBrowser(route *Route, addr, body string) Request {
	req := request("", "client-r", body)
	req.Route, req.Addr, req.UserAgent, req.Origin = route, netip.MustParseAddr(addr), []byte(chrome),
		[]byte("https://a.example.net")
	return req
}

func (w *world) decoded(t *testing.T, i int) record.Event {
	t.Helper()
	if i >= len(w.published) {
		t.Fatalf("%d records were published", len(w.published))
	}
	var d record.Decoder
	var e record.Event
	if err := d.DecodeEvent(w.published[i].Value, &e); err != nil {
		t.Fatal(err)
	}
	return e
}

func TestARecordHoldsWhatWasFoundOutAboutAPageAndItsVisitor(t *testing.T) {
	t.Parallel()
	w := &world{}
	body := `{"eventId":"e","name":"screen_view","path":"https://www.Example.com:443/users/17?utm_source=news&secret=1",` +
		`"referrer":"https://www.google.com/search?q=x","title":"Seventeen","time_on_page":3.5}`
	if _, err := w.located(t).Accept(t.Context(), fromBrowser(Page, "192.0.2.200", body)); err != nil {
		t.Fatal(err)
	}
	e := w.decoded(t, 0)
	got := map[record.WebText]string{}
	for _, n := range []record.WebText{
		record.Host, record.Title, record.ReferrerKind, record.ReferrerName, record.UTMSource,
		record.Browser, record.OS, record.Device, record.Country, record.Region, record.City,
	} {
		got[n] = string(e.Web.Texts[n])
	}
	want := map[record.WebText]string{
		record.Host: "example.com", record.Title: "Seventeen", record.ReferrerKind: "search", record.ReferrerName: "Google",
		record.UTMSource: "news", record.Browser: "Chrome", record.OS: "Windows", record.Device: "desktop",
		record.Country: "AT", record.Region: "Tyrol", record.City: "Hall",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if string(e.Path) != "/users/*" || e.Web.Numbers[record.TimeOnPage] != 3.5 {
		t.Errorf("the path is %s, the time %v", e.Path, e.Web.Numbers[record.TimeOnPage])
	}
}

func TestPathsAreMaskedWhoeverSendsThem(t *testing.T) {
	t.Parallel()
	for name, send := range map[string]func(a *Acceptor) error{
		"a browser": func(a *Acceptor) error {
			_, err := a.Accept(t.Context(), fromBrowser(Track, "192.0.2.1", `{"name":"a","path":"/users/17"}`))
			return err
		},
		"a key": func(a *Acceptor) error {
			_, err := a.Accept(t.Context(), request("global", "web_r", `{"name":"a","path":"/users/17"}`))
			return err
		},
		"vitals": func(a *Acceptor) error {
			_, err := a.Accept(t.Context(), fromBrowser(Vitals, "192.0.2.1",
				`[{"timestamp":1772366400000,"path":"https://example.com/users/17","metricName":"LCP","metricValue":1}]`))
			return err
		},
		"a file": func(a *Acceptor) error {
			_, err := a.Import(t.Context(), importOf("global", "web_r", `{"name":"a","path":"/users/17"}`),
				func(_ int, why *apierr.Error) { t.Errorf("refused: %v", why) })
			return err
		},
	} {
		w := &world{}
		if err := send(w.located(t)); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if e := w.decoded(t, 0); string(e.Path) != "/users/*" {
			t.Errorf("%s: the path is stored as %s", name, e.Path)
		}
	}
}

func TestAddressesInAnErrorAreStoredWithoutQueriesAndMasked(t *testing.T) {
	t.Parallel()
	w := &world{}
	body := `[{"timestamp":1772366400000,"path":"https://example.com/users/17",` +
		`"message":"GET https://u:p@example.com/users/17?token=s3cret: 404, of a@b.example","errorType":"TypeError",` +
		`"filename":"https://example.com/users/17?token=s3cret","stack":"m\n at f (https://example.com/users/17?token=s3cret:3:5)"},` +
		`{"timestamp":1772366400000,"path":"https://example.com/","message":"m"}]`
	if _, err := w.located(t).Accept(t.Context(), fromBrowser(Errors, "192.0.2.1", body)); err != nil {
		t.Fatal(err)
	}
	texts := w.decoded(t, 0).Web.Texts
	if got := string(texts[record.Filename]); got != "https://example.com/users/*" {
		t.Errorf("the file is stored as %q", got)
	}
	if got := string(texts[record.Stack]); got != "m\n at f (https://example.com/users/*:3:5)" {
		t.Errorf("the stack is stored as %q", got)
	}
	if got := string(texts[record.Message]); got != "GET https://example.com/users/* 404, of a@b.example" {
		t.Errorf("the message is stored as %q", got)
	}
	if texts := w.decoded(t, 1).Web.Texts; string(texts[record.Message]) != "m" ||
		len(texts[record.Filename])+len(texts[record.Stack]) > 0 {
		t.Errorf("an error without places has %q", texts)
	}
}

func TestAutoShowsVisitorsOfTheUnitedStatesOnly(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		addr, choice string
		shown        bool
	}{
		{"192.0.2.1", ``, true}, // the website's setting is auto
		{"192.0.2.1", `,"anonymizeVisitorIds":"auto"`, true},
		{"192.0.2.1", `,"anonymizeVisitorIds":true`, false},
		{"192.0.2.200", ``, false},
		{"192.0.2.200", `,"anonymizeVisitorIds":"auto"`, false},
		{"192.0.2.200", `,"anonymizeVisitorIds":false`, true},
	} {
		w := &world{}
		body := fmt.Sprintf(`{"name":"a","anonymousId":"v"%s}`, tc.choice)
		if _, err := w.located(t).Accept(t.Context(), fromBrowser(Track, tc.addr, body)); err != nil {
			t.Fatal(err)
		}
		if e := w.decoded(t, 0); (string(e.AnonymousID) == "v") != tc.shown {
			t.Errorf("from %s, %s: the visitor is stored as %s", tc.addr, tc.choice, e.AnonymousID)
		}
	}
}

// A visitor's network changes between a vital and its repetition, and with it whether the
// visitor id is hashed.
func TestASessionsVitalHasOneIDFromEveryCountry(t *testing.T) {
	t.Parallel()
	ids := map[string]string{}
	for _, choice := range []string{``, `,"anonymizeVisitorIds":"auto"`, `,"anonymizeVisitorIds":false`} {
		for _, addr := range []string{"192.0.2.1", "192.0.2.200"} {
			w := &world{}
			body := fmt.Sprintf(`[{"timestamp":%d,"path":"/p","metricName":"LCP","metricValue":1,"anonymousId":"v",`+
				`"sessionId":"s"%s}]`, noon.UnixMilli(), choice)
			if _, err := w.located(t).Accept(t.Context(), fromBrowser(Vitals, addr, body)); err != nil {
				t.Fatal(err)
			}
			id := string(w.decoded(t, 0).ID)
			if before, sent := ids[choice]; sent && id != before || !strings.HasPrefix(id, "n_") {
				t.Errorf("%s: the ids are %s and %s", choice, before, id)
			}
			ids[choice] = id
		}
	}
	if ids[`,"anonymizeVisitorIds":false`] == ids[``] {
		t.Error("a visitor id that is never hashed does not count")
	}
}
