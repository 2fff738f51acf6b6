package apitest

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"text/template"
	"time"
)

// Vars are the values of a file's ${NAME}s.
type Vars map[string]string

var variable = regexp.MustCompile(`\$\{([A-Z][A-Z0-9_]*)\}`)

// expand replaces the variables; an unknown one is an error, not an empty text.
func (v Vars) expand(text string) (string, error) {
	var unknown error
	out := variable.ReplaceAllStringFunc(text, func(m string) string {
		value, ok := v[m[2:len(m)-1]]
		if !ok {
			unknown = fmt.Errorf("unknown variable %s", m)
		}
		return value
	})
	return out, unknown
}

// Funcs are the actions that a request may use.
var Funcs = template.FuncMap{
	// repeat "é" 256 is the text n times.
	"repeat": strings.Repeat,
	// keys 50 is a JSON object with n keys.
	"keys": func(n int) string {
		return "{" + join(n, func(i int) string { return fmt.Sprintf(`"k%d":%d`, i, i) }) + "}"
	},
	// object 32768 is a compact JSON object of exactly n bytes, with one key.
	"object": func(n int) string {
		const frame = `{"k":""}`
		return `{"k":"` + strings.Repeat("x", n-len(frame)) + `"}`
	},
	// nested 32 is n arrays inside one another.
	"nested": func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) },
	// batch 3 `{"name":"x"}` is a JSON array with n times the value.
	"batch": func(n int, value string) string {
		return "[" + join(n, func(int) string { return value }) + "]"
	},
	// pad 2097152 `{"name":"x"}` is the value followed by spaces up to n bytes.
	"pad": func(n int, value string) string { return value + strings.Repeat(" ", n-len(value)) },
	// ago "24h" is the time that long ago in Unix milliseconds; a negative
	// duration lies ahead.
	"ago": func(d string) (string, error) {
		before, err := time.ParseDuration(d)
		return strconv.FormatInt(time.Now().Add(-before).UnixMilli(), 10), err
	},
	// day -1 is a date in UTC, counted from today.
	"day": func(offset int) string { return time.Now().UTC().AddDate(0, 0, offset).Format(time.DateOnly) },
}

func join(n int, item func(i int) string) string {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = item(i)
	}
	return strings.Join(parts, ",")
}

// render runs the template actions of a text and fills in its variables.
func render(text string, vars Vars) (string, error) {
	t, err := template.New("").Option("missingkey=error").Funcs(Funcs).Parse(text)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	if err := t.Execute(&b, nil); err != nil {
		return "", err
	}
	return vars.expand(b.String())
}
