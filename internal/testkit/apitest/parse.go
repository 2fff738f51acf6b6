package apitest

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/tools/txtar"
)

// Case is one file.
type Case struct {
	// Name is the file's name without ".txtar".
	Name string
	// Comment is the text before the first section.
	Comment string
	Steps   []Step
}

// Step is one request and what must come back.
type Step struct {
	// About is what the request's section says after "request".
	About    string
	Request  Request
	Response Response
}

// Request is a request before variables and templates are filled in.
type Request struct {
	Method, URL string
	Header      []Field
	Body        string
	Gzip        bool
	// Until, when positive, is how long the request is repeated until the
	// response matches.
	Until time.Duration
}

// Response is what must come back.
type Response struct {
	Status int
	Header []Field
	// Body is JSON with placeholders, or empty when nothing is said about it.
	Body    string
	Exact   bool
	Capture []Field // Name is the variable, Value the path
}

// Field is one header line or directive.
type Field struct{ Name, Value string }

// Load reads the files that match the glob pattern, sorted by name.
func Load(files fs.FS, pattern string) ([]Case, error) {
	names, err := fs.Glob(files, pattern)
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("no file matches %s", pattern)
	}
	slices.Sort(names)
	cases := make([]Case, 0, len(names))
	for _, name := range names {
		data, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, err
		}
		c, err := parse(txtar.Parse(data))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		c.Name = strings.TrimSuffix(name, ".txtar")
		cases = append(cases, c)
	}
	return cases, nil
}

func parse(a *txtar.Archive) (Case, error) {
	c := Case{Comment: strings.TrimSpace(string(a.Comment))}
	if c.Comment == "" {
		return c, errors.New("the file does not begin with a sentence that says what holds")
	}
	if len(a.Files) == 0 || len(a.Files)%2 != 0 {
		return c, errors.New("sections are not pairs of request and response")
	}
	for pair := range slices.Chunk(a.Files, 2) {
		about, ok := strings.CutPrefix(pair[0].Name, "request")
		if !ok || pair[1].Name != "response" {
			return c, fmt.Errorf("sections %q and %q are not a request and a response", pair[0].Name, pair[1].Name)
		}
		step := Step{About: strings.TrimSpace(strings.TrimPrefix(about, ":"))}
		err := errors.Join(step.Request.parse(string(pair[0].Data)), step.Response.parse(string(pair[1].Data)))
		if err != nil {
			return c, fmt.Errorf("step %q: %w", pair[0].Name, err)
		}
		c.Steps = append(c.Steps, step)
	}
	return c, nil
}

func (r *Request) parse(text string) error {
	first, fields, body, err := split(text)
	if err != nil {
		return err
	}
	var ok bool
	if r.Method, r.URL, ok = strings.Cut(first, " "); !ok {
		return fmt.Errorf("%q is not a method and an address", first)
	}
	r.Body = body
	for _, f := range fields {
		switch f.Name {
		case "@gzip":
			r.Gzip = true
		case "@until":
			if r.Until, err = time.ParseDuration(f.Value); err != nil {
				return err
			}
		default:
			if strings.HasPrefix(f.Name, "@") {
				return fmt.Errorf("unknown directive %s in a request", f.Name)
			}
			r.Header = append(r.Header, f)
		}
	}
	return nil
}

func (r *Response) parse(text string) error {
	first, fields, body, err := split(text)
	if err != nil {
		return err
	}
	if r.Status, err = strconv.Atoi(first); err != nil || http.StatusText(r.Status) == "" {
		return fmt.Errorf("%q is not a status", first)
	}
	r.Body = body
	for _, f := range fields {
		switch f.Name {
		case "@exact":
			r.Exact = true
		case "@capture":
			name, path, ok := strings.Cut(f.Value, " ")
			if !ok {
				return fmt.Errorf("@capture: %q is not a name and a path", f.Value)
			}
			r.Capture = append(r.Capture, Field{Name: name, Value: path})
		default:
			if strings.HasPrefix(f.Name, "@") {
				return fmt.Errorf("unknown directive %s in a response", f.Name)
			}
			r.Header = append(r.Header, f)
		}
	}
	return nil
}

// split takes a section apart: its first line, the fields up to the first empty
// line, and the rest without the line end that txtar adds.
func split(text string) (first string, fields []Field, body string, err error) {
	head, body, _ := strings.Cut(text, "\n\n")
	lines := strings.Split(strings.TrimRight(head, "\n"), "\n")
	for _, l := range lines[1:] {
		name, value, ok := strings.Cut(l, ":")
		if !ok && !strings.HasPrefix(l, "@") {
			return "", nil, "", fmt.Errorf("%q is neither a header nor a directive", l)
		}
		fields = append(fields, Field{Name: strings.TrimSpace(name), Value: strings.TrimSpace(value)})
	}
	return strings.TrimSpace(lines[0]), fields, strings.TrimSuffix(body, "\n"), nil
}
