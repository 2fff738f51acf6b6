package contract

import (
	"fmt"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/api/httpkit"
	"github.com/millrace/millrace/internal/api/ingestapi"
	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/contract/event"
	"github.com/millrace/millrace/internal/testkit/apitest"
	"github.com/millrace/millrace/tests/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }

func load(t *testing.T) []apitest.Case {
	t.Helper()
	cases, err := apitest.Load(os.DirFS("."), "*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	return cases
}

func TestTheHostsKeepTheContractInProcess(t *testing.T) {
	harness.PlayContract(t, harness.New(t, harness.InProcess, harness.Options{}), load(t))
}

// limitFiles says where the limits of a form are tried.
var limitFiles = map[string]*event.Form{
	"track_limits": event.Track, "page_limits": event.Pages, "vitals_limits": event.Vitals,
	"errors_limits": event.Errors, "engagement_limits": event.Engagements, "identify_limits": event.Identities,
}

func TestEveryLimitOfAnEventHasACaseAtItAndOneBeyond(t *testing.T) {
	t.Parallel()
	files := map[string]map[string]apitest.Step{}
	for _, c := range load(t) {
		files[c.Name] = map[string]apitest.Step{}
		for _, s := range c.Steps {
			files[c.Name][s.About] = s
		}
	}
	for file, form := range limitFiles {
		limits := form.Limits()
		if form == event.Track {
			limits = append(limits, event.BodyLimits...)
		}
		for _, l := range limits {
			if l.Max > 0 {
				checkLimit(t, file, files[file], l, l.Max, l.Max+1)
			}
			if least, ok := l.AtLeast(); ok {
				l.Status = max(l.Status, http.StatusBadRequest) // only what is too long is cut
				checkLimit(t, file, files[file], l, least, least-1)
			}
		}
	}
}

// checkLimit looks for the case at a limit, which is not rejected for it, and the
// one beyond, which is, unless it is cut.
func checkLimit(t *testing.T, file string, steps map[string]apitest.Step, l event.Limit, at, beyond int64) {
	t.Helper()
	for _, want := range []struct {
		n        int64
		rejected bool
	}{{at, false}, {beyond, l.Status != 0}} {
		name := fmt.Sprintf("%s: %d %s", l.Name, want.n, l.Unit)
		s, ok := steps[name]
		switch rejected := s.Response.Status == l.Status; {
		case !ok:
			t.Errorf("%s.txtar has no step %q", file, name)
		case rejected != want.rejected:
			t.Errorf("%s: step %q is answered %d; refused with %d: %v, want %v",
				file, name, s.Response.Status, l.Status, rejected, want.rejected)
		}
	}
}

// hash is the variable for the part of a path that stands for a content.
var hash = regexp.MustCompile(`\$\{\w+_HASH\}`)

func TestEveryRouteHasACaseOfEveryResponse(t *testing.T) {
	t.Parallel()
	told := map[string]bool{}
	for _, c := range load(t) {
		for _, s := range c.Steps {
			host, rest, _ := strings.Cut(s.Request.URL, "}")
			if !strings.HasPrefix(host, "${INGEST") {
				continue
			}
			path, _, _ := strings.Cut(rest, "?")
			path = hash.ReplaceAllString(path, ":hash")
			response := fmt.Sprint(s.Request.Method, " ", path, " ", s.Response.Status)
			told[response], told[response+" "+codeIn(s.Response.Body)] = true, true
		}
	}
	for _, r := range ingestapi.Routes {
		statuses := slices.Collect(maps.Keys(r.Responses))
		if r.In != nil && r.Method == http.MethodPost {
			statuses = append(statuses, "204") // where nothing of it is wanted
		}
		for _, status := range statuses {
			if name := fmt.Sprint(r.Method, " ", r.Path, " ", status); !told[name] {
				t.Errorf("no case with %s", name)
			}
		}
		if r.In == nil {
			continue // anybody may ask, and nothing is sent
		}
		for _, row := range httpkit.Codes {
			if row.Code == apierr.Parse {
				break // from here on the codes are the query host's
			}
			if r.Method == http.MethodGet && !row.Retryable() {
				continue // the pixel has its image then
			}
			if name := fmt.Sprint(r.Method, " ", r.Path, " ", row.Status, " ", row.Code); !told[name] {
				t.Errorf("no case with %s", name)
			}
		}
	}
}

// codeIn returns the code that a response's body asks for.
func codeIn(body string) string {
	_, rest, _ := strings.Cut(body, `"status":"error"`)
	_, rest, _ = strings.Cut(rest, `"code":"`)
	code, _, _ := strings.Cut(rest, `"`)
	return code
}
