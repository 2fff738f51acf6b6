package httpkit

import (
	"net/http"
	"time"

	"github.com/millrace/millrace/internal/contract/apierr"
)

// Row says how one code looks on the wire.
type Row struct {
	Code   apierr.Code
	Status int
	// Message is the standard message of the query host, and of the ingestion
	// host where Ingestion is empty.
	Message string
	// Ingestion is the standard message of the ingestion host where it differs.
	Ingestion string
	// Fix tells the caller what to do; empty where only the operator can act.
	Fix string
	// RetryAfter is the Retry-After of an error that names none itself.
	RetryAfter time.Duration
	// Meaning is a sentence for the reference.
	Meaning string
}

// Retryable reports whether the same request may succeed later.
func (r Row) Retryable() bool { return retryable(r.Status) }

// message returns the standard message of a host.
func (r Row) message(h Host) string {
	if h == Ingestion && r.Ingestion != "" {
		return r.Ingestion
	}
	return r.Message
}

func retryable(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return true
	}
	return status >= http.StatusInternalServerError
}

// Codes is the table of every code of both hosts, in the order of package
// apierr. The documentation of errors is generated from it.
var Codes = []Row{
	{
		Code: apierr.Validation, Status: 400, Message: "Invalid request body",
		Meaning: "The request breaks a rule; the list of problems names each field.",
	},
	{
		Code: apierr.WebsiteMissingOrganization, Status: 400, Message: "Website missing organization",
		Fix:     "Ask an owner of the website to move it to an organization.",
		Meaning: "The website belongs to no organization, so nothing can be stored for it.",
	},
	{
		Code: apierr.AuthRequired, Status: 401, Message: "Authentication required",
		Ingestion: "API key or website_id required",
		Fix:       "Send a valid key in x-api-key or as a Bearer token.",
		Meaning:   "No credential was sent, or the one sent is malformed, unknown, expired, revoked or rotated away.",
	},
	{
		Code: apierr.QuotaExceeded, Status: 402, Message: "Event quota exceeded",
		Meaning: "The organization's plan takes no more events in this period.",
	},
	{
		Code: apierr.Forbidden, Status: 403, Message: "Insufficient permissions",
		Ingestion: "API key missing track:events scope",
		Fix:       "Use a key that holds the scope.",
		Meaning:   "The credential is good and lacks the scope that the call needs.",
	},
	{
		Code: apierr.AccessDenied, Status: 403, Message: "Access denied",
		Fix:     "Use a credential that covers this website.",
		Meaning: "The credential is good and does not reach this resource.",
	},
	{
		Code: apierr.OriginNotAuthorized, Status: 403, Message: "Origin not authorized",
		Fix:     "Add the origin to the website's allowed origins.",
		Meaning: "The website does not accept events from this origin.",
	},
	{
		Code: apierr.IPNotAuthorized, Status: 403, Message: "IP address not authorized",
		Fix:     "Add the address to the allowed addresses of the website, or of the API key.",
		Meaning: "The website does not accept events, or the API key no calls, from this address.",
	},
	{
		Code: apierr.WebsiteNotFound, Status: 404, Message: "Website not found",
		Meaning: "No website has this id, or it belongs to another organization.",
	},
	{
		Code: apierr.PayloadTooLarge, Status: 413, Message: "Payload too large",
		Fix:     "Send fewer events at once or smaller properties.",
		Meaning: "The body, compressed or not, or an event's properties exceed the limit.",
	},
	{
		Code: apierr.RateLimited, Status: 429, Message: "Rate limit exceeded", RetryAfter: time.Second,
		Meaning: "More requests than the limit allows.",
	},
	{
		Code: apierr.Internal, Status: 500, Message: "Internal server error",
		Meaning: "A fault of the server; its log knows more under the request id.",
	},
	{
		Code: apierr.BillingUnavailable, Status: 503, Message: "Billing check unavailable", RetryAfter: 5 * time.Second,
		Meaning: "Whether the plan takes more events could not be found out.",
	},
	{
		Code: apierr.ServiceUnavailable, Status: 503, Message: "Service temporarily unavailable", RetryAfter: 5 * time.Second,
		Meaning: "The server is overloaded, or a credential could not be looked up.",
	},
	{
		Code: apierr.DeliveryUnavailable, Status: 503, Message: "Event delivery temporarily unavailable",
		RetryAfter: 2 * time.Second,
		Fix:        "Send the same events again with the same eventId; what was stored already counts once.",
		Meaning:    "Not every event was confirmed in time; some may have been stored.",
	},
	{
		Code: apierr.Parse, Status: 400, Message: "Request body is not valid JSON",
		Meaning: "The body cannot be read as JSON.",
	},
	{
		Code: apierr.MissingProjectID, Status: 400, Message: "website_id is required",
		Fix:     "Name the subject in the query string.",
		Meaning: "The request names nothing to query.",
	},
	{
		Code: apierr.Compilation, Status: 400, Message: "The query does not compile",
		Meaning: "The query to be compiled breaks a rule; the list of problems names each field.",
	},
	{
		Code: apierr.NotFound, Status: 404, Message: "Not found",
		Meaning: "No such route or resource.",
	},
	{
		Code: apierr.Gone, Status: 410, Message: "This link has expired",
		Meaning: "The short link is over: its time has passed, or it was opened as often as it may be.",
	},
	{
		Code: apierr.Conflict, Status: 409, Message: "The record has changed in the meantime",
		Fix: "Read the record again and repeat the change on what it is now.",
		Meaning: "The change does not fit what is stored: a name that is taken, a version that is past, a key that is " +
			"revoked, the same call still running.",
	},
	{
		Code: apierr.KeyReused, Status: 422, Message: "This Idempotency-Key was used for another request",
		Fix:     "Use a fresh Idempotency-Key for each new request.",
		Meaning: "The Idempotency-Key belongs to a call of another operation or with another body.",
	},
	{
		Code: apierr.MethodNotAllowed, Status: 405, Message: "Method not allowed",
		Meaning: "The route exists with another method.",
	},
	{
		Code: apierr.DeadlineExceeded, Status: 503, Message: "The request took too long", RetryAfter: time.Second,
		Meaning: "The request, or its answer, was not complete within the host's deadline.",
	},
}

var rowOf = func() map[apierr.Code]Row {
	m := make(map[apierr.Code]Row, len(Codes))
	for _, r := range Codes {
		m[r.Code] = r
	}
	return m
}()

// RowOf returns the row of a code. A code without a row is shown as an internal
// error; a test keeps that from happening.
func RowOf(code apierr.Code) Row {
	if r, ok := rowOf[code]; ok {
		return r
	}
	return rowOf[apierr.Internal]
}
