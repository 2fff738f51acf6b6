package rpc_test

import (
	"context"
	"encoding/base64"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gofiber/fiber/v2"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/api/httpkit"
	"github.com/millrace/millrace/internal/api/rpc"
	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/tenant/auth"
	"github.com/millrace/millrace/internal/tenant/idempotency"
	"github.com/millrace/millrace/internal/tenant/org"
)

var errTaken = errors.New("the name is taken")

// thing is the record of the resource that these tests register.
type thing struct {
	ID    string    `json:"id"`
	Owner string    `json:"owner"`
	Name  string    `json:"name"`
	At    *rpc.Time `json:"at" nullable:"true"`
}

type thingInput struct {
	rpc.InOrganization

	Name   string               `json:"name" minLength:"1" maxLength:"10"`
	Count  int                  `json:"count,omitempty" minimum:"1" maximum:"5"`
	Kind   string               `json:"kind,omitempty" enum:"red,blue"`
	Tags   []string             `json:"tags,omitempty" maxItems:"2" maxLength:"3" uniqueItems:"true"`
	Note   rpc.Patch[string]    `json:"note,omitzero" maxLength:"3" nullable:"true"`
	Limits thingLimits          `json:"limits,omitzero"`
	Until  rpc.Patch[*rpc.Time] `json:"until,omitzero"`
}

type thingLimits struct {
	Seconds int `json:"seconds,omitempty" minimum:"1" maximum:"60"`
}

type pageInput struct {
	rpc.InOrganization
	rpc.Page
}

func table() []rpc.Resource {
	return []rpc.Resource{{
		Name: "things", Summary: "What these tests manage.",
		Failures: []rpc.Failure{{Err: errTaken, Code: apierr.Conflict, Message: "The name is taken already"}},
		Operations: []rpc.Operation{
			rpc.Op(rpc.Spec{
				Name: "create", Summary: "Make a thing", Class: auth.ManageWebsites, Audit: "thing.created", Creates: true,
			},
				func(ctx context.Context, call *rpc.Call, in *thingInput) (*thing, error) {
					switch in.Name {
					case "taken":
						return nil, errTaken
					case "away":
						return nil, apierr.New(apierr.ServiceUnavailable)
					case "broken": // after a change was kept
						if row := idempotency.Of(ctx); row != nil {
							row.Changed = true
						}
						return nil, errors.New("the password is hunter2")
					}
					return &thing{ID: "t_1", Owner: call.OrganizationID(), Name: in.Name + in.Note.Or("")}, nil
				}),
			rpc.Op(rpc.Spec{Name: "enter", Summary: "Come in", Class: auth.Public, Audit: "thing.entered"},
				func(context.Context, *rpc.Call, *rpc.Empty) (*rpc.Empty, error) { return &rpc.Empty{}, nil }),
			rpc.Op(rpc.Spec{Name: "list", Summary: "List things", Class: auth.ViewWebsites},
				func(_ context.Context, call *rpc.Call, in *pageInput) (*rpc.List[thing], error) {
					var after string
					if _, err := in.After(&after); err != nil {
						return nil, err
					}
					all := []thing{}
					for _, id := range []string{"a", "b", "c"} {
						if id > after && len(all) <= in.Size() {
							all = append(all, thing{ID: id, Owner: call.OrganizationID()})
						}
					}
					return rpc.Cut(all, in.Size(), func(t thing) any { return t.ID }), nil
				}),
		},
	}}
}

// credentials recognises the keys and sessions of these tests.
type credentials struct{}

func (credentials) Key(_ context.Context, secret []byte, _ auth.From) (auth.Principal, error) {
	switch string(secret) {
	case "good":
		return auth.Principal{Kind: auth.KindKey, KeyID: "key_1", OrganizationID: "org_1", Scopes: auth.AllScopes()}, nil
	case "weak":
		return auth.Principal{Kind: auth.KindKey, KeyID: "key_2", OrganizationID: "org_1"}, nil
	}
	return auth.Principal{}, apierr.New(apierr.AuthRequired)
}

