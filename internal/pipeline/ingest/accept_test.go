package ingest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/contract/event"
	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/privacy/salt"
	"github.com/millrace/millrace/internal/tenant/auth"
	"github.com/millrace/millrace/internal/tenant/managed"
	"github.com/millrace/millrace/internal/tenant/website"
)

var (
	errDown = errors.New("store is down")
	noon    = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
)

// world is everything around an Acceptor: a few keys and websites, a salt, and a
// publisher that remembers. It also notes the order in which it is asked.
type world struct {
	saltErr, publishErr error
	quota               Quota // nil rejects nobody
	asked               []string
	published           []record.Record
}

var keys = map[string]auth.Principal{
	"global": {Kind: auth.KindKey, OrganizationID: "org_1", KeyID: "key_1", Scopes: scopes("track:events", "read:data")},
	"limited": {
		Kind: auth.KindKey, OrganizationID: "org_1", KeyID: "key_2", Scopes: scopes("track:events"), WebsiteID: "web_1",
	},
	"readonly": {Kind: auth.KindKey, OrganizationID: "org_1", KeyID: "key_3", Scopes: scopes("read:data")},
	"orphan": {
		Kind: auth.KindKey, OrganizationID: "org_1", KeyID: "key_4", Scopes: scopes("track:events"), WebsiteID: "web_gone",
	},
}

var websites = []*website.Website{
	{
		Record:           managed.Record{ID: "web_1", OrganizationID: "org_1"},
		ClientID:         "client-1",
		OldClientID:      "client-0",
		OldClientIDUntil: noon.Add(time.Hour),
	},
	{
		Record:   managed.Record{ID: "web_2", OrganizationID: "org_1"},
		ClientID: "client-2",
		Settings: website.Settings{AnonymizeVisitorIDs: "false"},
	},
	{Record: managed.Record{ID: "web_3", OrganizationID: "org_2"}, ClientID: "client-3"},
	{Record: managed.Record{ID: "web_4"}, ClientID: "client-4"},
	{
		Record:   managed.Record{ID: "web_6", OrganizationID: "org_1"},
		ClientID: "client-6",
		Settings: website.Settings{ExcludedIPs: []string{"192.0.2.0/24"}},
	},
}

func scopes(names ...string) auth.ScopeSet {
	set, err := auth.ParseScopes(names)
	if err != nil {
		panic(err) //nolint:forbidigo // a mistake in this file
	}
	return set
}

func (w *world) Key(ctx context.Context, secret []byte, from auth.From) (auth.Principal, error) {
	w.asked = append(w.asked, "key")
	if string(secret) == "down" {
		return auth.Principal{}, &apierr.Error{Code: apierr.ServiceUnavailable, Err: errDown}
	}
	p, ok := keys[string(secret)]
	if !ok {
		return auth.Principal{}, from.Failed(ctx, apierr.New(apierr.AuthRequired))
	}
	return p, nil
}

func (w *world) ClientWebsite(_ context.Context, clientID string) (*website.Website, error) {
	w.asked = append(w.asked, "client")
	return w.find(func(s *website.Website) bool { return s.AcceptsClientID(clientID, noon) })
}

func (w *world) Website(_ context.Context, ref string) (*website.Website, error) {
	w.asked = append(w.asked, "website")
	return w.find(func(s *website.Website) bool { return s.Accepts(ref, noon) })
}

func (*world) find(is func(*website.Website) bool) (*website.Website, error) {
	for _, s := range websites {
		if is(s) {
			return s, nil
		}
	}
	return nil, website.ErrNotFound
}

func (w *world) Remembered(ref string) *website.Website {
	s, _ := w.find(func(s *website.Website) bool { return s.Accepts(ref, noon) })
	return s
}

func (w *world) Salt(context.Context, time.Time) ([]byte, error) {
	w.asked = append(w.asked, "salt")
	return []byte("salt"), w.saltErr
}

// PruneSalts implements salt.Store.
func (*world) PruneSalts(context.Context, time.Time) error { return nil }

func (w *world) Publish(_ context.Context, recs []record.Record) error {
	w.asked = append(w.asked, "publish")
	if w.publishErr != nil {
		return w.publishErr
	}
	w.published = append(w.published, recs...)
	return nil
}

func (w *world) acceptor() *Acceptor {
	now := func() time.Time { return noon }
	return New(Deps{
		Access: w, Salts: salt.New(w, slog.New(slog.DiscardHandler), now), Publisher: w,
		Metrics: prometheus.NewRegistry(), Now: now,
	})
}

