package contract

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/analytics"
	"github.com/millrace/millrace/internal/api/httpkit"
	"github.com/millrace/millrace/internal/api/queryapi"
	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/testkit/apitest"
)

// queryLimit is a bound of what a query may say; Min 0 is none.
type queryLimit struct {
	name, unit string
	min, max   int
}

// queryLimits are the bounds of queries but those of the options of types, which
// the catalogue knows.
var queryLimits = []queryLimit{
	{"queries", "", 1, analytics.MaxRequests},
	{"parameters", "", 1, analytics.MaxParameters},
	{"body", "bytes", 0, analytics.MaxBodyBytes},
	{"an inflated body", "bytes", 0, analytics.MaxBodyBytes},
	{"id", "bytes", 0, analytics.MaxLabelLen},
	{"label", "bytes", 0, analytics.MaxLabelLen},
	{"limit", "rows", 1, analytics.MaxLimit},
	{"page", "", 1, analytics.MaxPage},
	{"groups", "", 0, analytics.MaxGroups},
	{"filters", "", 0, analytics.MaxFilters},
	{"filters in groups", "", 0, analytics.MaxFilters},
	{"filters of steps", "", 0, analytics.MaxFilters},
	{"filters inside one another", "levels", 0, analytics.MaxFilterDepth},
	{"values of a filter", "", 1, analytics.MaxFilterValues},
	{"value of a filter", "characters", 0, analytics.MaxFilterValueLen},
	{"path of a step", "characters", 0, analytics.MaxFilterValueLen},
	{"key of a filter", "characters", 1, analytics.MaxFilterKeyLen},
	{"regular expression", "characters", 0, analytics.MaxRegexLen},
	{"range of minutes", "days", 0, analytics.MaxMinutelyDays},
	{"range of hours", "days", 0, analytics.MaxHourlyDays},
	{"range of days", "days", 0, analytics.MaxDailyDays},
	{"range of months", "days", 0, analytics.MaxDailyDays},
	{"compile.limit", "rows", 1, 1000},
	{"compile.body", "bytes", 0, analytics.MaxBodyBytes},
}

// optionLimits are the bounds of the options of every type.
func optionLimits() (all []queryLimit) {
	for i := range analytics.Catalog {
		t := &analytics.Catalog[i]
		for _, o := range t.Options {
			l := queryLimit{t.Name + "." + o.Name, "", o.Min, o.Max}
			if o.Kind == analytics.OptionText {
				l.unit = "characters"
			}
			all = append(all, l)
		}
	}
	return all
}

func TestEveryLimitOfAQueryHasACaseAtItAndOneBeyond(t *testing.T) {
	t.Parallel()
	steps := map[string]apitest.Step{}
	for _, c := range load(t) {
		if c.Name == "query_limits" {
			for _, s := range c.Steps {
				steps[s.About] = s
			}
		}
	}
	for _, l := range append(optionLimits(), queryLimits...) {
		if l.max > 0 {
			l.check(t, steps, l.max, l.max+1)
		}
		if l.min > 0 {
			l.check(t, steps, l.min, l.min-1)
		}
	}
}

func (l *queryLimit) check(t *testing.T, steps map[string]apitest.Step, at, beyond int) {
	t.Helper()
	for n, good := range map[int]bool{at: true, beyond: false} {
		name := strings.TrimSpace(fmt.Sprintf("%s: %d %s", l.name, n, l.unit))
		s, ok := steps[name]
		if !ok {
			t.Errorf("query_limits.txtar has no step %q", name)
		} else if (s.Response.Status == http.StatusOK) != good {
			t.Errorf("step %q is answered %d; within the limit: %t", name, s.Response.Status, good)
		}
	}
}

// codesOfAll are the codes that every route of the query host may answer with which
// is not public.
var codesOfAll = []apierr.Code{
	apierr.AuthRequired, apierr.Forbidden, apierr.AccessDenied, apierr.IPNotAuthorized, apierr.RateLimited,
	apierr.Internal, apierr.ServiceUnavailable,
}

// codesOf are those of single routes besides.
var codesOf = map[string][]apierr.Code{
	"/v1/query":          {apierr.Validation, apierr.Parse, apierr.MissingProjectID, apierr.PayloadTooLarge},
	"/v1/query/compile":  {apierr.Compilation, apierr.Parse, apierr.MissingProjectID, apierr.PayloadTooLarge},
	"/v1/query/websites": {},
}

func TestEveryQueryRouteHasACaseOfEveryCode(t *testing.T) {
	t.Parallel()
	told := map[string]bool{}
	for _, c := range load(t) {
		for _, s := range c.Steps {
			_, rest, _ := strings.Cut(s.Request.URL, "}")
			path, _, _ := strings.Cut(rest, "?")
			_, body, _ := strings.Cut(s.Response.Body, `"code":"`)
			code, _, _ := strings.Cut(body, `"`)
			told[fmt.Sprint(path, " ", s.Response.Status, " ", code)] = true
		}
	}
	for _, r := range queryapi.Routes {
		own, listed := codesOf[r.Path]
		if r.Public {
			continue
		}
		if !listed {
			t.Errorf("the codes of %s are not listed", r.Path)
		}
		for _, code := range append(own, codesOfAll...) {
			if name := fmt.Sprint(r.Path, " ", httpkit.RowOf(code).Status, " ", code); !told[name] {
				t.Errorf("no case with %s", name)
			}
		}
	}
}
