package apitest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// matcher compares a JSON response with what is written.
type matcher struct {
	exact     bool
	requestID string
	problems  []string
}

func (m *matcher) fail(path, format string, args ...any) {
	if path == "" {
		path = "body"
	}
	m.problems = append(m.problems, path+": "+fmt.Sprintf(format, args...))
}

func (m *matcher) value(path string, want, got any) {
	switch want := want.(type) {
	case string:
		m.text(path, want, got)
	case map[string]any:
		m.object(path, want, got)
	case []any:
		m.array(path, want, got)
	default:
		if want != got {
			m.fail(path, "got %s, want %s", show(got), show(want))
		}
	}
}

func (m *matcher) text(path, want string, got any) {
	ok := false
	switch want {
	case "<any>":
		ok = true
	case "<string>":
		s, isString := got.(string)
		ok = isString && s != ""
	case "<number>":
		_, ok = got.(float64)
	case "<bool>":
		_, ok = got.(bool)
	case "<requestId>":
		ok = got == m.requestID && m.requestID != ""
	default:
		ok = got == want
	}
	if !ok {
		m.fail(path, "got %s, want %s", show(got), show(want))
	}
}

func (m *matcher) object(path string, want map[string]any, got any) {
	have, ok := got.(map[string]any)
	if !ok {
		m.fail(path, "got %s, want an object", show(got))
		return
	}
	for _, k := range sortedKeys(want) {
		at := strings.TrimPrefix(path+"."+k, ".")
		v, there := have[k]
		switch {
		case want[k] == "<absent>":
			if there {
				m.fail(at, "got %s, want it to be absent", show(v))
			}
		case !there:
			m.fail(at, "absent, want %s", show(want[k]))
		default:
			m.value(at, want[k], v)
		}
	}
	if !m.exact {
		return
	}
	for _, k := range sortedKeys(have) {
		if _, wanted := want[k]; !wanted {
			m.fail(strings.TrimPrefix(path+"."+k, "."), "got %s, want it to be absent", show(have[k]))
		}
	}
}

func (m *matcher) array(path string, want []any, got any) {
	have, ok := got.([]any)
	if !ok {
		m.fail(path, "got %s, want an array", show(got))
		return
	}
	if len(have) != len(want) {
		m.fail(path, "got %d elements, want %d: %s", len(have), len(want), show(got))
		return
	}
	for i := range want {
		m.value(fmt.Sprintf("%s.%d", path, i), want[i], have[i])
	}
}

func sortedKeys(m map[string]any) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// show renders a value for a failure, shortened.
func show(v any) string {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Sprint(v)
	}
	b := bytes.TrimSpace(out.Bytes())
	const most = 300
	if len(b) > most {
		return string(b[:most]) + "…"
	}
	return string(b)
}
