package contract

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"mime"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	metadata "github.com/millrace/millrace/internal/adapter/store"
	"github.com/millrace/millrace/internal/analytics"
	"github.com/millrace/millrace/internal/api/httpkit"
	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/platform/fair"
	"github.com/millrace/millrace/internal/tenant/apikey"
	"github.com/millrace/millrace/internal/tenant/audit"
	"github.com/millrace/millrace/internal/tenant/auth"
	"github.com/millrace/millrace/internal/tenant/org"
	"github.com/millrace/millrace/internal/tenant/session"
	"github.com/millrace/millrace/internal/tenant/token"
	"github.com/millrace/millrace/internal/tenant/website"
	"github.com/millrace/millrace/internal/testkit"
	"github.com/millrace/millrace/internal/testkit/apitest"
	"github.com/millrace/millrace/tests/harness"
)

var (
	casesOf = flag.Int("cases", 0, "requests made up for each operation; 0 means 3, and 60 where bounds are strict")
	seedOf  = flag.Uint64("seed", 0, "what they are made of; 0 means 1, and the time where bounds are strict")
)

// Requests are made up of what /openapi.json says of every operation of both hosts, half
// of them such as nearly fit. None is answered with a 5xx, nor otherwise than the document
// says.
func TestNoRequestThatIsMadeOfTheDocumentsIsAnsweredOtherwiseThanTheySay(t *testing.T) {
	cases, seed := 3, uint64(1)
	if testkit.Strict() {
		cases, seed = 60, uint64(time.Now().UnixNano())
	}
	if *casesOf > 0 {
		cases = *casesOf
	}
	if *seedOf > 0 {
		seed = *seedOf
	}
	t.Logf("-cases %d -seed %d", cases, seed)
	s := harness.New(t, harness.InProcess, harness.Options{})
	db, err := metadata.Open(t.Context(), s.StoreURL, metadata.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	// One of its own: what is in the fixture's cannot all be read.
	organization, err := org.New("Made up", time.Now())
	if err == nil {
		err = db.CreateOrganization(t.Context(), audit.BySystem(), organization)
	}
	if err != nil {
		t.Fatal(err)
	}
	for i, host := range []string{s.QueryURL, s.IngestURL} {
		t.Run("what a rejection names at "+strings.TrimPrefix(host, "http://"), func(t *testing.T) {
			credentialsAreToldOf(t, host, []string{"/v1/query", "/track"}[i], "")
			mcp := []string{httpkit.QueryMCPPath, httpkit.IngestionMCPPath}[i]
			credentialsAreToldOf(t, host, mcp, mcp)
		})
		t.Run("what is discovered at "+strings.TrimPrefix(host, "http://"), func(t *testing.T) {
			documentsAreServed(t, host, httpkit.DocumentRoutes([]httpkit.Host{httpkit.Query, httpkit.Ingestion}[i]))
		})
		doc := harness.Document(t, host)
		operations := doc.Operations()
		slices.Sort(operations)
		for _, operation := range operations {
			at := host
			if operation == "POST /track" { // which both documents have
				at = s.IngestURL
			}
			t.Run(fmt.Sprintf("%s of %s", operation, strings.TrimPrefix(host, "http://")), func(t *testing.T) {
				h := fnv.New64()
				fmt.Fprint(h, i, operation)
				m := &maker{t: t, db: db, host: at, organization: organization.ID, operation: operation}
				m.Generator = apitest.Generator{Document: doc, Rand: rand.New(rand.NewPCG(seed, h.Sum64()))}
				m.begin()
				for range cases {
					m.try()
				}
				t.Logf("answered: %v", m.answered)
			})
		}
	}
}

// maker makes requests of one operation, as an owner of an organization and with a key of
// it, on a website, that are all its own.
type maker struct {
	apitest.Generator

	t            *testing.T
	db           *metadata.Store
	host         string
	organization string
	operation    string

	session  string // token
	key      string
	answered map[int]int // by status
}

// begin makes the key and the website.
func (m *maker) begin() {
	m.t.Helper()
	ctx, now := m.t.Context(), time.Now()
	site, err := website.New(m.organization, "Shop", m.text()+".example", now)
	m.must(err)
	m.must(m.db.CreateWebsite(ctx, audit.BySystem(), site))
	key, secret, err := apikey.New("mlr", apikey.Spec{
		OrganizationID: m.organization, Name: "made up", Scopes: auth.AllScopes().Strings(),
	}, now)
	m.must(err)
	m.must(m.db.CreateKey(ctx, audit.BySystem(), key))
	m.key, m.answered = secret, map[int]int{}
	m.Samples = map[string][]any{
		"id": {site.ID, key.ID}, "websiteId": {site.ID, site.ClientID},
		"website_id": {site.ID}, "client_id": {site.ClientID}, "clientId": {site.ClientID, site.ID},
		"organizationId": {m.organization}, "organization_id": {m.organization}, "projectId": {site.ID, m.organization},
		"scopes[]": {"read:data", "track:events"}, "domain": {m.text() + ".example.com"},
		"preset": {"today", "last_7d"}, "startDate": {"2026-03-01"}, "endDate": {"2026-03-02"}, "month": {"2026-11"},
		"from": {"2026-03-01"}, "to": {"2026-03-02", "2026-03-01T10:00:00Z"},
		"timezone": {"Europe/Berlin", "UTC"}, "timeZone": {"America/New_York"},
		"granularity": {"hour", "day"}, "timeUnit": {"hour", "day"}, "groupBy": {"country", []any{"path"}},
		"compare": {"previous_period"}, "sortBy": {"visitors", "pageviews"}, "orderBy": {"visitors desc"},
		"columns[]": {"cursor", "event_id", "name"}, "cursor": {"ImEi"}, "metricName": {"LCP"},
		"filters[]": {
			map[string]any{"field": "path", "op": "eq", "value": "/"},
			map[string]any{"field": "country", "op": "in", "value": []any{"DE", "FR"}},
			map[string]any{"or": []any{map[string]any{"field": "path", "op": "contains", "value": "a"}}},
		},
	}
	var types []any
	for i := range analytics.Catalog {
		name := analytics.Catalog[i].Name
		types = append(types, name)
		m.Samples["parameters[]"] = append(m.Samples["parameters[]"], name, map[string]any{"name": name, "preset": "today"})
	}
	if m.operation == "POST /v1/query/compile" {
		m.Samples["type"] = types
	}
	m.signIn()
}

func (m *maker) must(err error) {
	m.t.Helper()
	if err != nil {
		m.t.Fatal(err)
	}
}

// text is one that no other request has.
func (m *maker) text() string { return fmt.Sprintf("%016x", m.Rand.Uint64()) }

// password is that of every owner.
const password = "correct horse"

// signIn makes an owner who is signed in.
func (m *maker) signIn() {
	m.t.Helper()
	now, name := time.Now(), m.text()
	cheap := org.NewPasswordsAt(org.Costs{MemoryKiB: 8, Passes: 1, Lanes: 1})
	hash, err := cheap.Hash(m.t.Context(), fair.Owner{}, password)
	m.must(err)
	u, err := org.NewUser(name+"@example.com", name, hash, now)
	m.must(err)
	var opens token.Hash
	m.session, opens = token.New()
	m.must(m.db.InTx(m.t.Context(), func(ctx context.Context, tx *metadata.Store) error {
		if err := tx.CreateUser(ctx, audit.BySystem(), u); err != nil {
			return err
		}
		membership := &org.Member{OrganizationID: m.organization, UserID: u.ID, Role: org.RoleOwner, CreatedAt: now}
		if err := tx.AddMember(ctx, audit.BySystem(), membership); err != nil {
			return err
		}
		return tx.CreateSession(ctx, audit.BySystem(), u, &session.Session{
			ID: "ses_" + name, UserID: u.ID, Hash: opens, CreatedAt: now, SeenAt: now, ExpiresAt: now.Add(time.Hour),
		})
	}))
	m.Samples["userId"], m.Samples["email"] = []any{u.ID}, []any{u.Email}
	m.Samples["currentPassword"], m.Samples["password"] = []any{password}, []any{password}
}

// try makes a request, sends it and holds the response against the document.
func (m *maker) try() {
	m.t.Helper()
	r := m.Request(m.operation)
	m.credential(&r)
	req, err := http.NewRequestWithContext(m.t.Context(), r.Method, m.host+r.Target, bytes.NewReader(r.Body))
	m.must(err)
	for name, value := range r.Header {
		req.Header.Set(name, value)
	}
	resp, err := harness.Client.Do(req)
	if err != nil {
		m.t.Errorf("%s: %v", told(&r), err)
		return
	}
	defer resp.Body.Close()
	body, err := readResponse(resp)
	if err != nil {
		m.t.Errorf("%s: %d, then %v", told(&r), resp.StatusCode, err)
		return
	}
	m.answered[resp.StatusCode]++
	if err := m.Document.Check(r.Method, r.Path, resp.StatusCode, resp.Header, body); err != nil {
		m.t.Errorf("%s\nis answered %.2000s\n%v", told(&r), body, err)
	}
	if err := statusOf(resp.StatusCode, body); err != nil {
		m.t.Errorf("%s\nis answered %d %.2000s\n%v", told(&r), resp.StatusCode, body, err)
	}
	if resp.StatusCode < http.StatusMultipleChoices && strings.HasPrefix(r.Path, "/rpc/") {
		m.learn(body)
		m.signIn() // the call may have ended the session, or the membership
	}
}

// readResponse reads a body, and of one that goes on until somebody leaves its beginning.
func readResponse(resp *http.Response) ([]byte, error) {
	if resp.Header.Get("Content-Type") != "text/event-stream" {
		return io.ReadAll(resp.Body)
	}
	begin := make([]byte, 1)
	n, err := io.ReadFull(resp.Body, begin)
	return begin[:n], err
}

// credential gives a request one, which is good most of the time.
func (m *maker) credential(r *apitest.Generated) {
	switch n := m.Rand.IntN(10); {
	case n < 7 && strings.HasPrefix(r.Path, "/rpc/"):
		r.Header["Cookie"] = "millrace_session=" + m.session
	case n < 8:
		r.Header["X-Api-Key"] = m.key
	case n < 9:
		r.Header["X-Api-Key"] = m.key + "x"
	}
}

// learn keeps the ids of records that a response tells of.
func (m *maker) learn(body []byte) {
	var one struct{ Data struct{ ID, Token string } }
	var many struct{ Data []struct{ ID string } }
	if json.Unmarshal(body, &one) == nil && one.Data.ID != "" {
		m.Samples["id"] = append(m.Samples["id"], one.Data.ID)
		if one.Data.Token != "" {
			m.Samples["token"] = []any{one.Data.Token}
		}
	}
	if json.Unmarshal(body, &many) == nil && len(many.Data) > 0 {
		m.Samples["id"] = append(m.Samples["id"], many.Data[m.Rand.IntN(len(many.Data))].ID)
	}
}

// statusOf rejects a response that is the host's fault, and one whose status is not that of
// its code.
func statusOf(status int, body []byte) error {
	if status >= http.StatusInternalServerError {
		return fmt.Errorf("no request may have the status %d", status)
	}
	if status < http.StatusBadRequest || status == http.StatusRequestHeaderFieldsTooLarge { // which is no code's own
		return nil
	}
	var response struct {
		Code      apierr.Code
		ErrorCode string
		JSONRPC   string
	}
	if err := json.Unmarshal(body, &response); err != nil {
		return err
	}
	// Of OpenFeature and JSON-RPC, some of whose codes have several statuses.
	if response.ErrorCode != "" || response.JSONRPC != "" {
		return nil
	}
	if row := httpkit.RowOf(response.Code); row.Status != status {
		return fmt.Errorf("the status of %s is %d", response.Code, row.Status)
	}
	return nil
}

// told is a request for a message.
func told(r *apitest.Generated) string {
	return fmt.Sprintf("%s %.500s %v\n%.2000q", r.Method, r.Target, r.Header, r.Body)
}

// credentialsAreToldOf follows what the 401 of a route names: RFC 9728 has the host tell there which
// credentials it takes.
func credentialsAreToldOf(t *testing.T, host, route, resource string) {
	t.Helper()
	resp, err := http.Post(host+route, "application/json", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	challenge := resp.Header.Get("WWW-Authenticate")
	address, found := strings.CutPrefix(challenge, `Bearer resource_metadata="`)
	if resp.StatusCode != http.StatusUnauthorized || !found {
		t.Fatalf("%d with WWW-Authenticate %s", resp.StatusCode, challenge)
	}
	told, err := http.Get(strings.TrimSuffix(address, `"`))
	if err != nil {
		t.Fatal(err)
	}
	defer told.Body.Close()
	var metadata struct {
		Resource string   `json:"resource"`
		Methods  []string `json:"bearer_methods_supported"`
	}
	if err := json.NewDecoder(told.Body).Decode(&metadata); err != nil || told.StatusCode != http.StatusOK {
		t.Fatalf("%s: %d, %v", address, told.StatusCode, err)
	}
	if metadata.Resource != host+resource || !slices.Equal(metadata.Methods, []string{"header"}) {
		t.Errorf("%s is about %+v, want %s with keys in a header", address, metadata, host+resource)
	}
}

// documentsAreServed gets the discovery documents of a host and follows their links.
func documentsAreServed(t *testing.T, host string, routes []httpkit.DocumentRoute) {
	t.Helper()
	for _, r := range routes {
		status, h, body := fetch(t, http.MethodGet, host+r.Path, "")
		if media, _, err := mime.ParseMediaType(h.Get("Content-Type")); status != http.StatusOK ||
			media != r.MediaType || err != nil || h.Get("Access-Control-Allow-Origin") != "*" ||
			h.Get("Cache-Control") != "public, max-age=3600" || h.Get("ETag") == "" {
			t.Errorf("%s: %d %v", r.Path, status, h)
		}
		if again, _, _ := fetch(t, http.MethodGet, host+r.Path, h.Get("ETag")); again != http.StatusNotModified {
			t.Errorf("%s with its ETag: %d", r.Path, again)
		}
		status, head, none := fetch(t, http.MethodHead, host+r.Path, "")
		if status != http.StatusOK || len(none) > 0 || head.Get("ETag") != h.Get("ETag") ||
			head.Get("Link") != h.Get("Link") {
			t.Errorf("HEAD %s: %d %v", r.Path, status, head)
		}
		var document any
		links := []string{}
		if err := json.Unmarshal(body, &document); err == nil {
			links = linksOf(document)
		} else if _, canonical, found := strings.Cut(string(body), "Canonical: "); found {
			links = append(links, strings.TrimSpace(canonical))
		}
		if len(links) == 0 {
			t.Errorf("%s has no links: %s", r.Path, body)
		}
		for _, link := range links {
			if status, _, _ := fetch(t, http.MethodGet, link, ""); status != http.StatusOK {
				t.Errorf("%s links to %s, which returns %d", r.Path, link, status)
			}
		}
	}
}

// linksOf returns the addresses in a document that answer GET.
func linksOf(document any) []string {
	var links []string
	switch v := document.(type) {
	case []any:
		for _, item := range v {
			links = append(links, linksOf(item)...)
		}
	case map[string]any:
		for name, value := range v {
			text, isText := value.(string)
			switch {
			case !isText:
				links = append(links, linksOf(value)...)
			case name == "url" && v["type"] == "streamable-http": // takes POST only
			case slices.Contains([]string{"href", "url", "websiteUrl", "resource_documentation"}, name):
				links = append(links, text)
			}
		}
	}
	return links
}

// fetch sends a request, with If-None-Match unless etag is empty.
func fetch(t *testing.T, method, address, etag string) (status int, header http.Header, body []byte) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, address, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if etag != "" {
		req.Header.Set("If-None-Match", etag)
	}
	resp, err := harness.Client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if body, err = io.ReadAll(resp.Body); err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, resp.Header, body
}