func (credentials) SignedIn(_ context.Context, token string) (string, *org.User, []org.Member, error) {
	if token != "token" {
		return "", nil, nil, apierr.New(apierr.AuthRequired)
	}
	return "ses_1", &org.User{ID: "usr_1", Email: "ann@example.com"}, []org.Member{
		{OrganizationID: "org_1", UserID: "usr_1", Role: org.RoleOwner},
		{OrganizationID: "org_2", UserID: "usr_1", Role: org.RoleViewer},
	}, nil
}

func newApp(t *testing.T) *fiber.App {
	t.Helper()
	doc, err := rpc.Describe(rpc.Info{Title: "Test", Version: "1"}, table())
	if err != nil {
		t.Fatal(err)
	}
	app := httpkit.New(httpkit.Config{Host: httpkit.Query}, httpkit.Deps{
		Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(),
	})
	rpc.Mount(app, doc, table(), rpc.Deps{
		Identifier: &rpc.Identifier{Keys: credentials{}, Sessions: credentials{}, Site: &httpkit.Site{}},
		Repeats:    idempotency.New(&memory{rows: map[string]idempotency.Row{}}, nil), Log: slog.New(slog.DiscardHandler),
	})
	return app
}

// call posts a body and returns the status and the response's body.
func call(t *testing.T, app *fiber.App, path, body string, headers ...string) (int, string) {
	t.Helper()
	req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader(body))
	req.Header.Set("X-Request-ID", "req_1")
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := app.Test(req, -1)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

func TestACallIsAnsweredInTheEnvelope(t *testing.T) {
	t.Parallel()
	const made = `{"success":true,"data":{"id":"t_1","owner":"org_1","name":"x","at":null},"requestId":"req_1"}`
	const inSecond = `{"success":true,"data":[{"id":"a","owner":"org_2","name":"","at":null}],"pagination":{"nextCursor":"ImEi","hasMore":true,"limit":1},"requestId":"req_1"}`
	const last = `{"success":true,"data":[{"id":"c","owner":"org_1","name":"","at":null}],"pagination":{"nextCursor":null,"hasMore":false,"limit":2},"requestId":"req_1"}`
	app := newApp(t)
	for _, tc := range []struct {
		name, path, body, credential, value string
		status                              int
		want                                string
	}{
		{"a key", "/rpc/things/create", `{"name":"x"}`, "X-Api-Key", "good", 201, made},
		{
			"a session", "/rpc/things/create", `{"name":"x","organizationId":"org_1"}`, "Cookie", "millrace_session=token",
			201, made,
		},
		{
			"a session elsewhere", "/rpc/things/list", `{"organizationId":"org_2","limit":1}`, "Cookie",
			"millrace_session=token", 200, inSecond,
		},
		{"the last page", "/rpc/things/list", `{"cursor":"ImIi","limit":2}`, "X-Api-Key", "good", 200, last},
		{"null clears", "/rpc/things/create", `{"name":"x","note":null}`, "X-Api-Key", "good", 201, made},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if status, body := call(t, app, tc.path, tc.body, tc.credential, tc.value); status != tc.status || body != tc.want {
				t.Errorf("%d %s\nwant %d %s", status, body, tc.status, tc.want)
			}
		})
	}
}

// Which of several organizations is meant is nobody's to guess.
func TestWhoBelongsToSeveralOrganizationsIsToldToNameOne(t *testing.T) {
	t.Parallel()
	_, body := call(t, newApp(t), "/rpc/things/list", `{}`, "Cookie", "millrace_session=token")
	for _, want := range []string{`"field":"organizationId"`, "org_1 (owner), org_2 (viewer)"} {
		if !strings.Contains(body, want) {
			t.Errorf("%s\nwant %s", body, want)
		}
	}
}

