package flagapi

import (
	"slices"
	"strings"
	"unsafe"

	"github.com/valyala/fasthttp"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/resource/flag"
	"github.com/millrace/millrace/internal/resource/flag/flageval"
	"github.com/millrace/millrace/internal/tenant/website"
)

// param is a parameter of the query string.
type param uint8

const (
	paramClient param = iota
	paramKey
	paramKeys
	paramUserID
	paramEmail
	paramAnonymousID
	paramOrganizationID
	paramTeamID
	paramProperties
	paramEnvironment
	params
)

// maxKeyLen is how long the key of a flag, or the name of an environment, is at most, in
// characters.
const maxKeyLen = 128

// paramRow is one of the parameters.
type paramRow struct {
	name string
	most int // code points; 0 for as many as the header of a request holds
	help string
}

// paramRows is the table of the parameters, in the order of their constants.
var paramRows = [params]paramRow{
	paramClient: {"clientId", website.MaxRefLen, "Client id of the website; with an API key, also its id."},
	paramKey:    {"key", maxKeyLen, "The flag's key."},
	paramKeys: {
		"keys", 0,
		"Comma-separated keys of at most 200 flags; if absent, all flags that the caller can access.",
	},
	paramUserID: {
		"userId", flageval.MaxIDLen,
		"Id of the user. Without userId, email and anonymousId, the user is anonymous.",
	},
	paramEmail:       {"email", flageval.MaxIDLen, "E-mail address of the user."},
	paramAnonymousID: {"anonymousId", flageval.MaxIDLen, "Id of the visitor, if the user is not signed in."},
	paramOrganizationID: {
		"organizationId", flageval.MaxIDLen,
		"Organization of the user, as used in the flag's rules.",
	},
	paramTeamID: {"teamId", flageval.MaxIDLen, "Team of the user."},
	paramProperties: {
		"properties", 0,
		"Custom attributes as a JSON object with at most 200 members; any other value is ignored.",
	},
	paramEnvironment: {
		"environment", maxKeyLen,
		"Environment; the base if it is absent or the flag does not have it.",
	},
}

var paramByName = func() map[string]param {
	m := make(map[string]param, params)
	for p := range params {
		m[paramRows[p].name] = p
	}
	return m
}()

// query is what the query string of a request says. Its texts alias memory of the request.
type query struct{ text [params]string }

// read takes the parameters from a query string: of several of one name the first that is
// not empty, and of those that nobody knows none.
func (q *query) read(args *fasthttp.Args) {
	for name, value := range args.All() {
		if p, known := paramByName[view(name)]; known && q.text[p] == "" {
			q.text[p] = view(value)
		}
	}
}

// check rejects parameters that are too long, and a missing one that is needed.
func (q *query) check(needed []param) error {
	var bad apierr.Rejection
	for _, p := range needed {
		if q.text[p] == "" {
			bad.Add(paramRows[p].name, "required", "%s is required", paramRows[p].name)
		}
	}
	for p := range params {
		if most := paramRows[p].most; most > 0 && len(q.text[p]) > most {
			bad.Merge(checkLen(paramRows[p].name, q.text[p], most))
		}
	}
	return bad.Err()
}

// split appends the keys of a list to keys, in their order and each once. It rejects too many
// of them, and keys that are longer than any flag's.
func split(keys []string, list string) ([]string, error) {
	name := paramRows[paramKeys].name
	for key := range strings.SplitSeq(list, ",") {
		switch {
		case key == "":
			continue
		case len(keys) == flag.MaxServedKeys:
			var bad apierr.Rejection
			bad.Add(name, "too_many", "%s must have at most %d entries", name, flag.MaxServedKeys)
			return nil, bad.Err()
		}
		if err := checkLen(name, key, maxKeyLen); err != nil {
			return nil, err
		}
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return slices.Compact(keys), nil
}

// view returns b as a string without copying it, for whoever does not keep it.
func view(b []byte) string {
	return unsafe.String(unsafe.SliceData(b), len(b)) //nolint:gosec // see above
}
