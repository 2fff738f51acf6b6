// Package checktest plays each pair of failures against the order of httpkit.Checks: a
// request that fails two checks is answered with the rejection of the first of them, and
// nothing behind it is asked.
package checktest

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/api/httpkit"
	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/tenant/ratelimit"
)

// Response is what came of an attempt.
type Response struct {
	Status int
	Body   string
	// Asked are the checks that were seen at work, by whoever they ask.
	Asked []string
}

// Failure is how a request of type T is made to fail one check.
type Failure[T any] struct {
	// Spoil changes a good request.
	Spoil func(*T)
	// Code is what it is rejected with.
	Code apierr.Code
	// Says is a part of the response's body that tells the rejection from others with the
	// code; may be empty.
	Says string
}

// is reports whether a response is the rejection of the failure.
func (f Failure[T]) is(a Response) bool {
	return a.Status == httpkit.RowOf(f.Code).Status &&
		strings.Contains(a.Body, fmt.Sprintf(`"code":%q`, f.Code)) && strings.Contains(a.Body, f.Says)
}

// Play tries a good request, each failure alone, and each pair of them. Every check of the
// surface has a failure, but those that reject nothing and those that the route does
// without. try sends what good returns, as it was spoilt.
func Play[T any](
	t *testing.T, s httpkit.Surface, failures map[string]Failure[T],
	good func() *T, try func(*testing.T, *T) Response, without ...string,
) {
	t.Helper()
	checks := slices.DeleteFunc(httpkit.ChecksOf(s), func(c httpkit.Check) bool {
		return len(c.Codes) == 0 || slices.Contains(without, c.Name)
	})
	if response := try(t, good()); response.Status >= http.StatusMultipleChoices {
		t.Fatalf("a good request is answered %d %s", response.Status, response.Body)
	}
	if len(failures) != len(checks) {
		t.Errorf("there are %d failures for %d checks", len(failures), len(checks))
	}
	for i, first := range checks {
		failure, ok := failures[first.Name]
		if !ok || !slices.Contains(first.Codes, failure.Code) {
			t.Errorf("no failure of %s, or none with a code of its: %q", first.Name, failure.Code)
			continue
		}
		for _, second := range checks[i:] {
			request := good()
			// The later one first, so that neither way to spoil a request undoes the other's.
			failures[second.Name].Spoil(request)
			failure.Spoil(request)
			response := try(t, request)
			if !failure.is(response) {
				t.Errorf("%s and %s: %d %s, want %s that says %q",
					first.Name, second.Name, response.Status, response.Body, failure.Code, failure.Says)
			}
			for _, later := range checks[i+1:] {
				if slices.Contains(response.Asked, later.Name) {
					t.Errorf("%s and %s: %s was asked nevertheless", first.Name, second.Name, later.Name)
				}
			}
		}
	}
}

// UseUp has keys use up what they may ask of a family at the same time.
func UseUp(t *testing.T, limits *ratelimit.Limiter, f ratelimit.Family, keys ...string) {
	t.Helper()
	for _, id := range keys {
		for used := false; !used; {
			who := ratelimit.Identity{Kind: ratelimit.Key, ID: id}
			_, err := limits.Admit(t.Context(), ratelimit.Request{Family: f, Who: who})
			used = err != nil
		}
	}
}