func TestWhoMayNotCallIsRejected(t *testing.T) {
	t.Parallel()
	app := newApp(t)
	for _, tc := range []struct {
		name, body, credential, value string
		status                        int
		code                          apierr.Code
	}{
		{"nobody", `{"name":"x"}`, "X-Other", "", 401, apierr.AuthRequired},
		{"nobody with a bad body", `{`, "X-Other", "", 401, apierr.AuthRequired},
		{"an unknown key", `{"name":"x"}`, "X-Api-Key", "nobody", 401, apierr.AuthRequired},
		{"a session that ended", `{"name":"x"}`, "Cookie", "millrace_session=old", 401, apierr.AuthRequired},
		{"a key without the scope", `{"name":"x"}`, "X-Api-Key", "weak", 403, apierr.Forbidden},
		{"a viewer", `{"name":"x","organizationId":"org_2"}`, "Cookie", "millrace_session=token", 403, apierr.Forbidden},
		{
			"a person of several organizations who names none", `{"name":"x"}`, "Cookie", "millrace_session=token", 400,
			apierr.Validation,
		},
		{
			"a person in another organization", `{"name":"x","organizationId":"org_9"}`, "Cookie", "millrace_session=token",
			404, apierr.NotFound,
		},
		{"a key in another organization", `{"name":"x","organizationId":"org_2"}`, "X-Api-Key", "good", 404, apierr.NotFound},
		{"a taken name", `{"name":"taken"}`, "X-Api-Key", "good", 409, apierr.Conflict},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			status, body := call(t, app, "/rpc/things/create", tc.body, tc.credential, tc.value)
			if status != tc.status || !strings.Contains(body, `"code":"`+string(tc.code)+`"`) {
				t.Errorf("%d %s\nwant %d %s", status, body, tc.status, tc.code)
			}
		})
	}
	if status, body := call(t, app, "/rpc/things/create", `{"name":"broken"}`, "X-Api-Key", "good"); status != 500 ||
		strings.Contains(body, "hunter2") {
		t.Errorf("a failure inside: %d %s", status, body)
	}
}

func TestABodyIsHeldAgainstTheSchemaAndEachProblemIsNamed(t *testing.T) {
	t.Parallel()
	app := newApp(t)
	for _, tc := range []struct{ body, field, message string }{
		{`{}`, "name", "name is required"},
		{``, "name", "name is required"},
		{`{"name":""}`, "name", "name must have at least 1 character"},
		{`{"name":"ëëëëëëëëëëë"}`, "name", "name must have at most 10 characters"},
		{`{"name":7}`, "name", "name must be a string, not a number"},
		{`{"name":null}`, "name", "name must be a string, not null"},
		{`{"name":"x","Name":"y"}`, "Name", "Unknown field: Name"},
		{`{"name":"x","names":"y"}`, "names", `Unknown field: names","suggestion":"Did you mean 'name'?"`},
		{`{"name":"x","count":6}`, "count", "count must be at most 5"},
		{`{"name":"x","count":0}`, "count", "count must be at least 1"},
		{`{"name":"x","count":1.5}`, "count", "count must be a whole number, not a number"},
		{`{"name":"x","count":null}`, "count", "count must be a whole number, not null"},
		{`{"name":"x","count":1e300}`, "count", "count must be at most 5"},
		{`{"name":"x","kind":"green"}`, "kind", "kind must be one of red, blue"},
		{`{"name":"x","tags":["a","b","c"]}`, "tags", "tags must have at most 2 items"},
		{`{"name":"x","tags":["a","long"]}`, "tags[1]", "tags[1] must have at most 3 characters"},
		{`{"name":"x","tags":["a","a"]}`, "tags", "tags must not have the same item twice"},
		{`{"name":"x","tags":"a"}`, "tags", "tags must be a list, not a string"},
		{`{"name":"x","note":"long"}`, "note", "note must have at most 3 characters"},
		{`{"name":"x","note":7}`, "note", "note must be a string or null, not a number"},
		{`{"name":"x","limits":{"seconds":61}}`, "limits.seconds", "limits.seconds must be at most 60"},
		{`{"name":"x","limits":{"second":1}}`, "limits.second", "Unknown field: limits.second"},
		{`{"name":"x","limits":{"seconds":61},"limits":{}}`, "", ""},
		{`{"name":"x","until":"tomorrow"}`, "until", "until must be a time such as 2026-01-02T15:04:05.000Z"},
		{`{"name":"a\u0000b"}`, "name", "name must not contain the character U+0000"},
	} {
		t.Run(tc.body, func(t *testing.T) {
			t.Parallel()
			status, body := call(t, app, "/rpc/things/create", tc.body, "X-Api-Key", "good")
			if tc.message == "" {
				if status != http.StatusCreated {
					t.Errorf("%d %s, want it taken", status, body)
				}
				return
			}
			if want := `{"field":"` + tc.field + `","message":"` + tc.message; status != 400 || !strings.Contains(body, want) ||
				!strings.Contains(body, `"VALIDATION_ERROR"`) {
				t.Errorf("%d %s\nwant 400 %s", status, body, want)
			}
		})
	}
}

