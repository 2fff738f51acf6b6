package mcp

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/gofiber/fiber/v2"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// The parts of the protocol that the package itself acts on.
const (
	methodCall    = "tools/call"
	methodListen  = "subscriptions/listen"
	notifications = "notifications/"

	headerVersion = "Mcp-Protocol-Version"
	// revision2026 is the first revision whose responses to unknown methods have the status 404.
	revision2026 = "2026-07-28"
)

// declared are the methods of the capabilities that an endpoint declares. The SDK also answers those
// of other capabilities.
var declared = []string{
	"initialize", "ping", "resources/list", "resources/read", "resources/templates/list", "server/discover",
	methodListen, methodCall, "tools/list",
}

// message is a JSON-RPC message, as far as the SDK does not read it.
type message struct {
	ID     json.RawMessage
	Method string
}

// parse reads a body, which is one message.
func parse(body []byte) (m message, failed *rpcError) {
	if body = bytes.TrimSpace(body); !json.Valid(body) {
		return m, &rpcError{http.StatusBadRequest, nil, jsonrpc.CodeParseError, "The body must be valid JSON"}
	}
	if body[0] != '{' {
		return m, &rpcError{
			http.StatusBadRequest, nil, jsonrpc.CodeInvalidRequest, "The body must be one JSON-RPC message, an object",
		}
	}
	var members map[string]json.RawMessage // a struct would take Method for method, which the SDK does not
	err := json.Unmarshal(body, &members)
	m.ID = members["id"]
	if method, ok := members["method"]; ok && err == nil {
		err = json.Unmarshal(method, &m.Method)
	}
	if err != nil {
		return m, &rpcError{http.StatusBadRequest, m.id(), jsonrpc.CodeInvalidRequest, "method must be a string"}
	}
	return m, nil
}

// id returns the id of a request for its response; nil for none, and for one that is no string or
// number.
func (m *message) id() json.RawMessage {
	if len(m.ID) == 0 || m.ID[0] == '{' || m.ID[0] == '[' {
		return nil
	}
	return m.ID
}

// undeclared is the response to a request of a method that the endpoint does not declare.
func (m *message) undeclared(version string) *rpcError {
	if m.id() == nil || m.Method == "" || strings.HasPrefix(m.Method, notifications) ||
		slices.Contains(declared, m.Method) {
		return nil
	}
	status := http.StatusOK
	if version >= revision2026 {
		status = http.StatusNotFound
	}
	return &rpcError{status, m.ID, jsonrpc.CodeMethodNotFound, "Method not found"}
}

// rpcError is a response that reports an error of the protocol.
type rpcError struct {
	status  int
	id      json.RawMessage // nil for null
	code    int64
	message string
}

// send writes the response.
func (e *rpcError) send(c *fiber.Ctx) error {
	text, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "id": e.id, "error": map[string]any{"code": e.code, "message": e.message},
	})
	if err != nil {
		return err
	}
	c.Status(e.status)
	c.Context().Response.Header.SetContentType(fiber.MIMEApplicationJSON)
	c.Context().Response.SetBodyRaw(text)
	return nil
}