// request makes a Request of texts.
func request(key, websiteID, body string) Request {
	return Request{Route: Track, Body: []byte(body), Key: []byte(key), WebsiteID: []byte(websiteID), ID: []byte("req-1")}
}

// track accepts a request and says how many of its events were taken.
func track(t *testing.T, a *Acceptor, req Request) (int, error) {
	t.Helper()
	got, err := a.Accept(t.Context(), req)
	return got.Count, err
}

func TestEachCheckAnswersBeforeTheOnesBehindIt(t *testing.T) {
	t.Parallel()
	const good, bad, visitor = `{"name":"a"}`, `{"name":""}`, `{"name":"a","anonymousId":"v"}`
	named := func(site string) string { return fmt.Sprintf(`{"name":"a","websiteId":%q}`, site) }
	large := fmt.Sprintf(`{"name":"a","properties":{"k":%q}}`, strings.Repeat("x", event.MaxPropertiesBytes))
	for _, tc := range []struct {
		name                 string
		key, websiteID, body string
		world                world
		want                 apierr.Code
		asked                []string
	}{
		{"nothing says who sends", "", "", good, world{}, apierr.AuthRequired, nil},
		{"nothing says who sends a bad body", "", "", bad, world{}, apierr.AuthRequired, nil},
		{"nobody sends nothing", "", "", "", world{}, apierr.AuthRequired, nil},
		{"a bad key beside a good client id", "forged", "client-1", good, world{}, apierr.AuthRequired, []string{"key"}},
		{"a bad key with a bad body", "forged", "client-1", bad, world{}, apierr.AuthRequired, []string{"key"}},
		{"a key that cannot be looked up", "down", "client-1", good, world{}, apierr.ServiceUnavailable, []string{"key"}},
		{"a bad body of a key without scope", "readonly", "", bad, world{}, apierr.Validation, []string{"key"}},
		{"a bad body of an unknown client", "", "unknown", bad, world{}, apierr.Validation, nil},
		{"a websiteId in a bad body", "", "", `{"websiteId":"client-1","name":""}`, world{}, apierr.Validation, nil},
		{"a websiteId before broken JSON", "", "", `{"websiteId":"client-1",`, world{}, apierr.Validation, nil},
		{"properties too large", "", "unknown", large, world{}, apierr.PayloadTooLarge, nil},
		{"no scope and a foreign website", "readonly", "", named("web_3"), world{}, apierr.Forbidden, []string{"key"}},
		{"no scope and no website", "readonly", "", named("unknown"), world{}, apierr.Forbidden, []string{"key"}},
		{"a key's unknown website", "global", "unknown", good, world{}, apierr.WebsiteNotFound, []string{"key", "website"}},
		{"a key's foreign website", "global", "web_3", good, world{}, apierr.WebsiteNotFound, []string{"key", "website"}},
		{
			"a key's website without organization", "global", "web_4", good,
			world{},
			apierr.WebsiteNotFound,
			[]string{"key", "website"},
		},
		{"a limited key's other website", "limited", "web_2", good, world{}, apierr.AccessDenied, []string{"key", "website"}},
		{
			"a limited key's foreign website", "limited", "web_3", good,
			world{},
			apierr.WebsiteNotFound,
			[]string{"key", "website"},
		},
		{
			"a key limited to a website that is gone", "orphan", "", good,
			world{},
			apierr.WebsiteNotFound,
			[]string{"key", "website"},
		},
		{
			"one bad website in a batch", "global", "", "[" + good + "," + named("web_1") + "," + named("web_3") + "]",
			world{},
			apierr.WebsiteNotFound,
			[]string{"key", "website", "website"},
		},
		{"an unknown client", "", "unknown", good, world{}, apierr.WebsiteNotFound, []string{"client"}},
		{"a website's id is no client id", "", "web_1", good, world{}, apierr.WebsiteNotFound, []string{"client"}},
		{
			"a client without organization", "", "client-4", good,
			world{},
			apierr.WebsiteMissingOrganization,
			[]string{"client"},
		},
		{
			"a client's event for another website", "", "client-1", named("client-2"),
			world{},
			apierr.AccessDenied,
			[]string{"client"},
		},
		{
			"a client's event for an unknown website", "", "client-1", named("unknown"),
			world{},
			apierr.AccessDenied,
			[]string{"client"},
		},
		{
			"a client's event by the private id", "", "client-1", named("web_1"),
			world{},
			apierr.AccessDenied,
			[]string{"client"},
		},
		{
			"a salt that cannot be read", "global", "", visitor,
			world{saltErr: errDown},
			apierr.ServiceUnavailable,
			[]string{"key", "salt"},
		},
		{
			"no acknowledgement", "global", "", visitor,
			world{publishErr: apierr.New(apierr.DeliveryUnavailable)},
			apierr.DeliveryUnavailable,
			[]string{"key", "salt", "publish"},
		},
		{
			"a publisher that breaks", "global", "", good,
			world{publishErr: errDown},
			apierr.DeliveryUnavailable,
			[]string{"key", "publish"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w := tc.world
			count, err := track(t, w.acceptor(), request(tc.key, tc.websiteID, tc.body))
			if !apierr.Is(err, tc.want) || count != 0 {
				t.Errorf("Track() = %d, %v; want %s", count, err, tc.want)
			}
			if diff := cmp.Diff(tc.asked, w.asked); diff != "" {
				t.Errorf("asked (-want +got):\n%s", diff)
			}
			if len(w.published) > 0 {
				t.Errorf("%d records were published", len(w.published))
			}
		})
	}
}

