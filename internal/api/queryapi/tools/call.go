package tools

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"github.com/millrace/millrace/internal/api/httpkit/mcp"
	"github.com/millrace/millrace/internal/api/rpc"
)

// call is a call with its arguments decoded.
type call struct {
	*mcp.Call

	ctx  context.Context //nolint:containedctx // of this call
	args map[string]any
}

// runner checks the arguments of a tool before it runs.
func runner[Out any](input *rpc.Input, run func(*call) (Out, error)) func(context.Context, *mcp.Call) (Out, error) {
	return func(ctx context.Context, c *mcp.Call) (none Out, _ error) {
		args, err := input.Check(c.Arguments)
		if err != nil {
			return none, err
		}
		return run(&call{c, ctx, args})
	}
}

// text returns an argument that is a string; empty if absent.
func (c *call) text(name string) string {
	s, _ := c.args[name].(string)
	return s
}

// post sends a body to a route of the host, and decodes the response to a success.
func (c *call) post(path string, query url.Values, body, response any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	host := c.Host
	if c.Confirmed != nil {
		host = host.With("Idempotency-Key", c.Confirmed.Key)
	}
	status, answer := host.Do(c.ctx, http.MethodPost, path, text)
	if status >= http.StatusMultipleChoices {
		return mcp.Parse(answer)
	}
	if err := json.Unmarshal(answer, response); err != nil {
		return fmt.Errorf("decoding the response of %s: %w", path, err)
	}
	return nil
}

// envelope is the response of an operation.
type envelope struct {
	Data       json.RawMessage `json:"data"`
	Pagination struct {
		NextCursor string `json:"nextCursor"`
	} `json:"pagination"`
}

// record returns what an operation finds.
func record(resource, operation string) func(*call) (mcp.Answer, error) {
	return func(c *call) (mcp.Answer, error) {
		var found envelope
		err := c.post(rpc.Path(resource, operation), nil, c.args, &found)
		return mcp.Answer{Record: found.Data}, err
	}
}

// position is where a list goes on: at a row of the page that begins at the operation's cursor.
type position struct {
	Cursor string `json:"c,omitempty"`
	Skip   int    `json:"s,omitempty"`
}

// list returns a page of an operation's list, with some members of each row.
func list(resource, operation string, members ...string) func(*call) (mcp.Answer, error) {
	return func(c *call) (mcp.Answer, error) {
		var from position
		if err := c.resume(&from); err != nil {
			return mcp.Answer{}, err
		}
		delete(c.args, argumentCursor)
		if from.Cursor != "" {
			c.args[argumentCursor] = from.Cursor
		}
		var found envelope
		if err := c.post(rpc.Path(resource, operation), nil, c.args, &found); err != nil {
			return mcp.Answer{}, err
		}
		var rows []map[string]json.RawMessage
		if err := json.Unmarshal(found.Data, &rows); err != nil {
			return mcp.Answer{}, err
		}
		rows = rows[min(from.Skip, len(rows)):]
		for _, row := range rows {
			for name := range row {
				if !slices.Contains(members, name) {
					delete(row, name)
				}
			}
		}
		return mcp.Answer{Rows: func(n int) mcp.Page {
			if n < len(rows) {
				return mcp.Page{
					Data: rows[:n], Count: n, Truncated: true, Next: token(position{from.Cursor, from.Skip + n}),
				}
			}
			p := mcp.Page{Data: rows, Count: len(rows)}
			if found.Pagination.NextCursor != "" {
				p.Next = token(position{Cursor: found.Pagination.NextCursor})
			}
			return p
		}}, nil
	}
}

const argumentCursor = "cursor"

// token encodes the position at which an answer goes on.
func token(position any) string {
	text, _ := json.Marshal(position) // of texts and numbers
	return base64.RawURLEncoding.EncodeToString(text)
}

var errCursor = &mcp.Error{
	Code: mcp.InvalidInput, Message: "cursor must be meta.nextCursor of an answer of this tool",
	Details: []mcp.Detail{{Field: argumentCursor, Message: "cursor must be meta.nextCursor of an answer of this tool"}},
}

// resume decodes the call's cursor, if it has one.
func (c *call) resume(position any) error {
	cursor := c.text(argumentCursor)
	if cursor == "" {
		return nil
	}
	text, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil || json.Unmarshal(text, position) != nil {
		return errCursor
	}
	return nil
}
