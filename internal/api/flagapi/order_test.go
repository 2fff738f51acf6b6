package flagapi

import (
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/gofiber/fiber/v2"

	"github.com/millrace/millrace/internal/api/httpkit"
	"github.com/millrace/millrace/internal/api/httpkit/checktest"
	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/tenant/ratelimit"
)

// spoilt is a request to one of the routes, and whether the caller has used up its limit and
// the set is away.
type spoilt struct {
	path, key, client, query string
	limited, away            bool
}

func TestEachPairOfFailuresIsRejectedInTheOrderOfChecks(t *testing.T) {
	t.Parallel()
	long := "&environment=" + strings.Repeat("e", maxKeyLen+1)
	for path, access := range map[string]checktest.Failure[spoilt]{
		"/evaluate":    {Spoil: func(s *spoilt) { s.client = "nothing" }, Code: apierr.NotFound},
		"/definitions": {Spoil: func(s *spoilt) { s.key = "powerless" }, Code: apierr.Forbidden},
	} {
		checktest.Play(t, httpkit.Flags, map[string]checktest.Failure[spoilt]{
			"route":       {Spoil: func(s *spoilt) { s.path = "/nothing" }, Code: apierr.NotFound},
			"credentials": {Spoil: func(s *spoilt) { s.key = "bad" }, Code: apierr.AuthRequired},
			"limits":      {Spoil: func(s *spoilt) { s.limited = true }, Code: apierr.RateLimited},
			"access":      access,
			"input":       {Spoil: func(s *spoilt) { s.query = long }, Code: apierr.Validation},
			"operation":   {Spoil: func(s *spoilt) { s.away = true }, Code: apierr.ServiceUnavailable},
		}, func() *spoilt { return &spoilt{path: path, key: "manager", client: "public-1", query: "&key=nav"} }, trials(t))
	}
}

// trials returns what tries a request: on one of four hosts, with room for all or where the
// keys have used theirs up, and with a set or where it is away.
func trials(t *testing.T) func(*testing.T, *spoilt) checktest.Response {
	t.Helper()
	full := ratelimit.New(config.Default().Limits, ratelimit.Deps{Log: slog.New(slog.DiscardHandler)})
	checktest.UseUp(t, full, ratelimit.Flags, keys["manager"].KeyID, keys["powerless"].KeyID)
	hosts := map[[2]bool]*fiber.App{}
	for _, limited := range []bool{false, true} {
		for _, away := range []bool{false, true} {
			hosts[[2]bool{limited, away}] = mounted(t, testFlags(), func(d *Deps) {
				if limited {
					d.Limits = full
				}
				if away {
					d.Sets = tenants{err: apierr.New(apierr.ServiceUnavailable)}
				}
			})
		}
	}
	return func(t *testing.T, s *spoilt) checktest.Response {
		t.Helper()
		target := prefix + s.path + "?clientId=" + s.client + s.query
		got := send(t, hosts[[2]bool{s.limited, s.away}], http.MethodGet, target, "X-Api-Key", s.key)
		return checktest.Response{Status: got.Status, Body: got.Body}
	}
}