func TestABodyThatIsNoObjectIsRejected(t *testing.T) {
	t.Parallel()
	app := newApp(t)
	for body, want := range map[string]string{
		`{"name":`:            `"code":"PARSE"`,
		"{\"name\":\"\xff\"}": `"error":"Request body is not valid UTF-8","code":"PARSE"`,
		`{"count":1e999}`:     `"code":"PARSE"`,
		// To compare these exactly would take gigabytes.
		`{"count":1e-999999999}`:                        `"error":"Request body contains a number out of range","code":"PARSE"`,
		`{"tags":[{"a":0.1e-999999999}]}`:               `"error":"Request body contains a number out of range","code":"PARSE"`,
		`{"count":0.` + strings.Repeat("0", 398) + `1}`: `"error":"Request body contains a number out of range","code":"PARSE"`,
		`[]`:    `"error":"The body must be a JSON object, not a list","code":"VALIDATION_ERROR"`,
		`null`:  `"error":"The body must be a JSON object, not null","code":"VALIDATION_ERROR"`,
		`{} {}`: `"code":"PARSE"`,
	} {
		if status, got := call(t, app, "/rpc/things/create", body, "X-Api-Key", "good"); status != 400 ||
			!strings.Contains(got, want) {
			t.Errorf("%q: %d %s, want %s", body, status, got, want)
		}
	}
}

func TestAnIntegerMayBeWrittenInAnyForm(t *testing.T) {
	t.Parallel()
	app := newApp(t)
	for number, want := range map[string]int{
		"3": 201, "3.0": 201, "30e-1": 201, "0.3e1": 201, "3." + strings.Repeat("0", 398): 201, "3.5": 400,
		"3.0000000000000000001": 400, "5.0000000000000000001": 400, "0e999999999": 400, "12345678901234567890": 400,
	} {
		if status, got := call(t, app, "/rpc/things/create", `{"name":"x","count":`+number+`}`, "X-Api-Key",
			"good"); status != want || want == 400 && !strings.Contains(got, `"field":"count"`) {
			t.Errorf("%s: %d %s, want %d", number, status, got, want)
		}
	}
}

// A cursor holds what its list gave out; PostgreSQL fails on a character U+0000, which
// none has.
func TestACursorThatNoListGaveOutIsRejected(t *testing.T) {
	t.Parallel()
	app := newApp(t)
	for name, text := range map[string]string{
		"a character that cannot be stored": `"a\u0000"`, "one in a list": `["a","\u0000"]`, "another type": `{"a":1}`,
		"no JSON": `a`, "nothing": ``,
	} {
		cursor := base64.RawURLEncoding.EncodeToString([]byte(text))
		if text == "" {
			cursor = "%%%"
		}
		status, body := call(t, app, "/rpc/things/list", `{"cursor":"`+cursor+`"}`, "X-Api-Key", "good")
		if status != http.StatusBadRequest || !strings.Contains(body, "cursor must be a nextCursor of this list") {
			t.Errorf("%s: %d %s", name, status, body)
		}
	}
}
