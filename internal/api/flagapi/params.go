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
	paramClient: {"clientId", website.MaxRefLen, "The website's client id; with an API key, its id too."},
	paramKey:    {"key", maxKeyLen, "The flag's key."},
	paramKeys: {
		"keys", 0,
		"Keys of flags with commas between them, at most 200; without it, all flags that the caller sees.",
	},
	paramUserID: {
		"userId", flageval.MaxIDLen,
		"Who the person is. Without userId, email and anonymousId it is anonymous.",
	},
	paramEmail:       {"email", flageval.MaxIDLen, "The person's e-mail address."},
	paramAnonymousID: {"anonymousId", flageval.MaxIDLen, "The visitor's id, of somebody who is not signed in."},
	paramOrganizationID: {
		"organizationId", flageval.MaxIDLen,
		"The organization that the person is in, as the flag's rules mean it.",
	},
	paramTeamID: {"teamId", flageval.MaxIDLen, "The team that the person is in."},
	paramProperties: {
		"properties", 0,
		"Attributes of the caller's own, a JSON object of at most 200; what is no such object counts as none.",
	},
	paramEnvironment: {
		"environment", maxKeyLen,
		"The environment; the base where it is absent or the flag has no such one.",
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
			bad.Add(name, "too_many", "%s must be at most %d", name, flag.MaxServedKeys)
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
