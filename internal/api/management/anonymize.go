package management

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/danielgtaylor/huma/v2"
)

// anonymize is whether visitor ids are hashed: true, false or the text "auto" on
// the wire, and always a text inside.
type anonymize string

// MarshalJSON writes the value as the wire has it.
func (a anonymize) MarshalJSON() ([]byte, error) {
	switch a {
	case "true", "false":
		return []byte(a), nil
	default:
		return json.Marshal(string(a))
	}
}

// UnmarshalJSON reads what the schema has passed.
func (a *anonymize) UnmarshalJSON(text []byte) error {
	switch text = bytes.TrimSpace(text); string(text) {
	case "true", "false":
		*a = anonymize(text)
		return nil
	case `"auto"`:
		*a = "auto"
		return nil
	default:
		return fmt.Errorf("reading anonymizeVisitorIds from %.20s", text)
	}
}

// Schema lists the three values.
func (anonymize) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Enum: []any{true, false, "auto"}}
}
