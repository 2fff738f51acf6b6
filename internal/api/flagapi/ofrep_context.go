package flagapi

import (
	"encoding/json"
	"errors"
	"unicode/utf8"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/resource/flag"
)

// ofrepNames are the members of a context that mean something of their own. All others are
// attributes.
var ofrepNames = []struct {
	name string
	is   param
}{
	{"targetingKey", paramUserID},
	{"email", paramEmail},
	{"anonymousId", paramAnonymousID},
	{"organizationId", paramOrganizationID},
	{"teamId", paramTeamID},
	{"environment", paramEnvironment},
}

var (
	errNoObject = errors.New("the body must be a JSON object")
	errNoText   = errors.New("the body is not valid UTF-8")
)

// protocol takes a context from a body: texts with a meaning of their own, and attributes.
// A context may be missing or null: nobody is known then. What is rejected is a Validation or
// Parse error, and q knows why.
func (query *query) protocol(q *question, body []byte) (attributes map[string]any, err error) {
	request, err := object(body)
	if err != nil {
		q.code = parseError
		return nil, apierr.Wrap(apierr.Parse, err)
	}
	attributes, is := request["context"].(map[string]any)
	if !is && request["context"] != nil {
		return nil, q.reject(invalidContext, apierr.Validation, "context must be an object")
	}
	for _, n := range ofrepNames {
		if err := query.take(n.is, n.name, attributes); err != nil {
			return nil, q.because(invalidContext, err)
		}
	}
	if err := flag.CheckAttributes("context", attributes); err != nil {
		return nil, q.because(invalidContext, err)
	}
	return attributes, nil
}

func object(body []byte) (request map[string]any, err error) {
	if !utf8.Valid(body) {
		return nil, errNoText
	}
	if err := json.Unmarshal(body, &request); err != nil {
		return nil, err
	}
	if request == nil {
		return nil, errNoObject
	}
	return request, nil
}

// take moves a text from the attributes to a parameter; null is as good as none.
func (query *query) take(to param, name string, attributes map[string]any) error {
	value, there := attributes[name]
	text, isText := value.(string)
	if there && value != nil && !isText {
		return apierr.Invalid("context."+name, "type", "context."+name+" must be a string")
	}
	delete(attributes, name)
	query.text[to] = text
	return checkLen("context."+name, text, paramRows[to].most)
}
