package rpc_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/gofiber/fiber/v2"
	gocmp "github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/api/httpkit"
	"github.com/millrace/millrace/internal/api/management"
	"github.com/millrace/millrace/internal/api/rpc"
	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/tenant/auth"
	"github.com/millrace/millrace/internal/tenant/org"
)

var update = flag.Bool("update", false, "write the table of access anew")

const accessFile = "testdata/access.txt"

// anyone is the keys and sessions of the matrix: a key is called after its
// scopes, with "website:" in front when it is limited to one, and "foreign:"
// when it is of another organization; a session after its role likewise.
type anyone struct{}

func (anyone) Key(_ context.Context, secret []byte, _ auth.From) (auth.Principal, error) {
	p := auth.Principal{Kind: auth.KindKey, KeyID: "key_1", OrganizationID: "org_1", Name: "ci"}
	name := string(secret)
	if rest, ok := strings.CutPrefix(name, "foreign:"); ok {
		p.OrganizationID, name = "org_2", rest
	}
	if rest, ok := strings.CutPrefix(name, "website:"); ok {
		p.WebsiteID, name = "web_1", rest
	}
	switch name {
	case "unknown":
		return auth.Principal{}, apierr.New(apierr.AuthRequired)
	case "all":
		p.Scopes = auth.AllScopes()
	case "none":
	default:
		set, err := auth.ParseScopes([]string{name})
		if err != nil {
			return auth.Principal{}, err
		}
		p.Scopes = set
	}
	return p, nil
}

func (anyone) SignedIn(_ context.Context, token string) (string, *org.User, []org.Member, error) {
	user := &org.User{ID: "usr_1", Email: "ann@example.com"}
	membership := org.Member{OrganizationID: "org_1", UserID: user.ID}
	if rest, ok := strings.CutPrefix(token, "foreign:"); ok {
		membership.OrganizationID, token = "org_2", rest
	}
	switch token {
	case "ended":
		return "", nil, nil, apierr.New(apierr.AuthRequired)
	case "placeless":
		return "ses_1", user, nil, nil
	}
	membership.Role = org.Role(token)
	return "ses_1", user, []org.Member{membership}, nil
}

// callers are the columns of the table besides the scopes.
var callers = []struct{ name, header, value string }{
	{"nobody", "X-Nothing", "1"},
	{"unknown key", "X-Api-Key", "unknown"},
	{"ended session", "Cookie", "millrace_session=ended"},
	{"key with no scope", "X-Api-Key", "none"},
	{"key with all", "X-Api-Key", "all"},
	{"website key with all", "X-Api-Key", "website:all"},
	{"foreign key with all", "X-Api-Key", "foreign:all"},
	{"viewer", "Cookie", "millrace_session=viewer"},
	{"editor", "Cookie", "millrace_session=editor"},
	{"admin", "Cookie", "millrace_session=admin"},
	{"owner", "Cookie", "millrace_session=owner"},
	{"strange role", "Cookie", "millrace_session=president"},
	{"foreign owner", "Cookie", "millrace_session=foreign:owner"},
	{"placeless person", "Cookie", "millrace_session=placeless"},
}

