package apitest

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/testkit"
)

// Player sends the requests of cases.
type Player struct {
	Client *http.Client
	// Vars are given to every case; what a case captures stays its own.
	Vars Vars
	// Document is what every response is held against besides; nil for none.
	Document *OpenAPI
	// Documents are those of single hosts, by host and port, in place of Document.
	Documents map[string]*OpenAPI
}

// Play runs one case, a subtest a step, in order; a step that fails does not keep
// the others from being tried.
func (p *Player) Play(t *testing.T, c *Case) {
	t.Helper()
	vars := maps.Clone(p.Vars)
	for i, step := range c.Steps {
		t.Run(step.name(i), func(t *testing.T) {
			attempt := func() error { return p.step(t.Context(), &step, vars) }
			if step.Request.Until > 0 {
				testkit.Eventually(t, step.Request.Until, attempt)
				return
			}
			if err := attempt(); err != nil {
				t.Fatalf("%s\n%v", c.Comment, err)
			}
		})
	}
}

func (s *Step) name(i int) string {
	if s.About != "" {
		return s.About
	}
	return strconv.Itoa(i + 1)
}

func (p *Player) step(ctx context.Context, s *Step, vars Vars) error {
	req, err := s.Request.build(ctx, vars)
	if err != nil {
		return err
	}
	resp, err := p.Client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return fmt.Errorf("reading the response: %w", err)
	}
	err = s.Response.check(resp, body, vars)
	doc, ok := p.Documents[req.URL.Host]
	if !ok {
		doc = p.Document
	}
	if doc != nil {
		err = errors.Join(err, doc.Check(req.Method, req.URL.Path, resp.StatusCode, resp.Header, body))
	}
	if err != nil {
		return fmt.Errorf("%s %s: %w\nanswer: %d %s", s.Request.Method, s.Request.URL, err, resp.StatusCode, shorten(body))
	}
	return nil
}

func (r *Request) build(ctx context.Context, vars Vars) (*http.Request, error) {
	url, err := render(r.URL, vars)
	if err != nil {
		return nil, err
	}
	text, err := render(r.Body, vars)
	if err != nil {
		return nil, err
	}
	body := []byte(text)
	if r.Gzip {
		if body, err = compress(body); err != nil {
			return nil, err
		}
	}
	req, err := http.NewRequestWithContext(ctx, r.Method, url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if r.Gzip {
		req.Header.Set("Content-Encoding", "gzip")
	}
	for _, f := range r.Header {
		value, err := render(f.Value, vars)
		if err != nil {
			return nil, err
		}
		req.Header.Add(f.Name, value)
	}
	return req, nil
}

func (r *Response) check(resp *http.Response, body []byte, vars Vars) error {
	var errs []error
	if resp.StatusCode != r.Status {
		errs = append(errs, fmt.Errorf("status %d, want %d", resp.StatusCode, r.Status))
	}
	for _, f := range r.Header {
		if err := f.check(resp.Header, vars); err != nil {
			errs = append(errs, err)
		}
	}
	if r.Body != "" {
		errs = append(errs, r.checkBody(resp.Header.Get("X-Request-Id"), body, vars))
	}
	for _, c := range r.Capture {
		value, err := lookup(body, c.Value)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		vars[c.Name] = value
	}
	return errors.Join(errs...)
}

func (f Field) check(have http.Header, vars Vars) error {
	want, err := vars.expand(f.Value)
	if err != nil {
		return err
	}
	anything := want == "*"
	if want == `\*` {
		want = "*"
	}
	got, there := have[http.CanonicalHeaderKey(f.Name)]
	switch {
	case want == "-":
		if there {
			return fmt.Errorf("header %s is %q, want it to be absent", f.Name, got)
		}
	case !there:
		return fmt.Errorf("header %s is absent, want %q", f.Name, want)
	case !anything && strings.Join(got, ", ") != want:
		return fmt.Errorf("header %s is %q, want %q", f.Name, got, want)
	}
	return nil
}

func (r *Response) checkBody(requestID string, body []byte, vars Vars) error {
	text, err := vars.expand(r.Body)
	if err != nil {
		return err
	}
	var want, got any
	if err := json.Unmarshal([]byte(text), &want); err != nil {
		return fmt.Errorf("reading the body of the file: %w", err)
	}
	if err := json.Unmarshal(body, &got); err != nil {
		return fmt.Errorf("reading the response: %w", err)
	}
	m := matcher{exact: r.Exact, requestID: requestID}
	m.value("", want, got)
	if len(m.problems) > 0 {
		return errors.New(strings.Join(m.problems, "\n"))
	}
	return nil
}

// lookup finds the value at a path such as "data.0.id" in a JSON text.
func lookup(body []byte, path string) (string, error) {
	var v any
	if err := json.Unmarshal(body, &v); err != nil {
		return "", err
	}
	for name := range strings.SplitSeq(path, ".") {
		switch at := v.(type) {
		case map[string]any:
			v = at[name]
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i < 0 || i >= len(at) {
				return "", fmt.Errorf("no element %q of %q in the response", name, path)
			}
			v = at[i]
		default:
			v = nil
		}
		if v == nil {
			return "", fmt.Errorf("no field %q of %q in the response", name, path)
		}
	}
	if s, ok := v.(string); ok {
		return s, nil
	}
	return show(v), nil
}

func compress(body []byte) ([]byte, error) {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(body); err != nil {
		return nil, err
	}
	err := w.Close()
	return b.Bytes(), err
}

func shorten(body []byte) string {
	const most = 1000
	if len(body) > most {
		return string(body[:most]) + "…"
	}
	return string(body)
}
