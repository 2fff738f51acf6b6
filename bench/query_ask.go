package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/ch-go/proto"

	"github.com/millrace/millrace/internal/adapter/clickhouse"
)

// asker asks the query host about one website, or about a link where it has one.
type asker struct {
	stack   *stack
	website string
	link    string
	from    time.Time // day
	until   time.Time // day behind the last
}

// body is a request for parameters about the range.
func (a *asker) body(parameters ...string) string {
	list, _ := json.Marshal(parameters) // of texts
	return fmt.Sprintf(`{"parameters":%s,"startDate":%q,"endDate":%q}`, list, a.from.Format(time.DateOnly), a.last())
}

func (a *asker) last() string { return a.until.AddDate(0, 0, -1).Format(time.DateOnly) }

// ask sends a request and fails when any part of the response did. A fresh response is no
// copy of an earlier one.
func (a *asker) ask(ctx context.Context, body string, fresh bool) ([]byte, error) {
	response, status, err := a.post(ctx, "/v1/query", body, fresh)
	if err != nil {
		return nil, err
	}
	if status != http.StatusOK || bytes.Contains(response, []byte(`"success":false`)) {
		return nil, fmt.Errorf("asking %s: %d %.300s", body, status, response)
	}
	return response, nil
}

func (a *asker) post(ctx context.Context, path, body string, fresh bool) (response []byte, status int, err error) {
	subject := "?website_id=" + a.website
	if a.link != "" {
		subject = "?link_id=" + a.link
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.stack.Query+path+subject, strings.NewReader(body))
	if err != nil {
		return nil, 0, err
	}
	req.Header.Set("X-Api-Key", a.stack.key)
	req.Header.Set("Content-Type", "application/json")
	if fresh {
		req.Header.Set("Cache-Control", "no-cache, no-store")
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, 0, err
	}
	defer resp.Body.Close()
	response, err = io.ReadAll(resp.Body)
	return response, resp.StatusCode, err
}

// types are the names of the query types that a question needs nothing for but a
// range.
func (a *asker) types(ctx context.Context) (names []string, err error) {
	resp, err := http.Get(a.stack.Query + "/v1/query/types")
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	var all struct {
		Types []string `json:"types"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&all); err != nil {
		return nil, err
	}
	for _, name := range all.Types {
		_, status, err := a.post(ctx, "/v1/query/compile", a.compileBody(name), true)
		if err != nil {
			return nil, err
		}
		if status == http.StatusOK {
			names = append(names, name)
		}
	}
	return names, nil
}

func (a *asker) compileBody(name string) string {
	return fmt.Sprintf(`{"type":%q,"from":%q,"to":%q,"limit":100}`, name, a.from.Format(time.DateOnly), a.last())
}

// compiled is the statement of a query type.
type compiled struct {
	SQL    string            `json:"sql"`
	Params map[string]string `json:"params"`
}

func (a *asker) compile(ctx context.Context, name string) (c compiled, err error) {
	response, status, err := a.post(ctx, "/v1/query/compile", a.compileBody(name), true)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("compiling %s: %d %s", name, status, response)
	}
	if err == nil {
		err = json.Unmarshal(response, &c)
	}
	return c, err
}

// quoted protects a parameter on its way through the native protocol.
var quoted = strings.NewReplacer(`\`, `\\`, `'`, `\'`)

// run runs the statement on a bare connection, reads all of its result, and returns
// how many rows the server read.
func (q *compiled) run(ctx context.Context, c *clickhouse.Client) (read uint64, err error) {
	params := make([]proto.Parameter, 0, len(q.Params))
	for name, text := range q.Params {
		params = append(params, proto.Parameter{Key: name, Value: "'" + quoted.Replace(text) + "'"})
	}
	var results proto.Results
	err = c.Do(ctx, ch.Query{
		Body: q.SQL, Parameters: params, Result: results.Auto(),
		OnResult:   func(context.Context, proto.Block) error { return nil },
		OnProgress: func(_ context.Context, p proto.Progress) error { read += p.Rows; return nil },
	})
	return read, err
}

// times are how long something took, each time.
type times []time.Duration

// at returns a quantile in milliseconds.
func (t times) at(q float64) float64 {
	sorted := slices.Sorted(slices.Values(t))
	i := min(len(sorted)-1, int(q*float64(len(sorted))))
	return float64(sorted[i].Microseconds()) / 1000
}

// alternate does things in turns, once beforehand and then for a while, but at least
// least times, and returns how long each took each time.
func alternate(budget time.Duration, least int, do ...func() error) ([]times, error) {
	took := make([]times, len(do))
	for _, f := range do {
		if err := f(); err != nil {
			return nil, err
		}
	}
	for begun, n := time.Now(), 0; n < least || time.Since(begun) < budget; n++ {
		for k := range do {
			i := k
			if n%2 == 1 {
				i = len(do) - 1 - k
			}
			start := time.Now()
			if err := do[i](); err != nil {
				return nil, err
			}
			took[i] = append(took[i], time.Since(start))
		}
	}
	return took, nil
}
