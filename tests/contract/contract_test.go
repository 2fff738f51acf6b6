package contract

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/event"
	"github.com/millrace/millrace/internal/fault"
	"github.com/millrace/millrace/internal/httpkit"
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

func TestEveryLimitOfAnEventHasACaseAtItAndOneBeyond(t *testing.T) {
	t.Parallel()
	limits := map[string]apitest.Step{}
	for _, c := range load(t) {
		if c.Name == "track_limits" {
			for _, s := range c.Steps {
				limits[s.About] = s
			}
		}
	}
	for _, l := range event.Limits {
		if l.Max > 0 {
			checkLimit(t, limits, l, l.Max, l.Max+1)
		}
		if l.Min > 0 {
			checkLimit(t, limits, l, l.Min, l.Min-1)
		}
	}
}

// checkLimit looks for the case at a limit, which is not refused for it, and the
// one beyond, which is.
func checkLimit(t *testing.T, steps map[string]apitest.Step, l event.Limit, at, beyond int64) {
	t.Helper()
	for _, want := range []struct {
		n       int64
		refused bool
	}{{at, false}, {beyond, true}} {
		name := fmt.Sprintf("%s: %d %s", l.Name, want.n, l.Unit)
		s, ok := steps[name]
		switch refused := s.Response.Status == l.Status; {
		case !ok:
			t.Errorf("track_limits.txtar has no step %q", name)
		case refused != want.refused:
			t.Errorf("step %q is answered %d; refused with %d: %v, want %v", name, s.Response.Status, l.Status, refused, want.refused)
		}
	}
}

// later are the codes of the ingestion host whose features come later: quotas,
// origin and address rules.
var later = []fault.Code{
	fault.QuotaExceeded, fault.OriginNotAuthorized, fault.IPNotAuthorized, fault.BillingUnavailable,
}

func TestEveryCodeOfTheIngestionHostHasACase(t *testing.T) {
	t.Parallel()
	told := map[string]bool{}
	for _, c := range load(t) {
		for _, s := range c.Steps {
			told[fmt.Sprint(s.Response.Status, " ", codeIn(s.Response.Body))] = true
		}
	}
	for _, row := range httpkit.Codes {
		if row.Code == fault.Parse {
			break // from here on the codes are the query host's
		}
		name := fmt.Sprint(row.Status, " ", row.Code)
		if has, want := told[name], !slices.Contains(later, row.Code); has != want {
			t.Errorf("a case with %s: %v, want %v", name, has, want)
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
