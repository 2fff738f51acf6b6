package apitest

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Render runs the actions of a text and fills in its variables, as in a request.
func Render(text string, vars Vars) (string, error) { return render(text, vars) }

// MatchJSON returns an error that names everything in which got differs from want,
// as the body of a response is compared: objects may have more fields than written.
func MatchJSON(want, got []byte) error {
	var w, g any
	if err := json.Unmarshal(want, &w); err != nil {
		return fmt.Errorf("reading what is wanted: %w", err)
	}
	if err := json.Unmarshal(got, &g); err != nil {
		return fmt.Errorf("reading what there is: %w", err)
	}
	var m matcher
	m.value("", w, g)
	if len(m.problems) > 0 {
		return errors.New(strings.Join(m.problems, "\n"))
	}
	return nil
}