// TestEveryOperationAdmitsWhomTheTableSays calls every operation as everybody and
// compares with the committed table, which only a decision about access changes.
func TestEveryOperationAdmitsWhomTheTableSays(t *testing.T) {
	t.Parallel()
	m := newMatrix(t)
	var b bytes.Buffer
	b.WriteString("# Who reaches which operation, in organization org_1: ok, or the code of the refusal.\n" +
		"# Written by go test ./internal/api/rpc -run Admits -update; look at every changed line.\n")
	for _, res := range m.resources {
		for i := range res.Operations {
			o := &res.Operations[i]
			fmt.Fprintf(&b, "\n%s  (%s)\n", rpc.Path(res.Name, o.Name), o.Class)
			for _, c := range callers {
				fmt.Fprintf(&b, "  %-22s %s\n", c.name, m.try(t, res.Name, o, c.header, c.value))
			}
			var scopes []string
			for _, s := range auth.Scopes {
				if m.try(t, res.Name, o, "X-Api-Key", string(s.Scope)) == admitted {
					scopes = append(scopes, string(s.Scope))
				}
			}
			fmt.Fprintf(&b, "  %-22s %s\n", "keys with", cmp.Or(strings.Join(scopes, " "), "none"))
		}
	}
	if *update {
		if err := os.WriteFile(accessFile, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(accessFile)
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("access (-table +got):\n%s", diff)
	}
}

// TestEveryOperationAdmitsWhomItsClassSays holds the same calls against the
// classes, so that a table rewritten in haste is noticed.
func TestEveryOperationAdmitsWhomItsClassSays(t *testing.T) {
	t.Parallel()
	m := newMatrix(t)
	for _, res := range m.resources {
		for i := range res.Operations {
			o := &res.Operations[i]
			row := o.Class.Row()
			if row == nil {
				t.Errorf("%s is of the class %q, which is in no row", rpc.Path(res.Name, o.Name), o.Class)
				continue
			}
			for _, role := range auth.Roles {
				got := m.try(t, res.Name, o, "Cookie", "millrace_session="+string(role)) == admitted
				if want := row.Role == "" || slices.Index(auth.Roles, role) >= slices.Index(auth.Roles, row.Role); got != want {
					t.Errorf("%s admits a %s: %t, want %t", rpc.Path(res.Name, o.Name), role, got, want)
				}
			}
			for _, s := range auth.Scopes {
				got := m.try(t, res.Name, o, "X-Api-Key", string(s.Scope)) == admitted
				if want := o.Class == auth.Public || slices.Contains(row.Scopes, s.Scope); got != want {
					t.Errorf("%s admits a key with %s: %t, want %t", rpc.Path(res.Name, o.Name), s.Scope, got, want)
				}
			}
		}
	}
}

func TestEveryOperationSaysWhatItNeeds(t *testing.T) {
	t.Parallel()
	for _, res := range management.Resources(management.Deps{}) {
		if res.Name == "" || res.Summary == "" || len(res.Operations) == 0 {
			t.Errorf("resource %q: summary %q, %d operations", res.Name, res.Summary, len(res.Operations))
		}
		for _, o := range res.Operations {
			if o.Name == "" || o.Summary == "" || strings.HasSuffix(o.Summary, ".") {
				t.Errorf("%s: summary %q, want one without a full stop", rpc.Path(res.Name, o.Name), o.Summary)
			}
			if o.Creates && o.Audit == "" {
				t.Errorf("%s makes a record and is not audited", rpc.Path(res.Name, o.Name))
			}
		}
	}
}

// admitted is what the table says of a call that reaches the handler, or would
// with a better body.
const admitted = "ok"

type matrix struct {
	app       *fiber.App
	resources []rpc.Resource
	inputs    map[string]bool // by path: whether the body may name an organization
}

func newMatrix(t *testing.T) *matrix {
	t.Helper()
	m := &matrix{resources: management.Resources(management.Deps{}), inputs: map[string]bool{}}
	rpc.Stub(m.resources, func(class auth.Class, call *rpc.Call) {
		if class.Row().Role != "" && call.OrganizationID() != "org_1" {
			t.Errorf("a caller who may %s is in %q", class, call.OrganizationID())
		}
	})
	doc, err := rpc.Describe(rpc.Info{Title: "Test", Version: "1"}, m.resources)
	if err != nil {
		t.Fatal(err)
	}
	for _, section := range doc.Reference(m.resources) {
		for _, e := range section.Entries {
			m.inputs[e.Path] = slices.ContainsFunc(e.Input, func(l rpc.Line) bool { return l.Name == "organizationId" })
		}
	}
	m.app = httpkit.New(httpkit.Config{Host: httpkit.Query}, httpkit.Deps{
		Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(),
	})
	rpc.Mount(m.app, doc, m.resources, rpc.Deps{
		Identifier: &rpc.Identifier{Keys: anyone{}, Sessions: anyone{}, Site: &httpkit.Site{}},
		Log:        slog.New(slog.DiscardHandler),
	})
	return m
}

// try calls an operation in org_1 and says what came of it.
func (m *matrix) try(t *testing.T, resource string, o *rpc.Operation, header, value string) string {
	t.Helper()
	path, body := rpc.Path(resource, o.Name), `{}`
	if row := o.Class.Row(); row != nil && row.Role != "" {
		if !m.inputs[path] {
			t.Errorf("%s acts in an organization and its body cannot name one: embed rpc.InOrganization", path)
		}
		body = `{"organizationId":"org_1"}`
	}
	status, text := call(t, m.app, path, body, header, value)
	var response struct {
		Code string `json:"code"`
	}
	if err := json.Unmarshal([]byte(text), &response); err != nil {
		t.Fatalf("%s: %d %s", path, status, text)
	}
	if response.Code == "" || response.Code == string(apierr.Validation) {
		return admitted
	}
	return response.Code
}
