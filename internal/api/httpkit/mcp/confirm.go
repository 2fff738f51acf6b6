package mcp

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/millrace/millrace/internal/contract/apierr"
)

// ConfirmFor is how long a change can be confirmed after its preview.
const ConfirmFor = 10 * time.Minute

// ConfirmToken is the argument that confirms a change.
const ConfirmToken = "confirmToken"

// Plan is a change before it is made.
type Plan struct {
	// Operation makes the change to this version of the record.
	Operation string
	Version   int64
	// Question asks the user for consent, in a sentence.
	Question string
	// Record is what the change is about, as an object, and Changes are the fields that change.
	Record  any
	Changes []Change
}

// Change is one field of a record that changes.
type Change struct {
	Field string          `json:"field"`
	From  json.RawMessage `json:"from,omitempty"`
	To    json.RawMessage `json:"to"`
}

// Confirmed is a change that the user confirmed.
type Confirmed struct {
	Operation string `json:"o"`
	Version   int64  `json:"v"`
	// Expires is the Unix time at which the confirmation ends, in seconds.
	Expires int64 `json:"e"`
	// Key is the same for each call with the confirmation: an Idempotency-Key.
	Key string `json:"-"`
}

// confirm prepares a call of a tool with a Plan. A first call gets a result that describes its change.
// A call that confirms a change gets no result, and c.Confirmed is set.
func (e *Endpoint) confirm(
	ctx context.Context, t *Tool, c *Call, req *mcp.CallToolRequest,
) (*mcp.CallToolResult, error) {
	token, err := c.takeToken()
	if err != nil {
		return nil, err
	}
	if state := req.Params.RequestState; state != "" {
		if answer, ok := req.Params.InputResponses[inputConfirm].(*mcp.ElicitResult); !ok || answer.Action != "accept" {
			return declined()
		}
		token = state
	}
	if token != "" {
		c.Confirmed, err = e.confirmed(ctx, t, c, token)
		return nil, err
	}
	plan, err := t.Plan(ctx, c)
	if plan == nil || err != nil {
		return nil, err
	}
	expires := e.deps.Now().Add(ConfirmFor)
	token, err = e.issue(ctx, t, c, &Confirmed{plan.Operation, plan.Version, expires.Unix(), ""})
	if err != nil {
		return nil, err
	}
	if elicits(req) {
		return plan.ask(token), nil
	}
	return plan.preview(token, expires)
}

// takeToken removes the argument confirmToken and returns it; empty if absent.
func (c *Call) takeToken() (token string, err error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(c.Arguments, &members); err != nil {
		return "", fmt.Errorf("decoding the arguments of a tool: %w", err)
	}
	text, ok := members[ConfirmToken]
	if !ok {
		return "", nil
	}
	if json.Unmarshal(text, &token) != nil || token == "" {
		return "", invalidToken("confirmToken must be the confirmToken of a preview")
	}
	delete(members, ConfirmToken)
	c.Arguments, err = json.Marshal(members)
	return token, err
}

func invalidToken(message string) error {
	return &Error{
		Code: InvalidInput, Message: message, Hint: "Repeat the call without confirmToken to get a new preview.",
		Details: []Detail{{Field: ConfirmToken, Message: message}},
	}
}

var tokenText = base64.RawURLEncoding

// issue returns the token that confirms a change: its signature and itself.
func (e *Endpoint) issue(ctx context.Context, t *Tool, c *Call, change *Confirmed) (string, error) {
	text, err := json.Marshal(change)
	if err != nil {
		return "", err
	}
	mac, err := e.sign(ctx, t, c, text)
	return tokenText.EncodeToString(append(mac, text...)), err
}

// confirmed returns the change that a token confirms.
func (e *Endpoint) confirmed(ctx context.Context, t *Tool, c *Call, token string) (*Confirmed, error) {
	const foreign = "confirmToken must come from a preview of the same tool, with the same arguments and API key"
	raw, err := tokenText.DecodeString(token)
	if err != nil || len(raw) < sha256.Size {
		return nil, invalidToken(foreign)
	}
	mac, err := e.sign(ctx, t, c, raw[sha256.Size:])
	if err != nil {
		return nil, err
	}
	var change Confirmed
	if !hmac.Equal(mac, raw[:sha256.Size]) || json.Unmarshal(raw[sha256.Size:], &change) != nil {
		return nil, invalidToken(foreign)
	}
	if !e.deps.Now().Before(time.Unix(change.Expires, 0)) {
		return nil, invalidToken(fmt.Sprintf("confirmToken has expired; it is valid for %d minutes", ConfirmFor/time.Minute))
	}
	key := sha256.Sum256(raw)
	change.Key = "mcp-" + tokenText.EncodeToString(key[:])
	return &change, nil
}