func TestAnEventGoesToTheWebsiteItNamesElseTheQuerysElseTheKeys(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, key, websiteID, body string
		owners                     []string
	}{
		{"a global key without website", "global", "", `{"name":"a"}`, []string{"org_1"}},
		{"a global key with a query", "global", "web_1", `{"name":"a"}`, []string{"web_1"}},
		{"a global key with a client id", "global", "client-1", `{"name":"a"}`, []string{"web_1"}},
		{"an event before the query", "global", "web_1", `{"name":"a","websiteId":"web_2"}`, []string{"web_2"}},
		{"a limited key without website", "limited", "", `{"name":"a"}`, []string{"web_1"}},
		{"a limited key with its website", "limited", "", `{"name":"a","websiteId":"client-1"}`, []string{"web_1"}},
		{
			"a mixed batch", "global", "web_2",
			`[{"name":"a"},{"name":"b","websiteId":"web_1"},{"name":"c","websiteId":"web_1"},{"name":"d"}]`,
			[]string{"web_2", "web_1", "web_1", "web_2"},
		},
		{"a client by query", "", "client-1", `{"name":"a"}`, []string{"web_1"}},
		{"a client by body", "", "", `{"name":"a","websiteId":"client-1"}`, []string{"web_1"}},
		{
			"a client by the first event", "", "", `[{"name":"a","websiteId":"client-1"},{"name":"b"}]`,
			[]string{"web_1", "web_1"},
		},
		{"a client by an escaped id", "", "", `{"name":"\u0061bcdefghijk","websiteId":"client\u002d1"}`, []string{"web_1"}},
		{"a client by a rotated id", "", "client-0", `{"name":"a","websiteId":"client-1"}`, []string{"web_1"}},
		{
			"a client by the new id with an old event", "", "client-1", `{"name":"a","websiteId":"client-0"}`, []string{"web_1"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var w world
			count, err := track(t, w.acceptor(), request(tc.key, tc.websiteID, tc.body))
			if err != nil || count != len(tc.owners) {
				t.Fatalf("Track() = %d, %v; want %d", count, err, len(tc.owners))
			}
			var owners []string
			for _, r := range w.published {
				owners = append(owners, string(r.Key))
			}
			if diff := cmp.Diff(tc.owners, owners); diff != "" {
				t.Errorf("owners (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAllProblemsOfABatchAreTold(t *testing.T) {
	t.Parallel()
	var w world
	_, err := track(t, w.acceptor(), request("global", "", `[{"name":"a"},{"name":""},{"path":1}]`))
	f, ok := errors.AsType[*apierr.Error](err)
	if !ok {
		t.Fatal(err)
	}
	type problem struct {
		Index int
		Field string
	}
	var got []problem
	for _, d := range f.Details {
		got = append(got, problem{d.Index, d.Field})
	}
	if diff := cmp.Diff([]problem{{1, "name"}, {2, "path"}, {2, "name"}}, got); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
	if _, err := track(t, w.acceptor(),
		request("global", "", `{"name":""}`)); apierr.Of(err).Details[0].Index != apierr.NoIndex {
		t.Errorf("a single event has an index: %+v", apierr.Of(err).Details)
	}
}

func TestVisitorIDsAreHashedUnlessEventOrWebsiteSayOtherwise(t *testing.T) {
	t.Parallel()
	const hashed = "37268335dd6931045bdcdf92623ff819a64244b53d0e746d438797349d4da578" // "v" + "salt"
	for _, tc := range []struct{ site, setting, want string }{
		{"web_1", "", ""},
		{"web_1", `,"anonymizeVisitorIds":false`, "v"},
		{"web_1", `,"anonymizeVisitorIds":"auto"`, ""},
		{"web_2", "", "v"},
		{"web_2", `,"anonymizeVisitorIds":true`, ""},
		{"", "", ""}, // the organization's
	} {
		var w world
		body := `{"name":"a","anonymousId":"v"` + tc.setting + `}`
		if _, err := track(t, w.acceptor(), request("global", tc.site, body)); err != nil {
			t.Fatal(err)
		}
		var got struct {
			AnonymousID string `json:"anonymousId"`
		}
		if err := json.Unmarshal(w.published[0].Value, &got); err != nil {
			t.Fatal(err)
		}
		raw := got.AnonymousID == "v"
		if raw != (tc.want == "v") || !raw && len(got.AnonymousID) != len(hashed) {
			t.Errorf("website %q, event %s: anonymousId %q", tc.site, tc.setting, got.AnonymousID)
		}
	}
}

func TestEventsWithoutAVisitorToHashNeedNoSalt(t *testing.T) {
	t.Parallel()
	for _, body := range []string{`{"name":"a"}`, `{"name":"a","anonymousId":"v","anonymizeVisitorIds":false}`} {
		w := world{saltErr: errDown}
		if count, err := track(t, w.acceptor(), request("global", "", body)); count != 1 || err != nil {
			t.Errorf("%s: Track() = %d, %v while no salt can be read", body, count, err)
		}
	}
}

func TestRecordsKeepNothingOfTheRequest(t *testing.T) {
	t.Parallel()
	var w world
	a := w.acceptor()
	req := request("", "",
		`[{"name":"first","websiteId":"client-1","eventId":"e1","path":"/p","properties":{"k":1}},{"name":"second"}]`)
	if _, err := track(t, a, req); err != nil {
		t.Fatal(err)
	}
	before := fmt.Sprintf("%s", w.published)
	for _, b := range [][]byte{req.Body, req.ID, req.WebsiteID} {
		for i := range b {
			b[i] = '#'
		}
	}
	if after := fmt.Sprintf("%s", w.published); after != before {
		t.Errorf("overwriting the request changed its records:\n%s\n%s", before, after)
	}
}

// retainer is a publisher that never lets go, as a producer after a deadline.
type retainer struct{ kept []record.Record }

func (k *retainer) Publish(_ context.Context, recs []record.Record) error {
	k.kept = append(k.kept, recs...)
	return apierr.New(apierr.DeliveryUnavailable)
}

func TestTheMemoryOfAnUnconfirmedRequestIsNotUsedAgain(t *testing.T) {
	t.Parallel()
	var w world
	var k retainer
	now := func() time.Time { return noon }
	a := New(Deps{
		Access: &w, Salts: salt.New(&w, slog.New(slog.DiscardHandler), now), Publisher: &k,
		Metrics: prometheus.NewRegistry(), Now: now,
	})
	for i := range 100 {
		body := fmt.Sprintf(`{"name":"event %d","eventId":"e%d"}`, i, i)
		if _, err := track(t, a, request("global", "", body)); !apierr.Is(err, apierr.DeliveryUnavailable) {
			t.Fatal(err)
		}
	}
	for i, r := range k.kept {
		if want := fmt.Sprintf(`"name":"event %d"`, i); !strings.Contains(string(r.Value), want) {
			t.Fatalf("record %d was overwritten: %s", i, r.Value)
		}
	}
}

func TestCheckJudgesAndPublishesNothing(t *testing.T) {
	t.Parallel()
	var w world
	a := w.acceptor()
	if count, err := a.Check(t.Context(),
		request("global", "web_1", `[{"name":"a"},{"name":"b"}]`)); err != nil || count != 2 {
		t.Errorf("Check() = %d, %v; want 2", count, err)
	}
	if _, err := a.Check(t.Context(), request("global", "web_3", `{"name":"a"}`)); !apierr.Is(err,
		apierr.WebsiteNotFound) {
		t.Errorf("Check() of a foreign website = %v", err)
	}
	if diff := cmp.Diff([]string{"key", "website", "key", "website"}, w.asked); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
}
