package mcp

import (
	"encoding/json"
	"net/http"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/millrace/millrace/internal/api/httpkit"
	"github.com/millrace/millrace/internal/contract/apierr"
)

// Code classifies the failure of a tool's call.
type Code string

// The codes.
const (
	InvalidInput    Code = "invalid_input"
	NotFound        Code = "not_found"
	Unauthorized    Code = "unauthorized"
	Forbidden       Code = "forbidden"
	RateLimited     Code = "rate_limited"
	Conflict        Code = "conflict"
	Unavailable     Code = "unavailable"
	UpstreamTimeout Code = "upstream_timeout"
	QueryFailed     Code = "query_failed"
	Internal        Code = "internal"
)

// Error is the failure of a tool's call, as the model sees it.
type Error struct {
	Code    Code   `json:"code"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
	// RetryAfterSeconds is how long to wait before the next attempt; 0 for none.
	RetryAfterSeconds int `json:"retryAfterSeconds,omitempty"`
	// Allowed are the values that would be accepted.
	Allowed []string `json:"allowed,omitempty"`
	// Details are all problems of the arguments.
	Details []Detail `json:"details,omitempty"`
}

// Detail is one problem of the arguments.
type Detail struct {
	// Index is the position of the event that has the problem; nil outside the ingestion host.
	Index      *int   `json:"index,omitempty"`
	Field      string `json:"field"`
	Message    string `json:"message"`
	Suggestion string `json:"suggestion,omitempty"`
}

// Error implements error.
func (e *Error) Error() string { return string(e.Code) + ": " + e.Message }

// codes are the tools' codes by the status of the host's errors.
var codes = map[int]Code{
	http.StatusUnauthorized:        Unauthorized,
	http.StatusPaymentRequired:     RateLimited,
	http.StatusForbidden:           Forbidden,
	http.StatusNotFound:            NotFound,
	http.StatusConflict:            Conflict,
	http.StatusTooManyRequests:     RateLimited,
	http.StatusServiceUnavailable:  Unavailable,
	http.StatusGatewayTimeout:      UpstreamTimeout,
	http.StatusInternalServerError: Internal,
}

// From returns an error of the host as the model sees it.
func From(err *apierr.Error) *Error {
	row := httpkit.RowOf(err.Code)
	e := &Error{Code: codes[row.Status], Message: err.Message}
	switch {
	case err.Code == apierr.DeadlineExceeded:
		e.Code = UpstreamTimeout
	case e.Code == "":
		e.Code = InvalidInput
	case e.Code == Internal:
		e.Message = ""
	}
	if e.Message == "" {
		e.Message = row.Message
	}
	after := err.RetryAfter
	if after <= 0 {
		after = row.RetryAfter
	}
	e.RetryAfterSeconds = int((after + time.Second - 1) / time.Second)
	for _, d := range err.Details {
		e.Details = append(e.Details, Detail{Field: d.Field, Message: d.Message, Suggestion: d.Suggestion})
	}
	return e
}

// Parse returns the error in the body of a response of the host.
func Parse(response []byte) *Error {
	var b struct {
		Error      string      `json:"error"`
		Code       apierr.Code `json:"code"`
		RetryAfter int         `json:"retryAfter"`
		Details    []Detail    `json:"details"`
		Errors     []Detail    `json:"errors"` // of the ingestion host
	}
	if err := json.Unmarshal(response, &b); err != nil || b.Code == "" {
		return &Error{Code: Internal, Message: httpkit.RowOf(apierr.Internal).Message}
	}
	e := From(&apierr.Error{Code: b.Code, Message: b.Error, RetryAfter: time.Duration(b.RetryAfter) * time.Second})
	e.Details = slices.Concat(b.Details, b.Errors)
	return e
}

// result is the error as the result of a call. It has no structured content, which would have to
// match the schema of a success.
func (e *Error) result() *mcp.CallToolResult {
	text, _ := json.Marshal(map[string]*Error{"error": e}) // of texts and numbers
	return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: string(text)}}}
}
