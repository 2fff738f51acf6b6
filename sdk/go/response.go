package millrace

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// response is what the host said to a request.
type response struct {
	Result
	// named are the events of the request that the host found fault with, by their
	// index, with what it said about them.
	named map[int]string
}

// maxResponseBytes bounds how much of a response is read.
const maxResponseBytes = 256 << 10

// maxWait bounds how long a Retry-After is honoured: beyond it a clock is wrong.
const maxWait = time.Hour

// said is the body of a response, of a success and of a rejection. Where zero and absent
// differ the type is open, for a pointer is set even when a value does not fit.
type said struct {
	Status     string  `json:"status"`
	Error      string  `json:"error"`
	Message    string  `json:"message"`
	Code       string  `json:"code"`
	Why        string  `json:"why"`
	Fix        string  `json:"fix"`
	RequestID  string  `json:"requestId"`
	Retryable  any     `json:"retryable"`
	RetryAfter float64 `json:"retryAfter"`
	Errors     []struct {
		Index   any    `json:"index"`
		Field   string `json:"field"`
		Message string `json:"message"`
	} `json:"errors"`
}

// readResponse makes a Result of a response. Everything in it may be missing, false or
// meant for somebody else.
func readResponse(status int, header http.Header, body []byte, now time.Time) response {
	var s said
	// A member of another type than expected is left out, and the others stand.
	isJSON := json.Unmarshal(body, &s) == nil || json.Valid(body)
	a := response{Result: Result{StatusCode: status, RequestID: header.Get("X-Request-Id")}}
	if a.RequestID == "" {
		a.RequestID = s.RequestID
	}
	ok := status >= 200 && status < 300
	switch {
	case status == http.StatusNoContent, ok && s.Status == "success":
		a.Success, a.Delivery = true, Delivered
		return a
	case ok && (!isJSON || s.Code == "" && s.Status == ""):
		a.Code, a.Error, a.Retryable = CodeInvalidResponse, "the answer is not that of an ingestion host", true
	default:
		a.reject(status, header, &s)
	}
	a.wait = waitOf(header.Get("Retry-After"), s.RetryAfter, now)
	a.Result = a.explained()
	a.name(&s)
	return a
}

// reject fills in what the host, or something before it, says about a rejection.
func (a *response) reject(status int, header http.Header, s *said) {
	a.Code, a.Why, a.Fix = s.Code, s.Why, s.Fix
	a.Error = s.Error
	if a.Error == "" {
		a.Error = s.Message
	}
	if a.Code == "" {
		a.Code = CodeHTTP
	}
	if a.Error == "" {
		a.Error = strings.TrimSpace(fmt.Sprintf("HTTP %d %s", status, http.StatusText(status)))
	}
	a.Retryable = retryable(status)
	if said, ok := s.Retryable.(bool); ok {
		a.Retryable = said
	}
	if status >= 300 && status < 400 && a.Fix == "" {
		a.Why = "The address of the host leads elsewhere, and what is posted is not sent on."
		a.Fix = "Set the API URL to the address that it leads to: " + header.Get("Location")
	}
}

// name notes the events that a rejection names. What it says of no event of a batch, such
// as of the only one, becomes part of the error.
func (a *response) name(s *said) {
	var ofAll []string
	for _, e := range s.Errors {
		text := e.Message
		if text == "" {
			text = e.Field
		}
		n, ok := e.Index.(float64)
		switch {
		case !ok:
			if text != "" {
				ofAll = append(ofAll, text)
			}
			continue
		case n < 0 || n >= MaxBatchSize:
			continue
		}
		i := int(n)
		if a.named == nil {
			a.named = map[int]string{}
		}
		if before := a.named[i]; before != "" {
			text = before + "; " + text
		}
		a.named[i] = text
	}
	if len(ofAll) > 0 {
		a.Error += ": " + strings.Join(ofAll, "; ")
	}
}

// waitOf returns how long the host wants to be left alone: what Retry-After says, in
// seconds or as a date, else the body.
func waitOf(header string, body float64, now time.Time) time.Duration {
	wait := time.Duration(min(max(body, 0), maxWait.Seconds()) * float64(time.Second))
	if seconds, err := strconv.ParseInt(strings.TrimSpace(header), 10, 64); err == nil {
		wait = time.Duration(min(max(seconds, 0), int64(maxWait/time.Second))) * time.Second
	} else if at, err := http.ParseTime(header); err == nil {
		wait = at.Sub(now)
	}
	return min(max(wait, 0), maxWait)
}