// sign returns the HMAC-SHA256 of a change with its tool, caller and arguments, each after its length.
func (e *Endpoint) sign(ctx context.Context, t *Tool, c *Call, change []byte) ([]byte, error) {
	secret, err := e.deps.Secret(ctx)
	if err != nil {
		return nil, apierr.Wrap(apierr.ServiceUnavailable, err)
	}
	arguments, err := canonical(c.Arguments)
	if err != nil {
		return nil, err
	}
	mac := hmac.New(sha256.New, secret)
	for _, part := range [][]byte{[]byte(t.Name), []byte(c.Principal.KeyID), arguments, change} {
		mac.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
		mac.Write(part)
	}
	return mac.Sum(nil), nil
}

// canonical returns JSON without white space and with sorted names.
func canonical(text json.RawMessage) ([]byte, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var value any
	if err := d.Decode(&value); err != nil {
		return nil, fmt.Errorf("decoding the arguments of a tool: %w", err)
	}
	return json.Marshal(value)
}

// preview is the answer to a first call.
func (p *Plan) preview(token string, expires time.Time) (*mcp.CallToolResult, error) {
	type preview struct {
		Question string   `json:"question"`
		Record   any      `json:"record"`
		Changes  []Change `json:"changes,omitempty"`
	}
	shown := make([]Change, len(p.Changes))
	for i, c := range p.Changes {
		shown[i] = Change{c.Field, short(c.From), short(c.To)}
	}
	record, err := json.Marshal(map[string]any{
		"preview": preview{p.Question, p.Record, shown}, ConfirmToken: token,
		"expiresAt": expires.UTC().Format(time.RFC3339),
	})
	if err != nil {
		return nil, err
	}
	answer := Answer{Record: record, Hints: []string{
		"Nothing has changed yet. Show the preview to the user. If they agree, repeat the call with the same arguments and " +
			"confirmToken.",
	}}
	return answer.result()
}

// short returns a value for a preview: itself, or its size if it is long.
func short(value json.RawMessage) json.RawMessage {
	const most = 1 << 10
	if len(value) <= most {
		return value
	}
	return json.RawMessage(fmt.Sprintf(`"(%d bytes)"`, len(value)))
}

// inputConfirm is the id of the form that asks for a confirmation.
const inputConfirm = "confirm"

// elicits reports whether the client can show a form and then repeat the call, as of revision
// 2026-07-28.
func elicits(req *mcp.CallToolRequest) bool {
	if req.ProtocolVersion() < revision2026 {
		return false
	}
	c := req.ClientCapabilities()
	return c != nil && c.Elicitation != nil && (c.Elicitation.Form != nil || c.Elicitation.URL == nil)
}

// ask has the client show a form without fields, which the user accepts or declines.
func (p *Plan) ask(token string) *mcp.CallToolResult {
	const most = 200 // characters of a value
	message := []string{p.Question}
	for _, c := range p.Changes {
		line := fmt.Sprintf("%s: %.*s", c.Field, most, c.To)
		if c.From != nil {
			line += fmt.Sprintf(" (now %.*s)", most, c.From)
		}
		message = append(message, line)
	}
	return &mcp.CallToolResult{
		RequestState: token,
		InputRequests: mcp.InputRequestMap{inputConfirm: &mcp.ElicitParams{
			Mode: "form", Message: strings.Join(message, "\n"),
			RequestedSchema: json.RawMessage(`{"type":"object","properties":{}}`),
		}},
	}
}

// declined is the answer to a call whose change the user did not accept.
func declined() (*mcp.CallToolResult, error) {
	answer := Answer{
		Record: json.RawMessage(`{"confirmed":false}`), Hints: []string{"The user declined. Nothing has changed."},
	}
	return answer.result()
}
