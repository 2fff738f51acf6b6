package management_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/analytics/export"
	"github.com/millrace/millrace/internal/analytics/export/download"
	"github.com/millrace/millrace/internal/api/httpkit"
	"github.com/millrace/millrace/internal/api/management"
	"github.com/millrace/millrace/internal/api/rpc"
	"github.com/millrace/millrace/internal/tenant/apikey"
	"github.com/millrace/millrace/internal/tenant/audit"
	"github.com/millrace/millrace/internal/tenant/managed"
)

// threeRows is a source of three rows, which waits before the last one where it is
// told to.
type threeRows struct{ began, wait chan struct{} }

// Read implements export.Source.
func (s threeRows) Read(ctx context.Context, _ *export.Query, each func(*export.Block) error) error {
	if s.began != nil {
		s.began <- struct{}{}
	}
	for i := range 3 {
		if s.wait != nil && i == 2 {
			select {
			case <-s.wait:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		text := func(int) []byte { return []byte(strings.Repeat(string(rune('a'+i)), 3)) }
		if err := each(&export.Block{
			Rows: 1, Values: []export.Values{{Text: text}}, Names: text, Days: []uint16{1}, Keys: []uint64{uint64(i)},
		}); err != nil {
			return err
		}
	}
	return nil
}

// newExports has the fixture serve exports of a source, by a host with that deadline of a
// request; 0 is the usual one.
func (d *fixture) newExports(source export.Source, cfg download.Config, deadline time.Duration) {
	d.t.Helper()
	table := management.Resources(management.Deps{Events: management.Events{
		Exports: download.NewExporter(cfg, source, prometheus.NewRegistry()), Access: d.access, Audit: d.db,
		Log: slog.New(slog.DiscardHandler),
	}})
	d.app = httpkit.New(httpkit.Config{Host: httpkit.Query, Deadline: deadline},
		httpkit.Deps{Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry()})
	mount(d.t, d.app, table, rpc.Deps{
		Identifier: &rpc.Identifier{Keys: d.access, Sessions: d, Site: &httpkit.Site{}}, Log: slog.New(slog.DiscardHandler),
	})
}

// download exports as who and returns the response and its body.
func (d *fixture) download(who, body string) (status int, header, trailer http.Header, text string) {
	d.t.Helper()
	req := httptest.NewRequestWithContext(d.t.Context(), http.MethodPost, "/rpc/events/export", strings.NewReader(body))
	if strings.HasPrefix(who, fixturePrefix+"_") {
		req.Header.Set("X-Api-Key", who)
	} else {
		req.Header.Set("Cookie", "millrace_session="+who)
	}
	resp, err := d.app.Test(req, -1)
	if err != nil {
		d.t.Fatal(err)
	}
	defer resp.Body.Close()
	all, err := io.ReadAll(resp.Body)
	if err != nil {
		d.t.Fatal(err)
	}
	return resp.StatusCode, resp.Header, resp.Trailer, string(all)
}

func TestAnExportIsStreamedWithItsTrailersAndRemembered(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	site := do[struct{ ID, Name string }](d, "owner", "websites/create", `{"name":"Shop","domain":"shop.example.com"}`)
	d.newExports(threeRows{}, download.Config{}, 0)
	body := `{"websiteId":"` + site.ID + `","startDate":"2026-11-01","endDate":"2026-11-02","timezone":"Europe/Berlin","format":"csv","columns":["name"],"limit":3}`
	for _, who := range []string{"viewer", d.key("", "read:data"), d.key(site.ID, "read:data")} {
		status, header, trailer, text := d.download(who, body)
		if status != http.StatusOK || text != "name\r\naaa\r\nbbb\r\nccc\r\n" {
			t.Errorf("%d %q", status, text)
		}
		for name, want := range map[string]string{
			"Content-Type": "text/csv; charset=utf-8; header=present", "Cache-Control": "no-store",
			"X-Content-Type-Options": "nosniff",
			"Content-Disposition":    `attachment; filename="events_` + site.ID + `_20261031T230000Z_20261102T230000Z.csv"`,
			"X-Export-Start":         "2026-10-31T23:00:00Z", "X-Export-End": "2026-11-02T23:00:00Z",
		} {
			if got := header.Get(name); got != want {
				t.Errorf("%s: %q, want %q", name, got, want)
			}
		}
		if trailer.Get("X-Export-Rows") != "3" || trailer.Get("X-Next-Cursor") == "" {
			t.Errorf("trailers %v", trailer)
		}
	}
	entries, err := d.db.AuditEntries(t.Context(), audit.Filter{OrganizationID: d.own.ID, Action: "events.exported"})
	if err != nil || len(entries) != 3 {
		t.Fatalf("%d entries, %v", len(entries), err)
	}
	text, err := json.Marshal(entries[2].Changes)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"end":{"from":null,"to":"2026-11-02T23:00:00Z"},"format":{"from":null,"to":"csv"},"kind":{"from":null,"to":"events"},"rows":{"from":null,"to":3},"start":{"from":null,"to":"2026-10-31T23:00:00Z"}}`
	if diff := cmp.Diff(want, string(text)); diff != "" || entries[2].ResourceID != site.ID ||
		entries[2].ResourceName != "Shop" {
		t.Errorf("entry of %s (-want +got):\n%s", entries[2].ResourceID, diff)
	}
}

func TestExportsOfWhomOneMayNotSeeAreDeniedAlike(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	site := do[struct{ ID string }](d, "owner", "websites/create", `{"name":"Shop","domain":"shop.example.com"}`)
	second := do[struct{ ID string }](d, "owner", "websites/create", `{"name":"Blog","domain":"blog.example.com"}`)
	d.newExports(threeRows{}, download.Config{}, 0)
	for who, id := range map[string]string{
		"stranger": site.ID, "owner": "web_00000000000000000000000000", d.key(second.ID, "read:data"): site.ID,
	} {
		r := d.rejected(who, "events/export", `{"websiteId":"`+id+`","preset":"today","format":"csv"}`,
			http.StatusForbidden, "ACCESS_DENIED")
		if r.Error != "Access denied to this website" {
			t.Errorf("%s reads %q", who, r.Error)
		}
	}
	if status, _, _, _ := d.download("stranger", `{"websiteId":"`+site.ID+`","organizationId":"`+d.own.ID+
		`","preset":"today","format":"csv"}`); status != http.StatusNotFound {
		t.Errorf("another's organization is answered %d", status)
	}
}

// Who is revoked while an export runs has read it all the same.
func TestAnExportIsRememberedAlsoWhenItsKeyEndedMeanwhile(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	site := do[struct{ ID string }](d, "owner", "websites/create", shop)
	k := do[apiKey](d, "owner", "apiKeys/create", `{"name":"dump","scopes":["read:data"]}`)
	source := threeRows{make(chan struct{}), make(chan struct{})}
	d.newExports(source, download.Config{}, 0)
	done := make(chan string, 1)
	go func() {
		_, _, _, text := d.download(k.Secret, `{"websiteId":"`+site.ID+`","preset":"today","format":"csv","columns":["name"]}`)
		done <- text
	}()
	select {
	case <-source.began:
	case text := <-done:
		t.Fatalf("it ended before it began: %s", text)
	}
	keys := apikey.NewService(apikey.Config{Prefix: fixturePrefix}, d.db, nil)
	revoked := managed.Target{OrganizationID: d.own.ID, Ref: k.ID}
	if _, err := keys.Revoke(t.Context(), audit.BySystem(), revoked); err != nil {
		t.Fatal(err)
	}
	source.wait <- struct{}{}
	if text := <-done; text != "name\r\naaa\r\nbbb\r\nccc\r\n" {
		t.Errorf("it has %q", text)
	}
	entries, err := d.db.AuditEntries(t.Context(), audit.Filter{OrganizationID: d.own.ID, Action: "events.exported"})
	if err != nil || len(entries) != 1 || entries[0].By.Actor.ID != k.ID {
		t.Errorf("entries %+v, %v", entries, err)
	}
}

// TestExportsAtOnceAreRejectedAndSlotsComeBack has one export wait, longer than
// the host's deadline of a request.
func TestExportsAtOnceAreRejectedAndSlotsComeBack(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	site := do[struct{ ID string }](d, "owner", "websites/create", `{"name":"Shop","domain":"shop.example.com"}`)
	source := threeRows{make(chan struct{}), make(chan struct{})}
	const deadline = 3 * time.Second
	d.newExports(source, download.Config{MaxPerOrganization: 1}, deadline)
	body := `{"websiteId":"` + site.ID + `","preset":"today","format":"csv","columns":["name"]}`
	done := make(chan string, 1)
	begin := func() {
		go func() {
			_, _, _, text := d.download("owner", body)
			done <- text
		}()
		select {
		case <-source.began:
		case text := <-done:
			t.Fatalf("it ended before it began: %s", text)
		}
	}
	begin()
	<-time.After(deadline)
	r := d.rejected("viewer", "events/export", body, http.StatusTooManyRequests, "RATE_LIMITED")
	if r.Error != "Too many exports of this organization are running" || r.Header.Get("Retry-After") != "30" {
		t.Errorf("refused with %q, %v", r.Error, r.Header)
	}
	source.wait <- struct{}{}
	if text := <-done; text != "name\r\naaa\r\nbbb\r\nccc\r\n" {
		t.Errorf("the waiting one has %q", text)
	}
	begin()
	source.wait <- struct{}{}
	<-done
}
