package mcp

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/millrace/millrace/internal/api/httpkit"
	"github.com/millrace/millrace/internal/tenant/auth"
	"github.com/millrace/millrace/internal/tenant/ratelimit"
)

// MaxTools is the most tools of a host. Clients put the definition of each into the model's context.
const MaxTools = 40

// Tool is one row of a host's table.
type Tool struct {
	Name, Title, Description string
	// Class is the limit that the tool's calls share; ratelimit.MCP for none besides that of all messages
	// and that of the route that the tool calls.
	Class ratelimit.Family
	// Scopes are those of which a key needs one.
	Scopes []auth.Scope
	// Global hides the tool from keys of a single website.
	Global bool
	// Input is the JSON schema of the arguments: an object without other members.
	Input json.RawMessage
	// List is set where data is an array.
	List bool
	// Writes is set where a call may change something. Destructive, Idempotent and Open are
	// annotations of the protocol: a call may overwrite or delete, repeating it changes nothing more,
	// and it reaches beyond this installation.
	Writes, Destructive, Idempotent, Open bool
	// Preview describes the change that a call would make, for its confirmation. It returns nil for a
	// change that needs none. The field is nil for tools whose calls are never confirmed. The others take
	// the argument confirmToken, which neither Preview nor Run gets.
	Preview func(ctx context.Context, call *Call) (*Preview, error)
	// Run answers a call whose caller is admitted and counted. An error that is no *Error and no
	// *apierr.Error is reported as internal.
	Run func(ctx context.Context, call *Call) (Answer, error)
}

// Call is one call of a tool.
type Call struct {
	Caller
	// Arguments is a JSON object as it was sent; it may have unknown members.
	Arguments json.RawMessage
	// Confirmed is the change that the user confirmed; nil for a change that needs no confirmation.
	Confirmed *Confirmed
}

// Caller sent a request to the endpoint.
type Caller struct {
	Principal auth.Principal
	// Host makes requests to the host in the caller's name.
	Host *httpkit.Inner
}

// open reports whether a principal may call the tool.
func (t *Tool) open(p auth.Principal) bool {
	return slices.ContainsFunc(t.Scopes, p.Has) && (p.Global() || !t.Global)
}

// forbidden is the error of a call of a tool that is not open to its caller.
func (t *Tool) forbidden(p auth.Principal) *Error {
	if slices.ContainsFunc(t.Scopes, p.Has) {
		return &Error{Code: Forbidden, Message: t.Name + " requires a key that is not limited to one website"}
	}
	e := &Error{Code: Forbidden, Message: t.Name + " requires the scope " + string(t.Scopes[0])}
	for _, s := range t.Scopes {
		e.Allowed = append(e.Allowed, string(s))
	}
	if len(t.Scopes) > 1 {
		e.Message = t.Name + " requires one of the scopes in allowed"
	}
	return e
}

// Schemas of the results. A model reads the rows themselves; describing each of their members would
// cost more of its context than it helps.
var (
	listResult   = resultOf(`{"type":"array","items":{"type":"object"}}`)
	recordResult = resultOf(`{"type":"object"}`)
)

func resultOf(data string) json.RawMessage {
	return json.RawMessage(`{"type":"object","required":["data","meta"],"properties":{"data":` + data +
		`,"meta":{"type":"object"}}}`)
}

// Definition is the tool as tools/list shows it.
func (t *Tool) Definition() *mcp.Tool {
	output := recordResult
	if t.List {
		output = listResult
	}
	return &mcp.Tool{
		Name: t.Name, Title: t.Title, Description: t.Description, InputSchema: t.Input, OutputSchema: output,
		Annotations: &mcp.ToolAnnotations{
			ReadOnlyHint: !t.Writes, DestructiveHint: new(t.Destructive), IdempotentHint: t.Idempotent || !t.Writes,
			OpenWorldHint: new(t.Open),
		},
	}
}
