package wire

import (
	"bytes"
	"encoding/json"
)

// CompactJSON returns the JSON of a value without white space, in which the characters that mean
// something in HTML stand for themselves: for what is kept and whose bytes are counted, which
// encoding/json would write with six bytes each.
func CompactJSON(v any) ([]byte, error) {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(text.Bytes(), []byte("\n")), nil
}
