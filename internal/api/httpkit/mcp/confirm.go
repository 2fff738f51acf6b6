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
	"log/slog"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/millrace/millrace/internal/contract/apierr"
)

// ConfirmFor is how long a change can be confirmed after its preview.
const ConfirmFor = 10 * time.Minute

// ConfirmToken is the argument that confirms a change.
const ConfirmToken = "confirmToken"

// Preview describes a change before it is made.
type Preview struct {
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
	// Form is set if a form asked the user.
	Form bool `json:"f,omitempty"`
	// Key is the same for each call with the confirmation: an Idempotency-Key.
	Key string `json:"-"`
}

// confirm prepares a call of a tool with a Preview. A first call gets a result that describes its
// change. A call that confirms a change gets no result, and c.Confirmed is set.
func (e *Endpoint) confirm(
	ctx context.Context, t *Tool, c *Call, req *mcp.CallToolRequest,
) (*mcp.CallToolResult, error) {
	token, err := c.takeToken()
	if err != nil {
		return nil, err
	}
	if state := req.Params.RequestState; state != "" {
		answer, ok := req.Params.InputResponses[inputConfirm].(*mcp.ElicitResult)
		switch {
		case !ok:
			return nil, invalidToken("inputResponses", "inputResponses must have the user's response to confirm")
		case answer.Action != "accept":
			return declined()
		}
		c.Confirmed, err = e.confirmed(ctx, t, c, state, "requestState")
		return nil, err
	}
	if token != "" {
		c.Confirmed, err = e.confirmed(ctx, t, c, token, ConfirmToken)
		return nil, err
	}
	preview, err := t.Preview(ctx, c)
	if preview == nil || err != nil {
		return nil, err
	}
	expires, form := e.deps.Now().Add(ConfirmFor), elicits(req)
	token, err = e.issue(ctx, t, c, &Confirmed{preview.Operation, preview.Version, expires.Unix(), form, ""})
	if err != nil {
		return nil, err
	}
	if form {
		return preview.ask(token), nil
	}
	return preview.result(token, expires)
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
		return "", invalidToken(ConfirmToken, "confirmToken must be the confirmToken of a preview")
	}
	delete(members, ConfirmToken)
	c.Arguments, err = json.Marshal(members)
	return token, err
}

func invalidToken(field, message string) error {
	return &Error{
		Code: InvalidInput, Message: message, Hint: "Repeat the call without " + field + " to get a new preview.",
		Details: []Detail{{Field: field, Message: message}},
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

// confirmed returns the change that a token confirms. field is where the client sent it.
func (e *Endpoint) confirmed(ctx context.Context, t *Tool, c *Call, token, field string) (*Confirmed, error) {
	foreign := field + " must come from a preview of the same tool, with the same arguments and API key"
	raw, err := tokenText.DecodeString(token)
	if err != nil || len(raw) < sha256.Size {
		return nil, invalidToken(field, foreign)
	}
	mac, err := e.sign(ctx, t, c, raw[sha256.Size:])
	if err != nil {
		return nil, err
	}
	var change Confirmed
	if !hmac.Equal(mac, raw[:sha256.Size]) || json.Unmarshal(raw[sha256.Size:], &change) != nil ||
		change.Form != (field != ConfirmToken) {
		return nil, invalidToken(field, foreign)
	}
	if !e.deps.Now().Before(time.Unix(change.Expires, 0)) {
		return nil, invalidToken(field,
			fmt.Sprintf("%s has expired; it is valid for %d minutes", field, ConfirmFor/time.Minute))
	}
	key := sha256.Sum256(raw)
	change.Key = "mcp-" + tokenText.EncodeToString(key[:])
	return &change, nil
}

// sign returns the HMAC-SHA256 of a change with its tool, caller and arguments, each after its length.
func (e *Endpoint) sign(ctx context.Context, t *Tool, c *Call, change []byte) ([]byte, error) {
	secret, err := e.deps.Secret(ctx)
	if err != nil {
		e.deps.Log.LogAttrs(ctx, slog.LevelWarn, "key of MCP confirmations not read", slog.Any("error", err))
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

// result is the result of a first call.
func (p *Preview) result(token string, expires time.Time) (*mcp.CallToolResult, error) {
	const most = 1000 // characters of a value
	type preview struct {
		Question string   `json:"question"`
		Record   any      `json:"record"`
		Changes  []Change `json:"changes,omitempty"`
	}
	shown := make([]Change, len(p.Changes))
	for i, c := range p.Changes {
		shown[i] = Change{c.Field, short(c.From, most), short(c.To, most)}
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

// short returns a value, or a text with its beginning and its end if it is long.
func short(value json.RawMessage, most int) json.RawMessage {
	if len(value) <= most {
		return value
	}
	text, _ := json.Marshal(clip(string(value), most)) // of a text
	return text
}

// clip returns a text of at most so many characters, or its beginning and its end with the length of
// what is left out.
func clip(text string, most int) string {
	all := []rune(text)
	if len(all) <= most {
		return text
	}
	head, tail := all[:most*2/3], all[len(all)-most/3:]
	return fmt.Sprintf("%s … %d characters … %s", string(head), len(all)-len(head)-len(tail), string(tail))
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
func (p *Preview) ask(token string) *mcp.CallToolResult {
	message := []string{p.Question, "Record: " + readable(p.Record)}
	for _, c := range p.Changes {
		line := c.Field + ": " + readable(c.To)
		if c.From != nil {
			line += " (now " + readable(c.From) + ")"
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

// readable returns a value as JSON, with characters of HTML as they are.
func readable(value any) string {
	const most = 300 // characters
	var text strings.Builder
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	if raw, ok := value.(json.RawMessage); ok { // may have escapes
		_ = json.Unmarshal(raw, &value) // it is JSON
	}
	_ = e.Encode(value) // what came from JSON
	return clip(strings.TrimSpace(text.String()), most)
}

// declined is the answer to a call whose change the user did not accept.
func declined() (*mcp.CallToolResult, error) {
	answer := Answer{
		Record: json.RawMessage(`{"confirmed":false}`), Hints: []string{"The user declined. Nothing has changed."},
	}
	return answer.result()
}
