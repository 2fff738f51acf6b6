package millrace

import (
	"errors"
	"fmt"
	"net/http"
	"time"
)

// Delivery says where an event is.
type Delivery string

// The deliveries. A Result that has none stands for an event that the client does
// not hold and the host has not taken.
const (
	// Delivered events are stored.
	Delivered Delivery = "delivered"
	// Queued events are held by the client, which goes on sending them.
	Queued Delivery = "queued"
	// Skipped events were dropped by middleware, or because one of the same website
	// with the same id is queued or was delivered.
	Skipped Delivery = "skipped"
)

// The codes of what the client finds out by itself. All others are the host's.
const (
	// CodeNetwork: no response arrived. Whether the events are stored is not known.
	CodeNetwork = "NETWORK_ERROR"
	// CodeValidation: the event breaks a rule; the host uses the same code.
	CodeValidation = "VALIDATION_ERROR"
	// CodeQueueFull: the queue has no room for another event.
	CodeQueueFull = "QUEUE_FULL"
	// CodeCanceled: the caller's context ended first.
	CodeCanceled = "CANCELED"
	// CodeClosed: the client was closed.
	CodeClosed = "CLIENT_CLOSED"
	// CodeInvalidResponse: the response is none of the ingestion host.
	CodeInvalidResponse = "INVALID_RESPONSE"
	// CodeHTTP: a rejection without a code, as proxies send it.
	CodeHTTP = "HTTP_ERROR"
)

// Result says what became of an event.
type Result struct {
	// Success is true for an event that is delivered, queued or skipped.
	Success bool `json:"success"`
	// EventID is the event's id, also one that the client made up. Sending the event
	// again with it can never count twice.
	EventID string `json:"eventId,omitempty"`
	// Error is a sentence for people; programs go by Code. A queued event has both
	// when it has been tried before.
	Error    string   `json:"error,omitempty"`
	Delivery Delivery `json:"delivery,omitempty"`
	Code     string   `json:"code,omitempty"`
	// Why says what led to it, and Fix what to do about it.
	Why string `json:"why,omitempty"`
	Fix string `json:"fix,omitempty"`
	// RequestID is what the host calls the request, in its log too.
	RequestID string `json:"requestId,omitempty"`
	// Retryable says that the same call may succeed later.
	Retryable bool `json:"retryable,omitempty"`
	// StatusCode is the response's HTTP status, 0 when there was none.
	StatusCode int `json:"statusCode,omitempty"`

	cause error
	wait  time.Duration // that the host asked for
}

// Err returns nil for a success and else an *Error.
func (r Result) Err() error {
	if r.Success {
		return nil
	}
	return &Error{Result: r}
}

// Error is a Result as an error.
type Error struct{ Result Result }

// Error returns the code and the sentence.
func (e *Error) Error() string {
	return fmt.Sprintf("millrace: %s: %s", e.Result.Code, e.Result.Error)
}

// Unwrap returns what the network or the context said, if it was they.
func (e *Error) Unwrap() error { return e.Result.cause }

// BatchResult says what became of several events. The Result in it is that of all:
// a success, or the first failure. Where events are left in the queue, its Delivery
// is Queued.
type BatchResult struct {
	Result
	// Processed events were delivered, Failed ones rejected for good, and Pending ones
	// are still queued.
	Processed int `json:"processed"`
	Failed    int `json:"failed"`
	Pending   int `json:"pending"`
	// Results has, after Batch, one for each event in the order of the call, and
	// after Flush and Close one for each event that was delivered or rejected.
	Results []Result `json:"results"`
}

// explanation is what the client says when the host does not.
type explanation struct{ why, fix string }

var explanations = map[string]explanation{
	CodeNetwork: {
		"No answer arrived, so it is not known whether the events are stored.",
		"Send them again with the same ids; check the address of the host and the network.",
	},
	CodeValidation: {"The call breaks a rule of what the host accepts.", "Correct what the error names."},
	CodeQueueFull: {
		"As many events are waiting to be sent as the queue may hold.",
		"Track again later, call Flush, or allow a longer queue.",
	},
	CodeCanceled: {
		"The context of the call ended before the host had answered.",
		"Give the call more time, or send again with the same ids.",
	},
	CodeClosed: {"The client was closed, and sends nothing any more.", "Close the client only after the last event."},
	CodeInvalidResponse: {
		"What answered is not an ingestion host, or something between has changed its answer.",
		"Check the address of the host.",
	},
	CodeHTTP: {
		"The request was refused without saying why, as a proxy does.",
		"Check the address of the host and what stands in front of it.",
	},
	"AUTH_REQUIRED": {
		"The API key is malformed, unknown, expired, revoked or rotated away.", "Use a valid API key.",
	},
	"FORBIDDEN":         {"The API key lacks the scope track:events.", "Use a key with the required scope."},
	"ACCESS_DENIED":     {"The API key does not cover the website.", "Use a key that covers the website."},
	"WEBSITE_NOT_FOUND": {"No website of the key's organization has this id.", "Check the website id."},
	"WEBSITE_MISSING_ORGANIZATION": {
		"The website belongs to no organization.", "Ask an owner of the website to move it to one.",
	},
	"QUOTA_EXCEEDED": {
		"The organization's events of this month are used up.", "Ask an owner of the organization for a larger quota.",
	},
	"PAYLOAD_TOO_LARGE": {
		"The request or the properties of an event are larger than the host accepts.", "Send smaller properties.",
	},
	"RATE_LIMITED": {
		"More requests were sent than the limit allows.", "Send more events in one request, and fewer requests.",
	},
}

// explained returns the result with why and fix, where nobody has said them yet.
func (r Result) explained() Result {
	e, known := explanations[r.Code]
	switch {
	case known:
	case r.Retryable:
		e = explanation{"The host cannot take the events now.", "Send them again later, with the same ids."}
	default:
		e = explanation{"The host does not take the call as it is.", "Look the code up in the host's reference of errors."}
	}
	if r.Why == "" {
		r.Why = e.why
	}
	if r.Fix == "" {
		r.Fix = e.fix
	}
	return r
}

// rejected returns the failure of something that cannot succeed as it is.
func rejected(code, message string) Result {
	return Result{Code: code, Error: message}.explained()
}

// unreachable returns the failure of a request without a response.
func unreachable(err error) Result {
	return Result{Code: CodeNetwork, Error: err.Error(), Retryable: true, cause: err}.explained()
}

// canceled returns the failure of a call whose context has ended.
func canceled(err error) Result {
	return Result{Code: CodeCanceled, Error: err.Error(), Retryable: true, cause: err}.explained()
}

// of returns the result as that of one event.
func (r Result) of(id string) Result {
	r.EventID = id
	return r
}

// stillQueued returns the result of an event that could not be sent yet.
func (r Result) stillQueued() Result {
	r.Success, r.Delivery = true, Queued
	return r
}

// retryable reports whether a status may be another one later.
func retryable(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return true
	}
	return status >= http.StatusInternalServerError
}

var errTimeout = errors.New("the request took longer than the request timeout")
