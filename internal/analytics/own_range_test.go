package analytics

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/contract/apierr"
)

// What a type says about a time of its own is the same without a range, and a range that is
// wrong is one whatever is asked.
func TestTypesOfATimeOfTheirOwnTakeARangeOrNone(t *testing.T) {
	t.Parallel()
	for _, rest := range []string{
		`"preset":"last_7d"`, `"preset":"last_7d","startDate":"ignored"`, `"limit":1`, `"startDate":"2026-03-01"`,
		`"endDate":"2026-03-01T10:00"`, `"startDate":"2026-03-01","endDate":"2026-03-01"`,
	} {
		for i := range Catalog {
			if typ := &Catalog[i]; typ.ownRange() {
				body := `{"parameters":["` + typ.Name + `"],` + rest + `}`
				plans, err := compileBody(t, body, websiteEnv())
				if err != nil {
					t.Errorf("%s: %v", body, err)
				} else if got, want := plans[0].Outputs[0].Range, typ.rangeAt(testNow, time.UTC); got != want {
					t.Errorf("%s is about %v, want %v", body, got, want)
				}
			}
		}
	}
}

func TestTypesOfATimeOfTheirOwnRejectARangeThatIsNone(t *testing.T) {
	t.Parallel()
	const noDate = "Invalid date: soon. Could not parse as a valid date"
	for _, tc := range []struct{ rest, field, message string }{
		{`"{name}"],"preset":"last_8d"`, "preset", "Invalid date preset: last_8d"},
		{`"{name}"],"startDate":"soon"`, "startDate", noDate},
		{`"{name}"],"endDate":"soon"`, "endDate", noDate},
		{`{"name":"{name}","start_date":"soon"}],"preset":"today"`, "parameters[0].start_date", noDate},
		{`{"name":"{name}","end_date":"soon"}]`, "parameters[0].end_date", noDate},
		{`"{name}","{name}"],"startDate":"2026-03-02","endDate":"soon"`, "endDate", noDate},
		{
			`"{name}"],"startDate":"2026-03-02","endDate":"2026-03-01"`, "endDate",
			"endDate must not be before startDate",
		},
	} {
		for i := range Catalog {
			if typ := &Catalog[i]; typ.ownRange() {
				body := `{"parameters":[` + strings.ReplaceAll(tc.rest, "{name}", typ.Name) + `}`
				_, err := compileBody(t, body, websiteEnv())
				failure, ok := errors.AsType[*apierr.Error](err)
				if !ok || len(failure.Details) != 1 || failure.Details[0].Field != tc.field ||
					failure.Details[0].Message != tc.message {
					t.Errorf("%s: %v, want %s: %s", body, err, tc.field, tc.message)
				}
			}
		}
	}
}
