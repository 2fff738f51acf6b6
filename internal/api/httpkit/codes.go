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
		Meaning: "The request is invalid; the list of problems names each field.",
	},
	{
		Code: apierr.WebsiteMissingOrganization, Status: 400, Message: "Website missing organization",
		Fix:     "Ask an owner of the website to move it to an organization.",
		Meaning: "The website belongs to no organization, so its events cannot be stored.",
	},
	{
		Code: apierr.AuthRequired, Status: 401, Message: "Authentication required",
		Ingestion: "API key or website_id required",
		Fix:       "Send a valid key in x-api-key or as a Bearer token.",
		Meaning:   "The request has no credential, or the credential is malformed, unknown, expired, revoked or replaced.",
	},
	{
		Code: apierr.QuotaExceeded, Status: 402, Message: "Event quota exceeded",
		Meaning: "The organization's plan allows no more events in this period.",
	},
	{
		Code: apierr.Forbidden, Status: 403, Message: "Insufficient permissions",
		Ingestion: "API key missing track:events scope",
		Fix:       "Use a key with the required scope.",
		Meaning:   "The credential is valid but lacks the required scope.",
	},
	{
		Code: apierr.AccessDenied, Status: 403, Message: "Access denied",
		Fix:     "Use a credential with access to this website.",
		Meaning: "The credential is valid but cannot access this resource.",
	},
	{
		Code: apierr.OriginNotAuthorized, Status: 403, Message: "Origin not authorized",
		Fix:     "Add the origin to the website's allowed origins.",
		Meaning: "The website does not accept events from this origin.",
	},
	{
		Code: apierr.IPNotAuthorized, Status: 403, Message: "IP address not authorized",
		Fix:     "Add the address to the allowed addresses of the website or the API key.",
		Meaning: "The website or the API key does not accept requests from this IP address.",
	},
	{
		Code: apierr.WebsiteNotFound, Status: 404, Message: "Website not found",
		Meaning: "No website has this id, or it belongs to another organization.",
	},
	{
		Code: apierr.PayloadTooLarge, Status: 413, Message: "Payload too large",
		Fix:     "Send fewer events in one request, or smaller properties.",
		Meaning: "The body, compressed or decompressed, or the properties of an event exceed the limit.",
	},
	{
		Code: apierr.RateLimited, Status: 429, Message: "Rate limit exceeded", RetryAfter: time.Second,
		Meaning: "The caller exceeded its rate limit.",
	},
	{
		Code: apierr.Internal, Status: 500, Message: "Internal server error",
		Meaning: "The server failed. Its log has details under the request id.",
	},
	{
		Code: apierr.BillingUnavailable, Status: 503, Message: "Billing check unavailable", RetryAfter: 5 * time.Second,
		Meaning: "The event quota of the plan could not be checked.",
	},
	{
		Code: apierr.ServiceUnavailable, Status: 503, Message: "Service temporarily unavailable", RetryAfter: 5 * time.Second,
		Meaning: "The server is overloaded, or a credential could not be checked.",
	},
	{
		Code: apierr.DeliveryUnavailable, Status: 503, Message: "Event delivery temporarily unavailable",
		RetryAfter: 2 * time.Second,
		Fix:        "Send the same events again with the same eventId; stored events are not counted twice.",
		Meaning:    "Not every event was acknowledged in time; some may have been stored.",
	},
	{
		Code: apierr.Parse, Status: 400, Message: "Request body is not valid JSON",
		Meaning: "The body is not valid JSON.",
	},
	{
		Code: apierr.MissingProjectID, Status: 400, Message: "website_id is required",
		Fix:     "Add website_id, link_id or organization_id to the query string.",
		Meaning: "The request has no subject to query.",
	},
	{
		Code: apierr.Compilation, Status: 400, Message: "The query cannot be compiled",
		Meaning: "The query to compile is invalid; the list of problems names each field.",
	},
	{
		Code: apierr.NotFound, Status: 404, Message: "Not found",
		Meaning: "The route or resource does not exist.",
	},
	{
		Code: apierr.Gone, Status: 410, Message: "This link has expired",
		Meaning: "The short link has expired or reached its limit of clicks.",
	},
	{
		Code: apierr.Conflict, Status: 409, Message: "The record has changed since it was read",
		Fix: "Read the record again and repeat the change on its current version.",
		Meaning: "The change conflicts with stored data: the name is taken, the version is outdated, the key is revoked, " +
			"or the same call is still running.",
	},
	{
		Code: apierr.KeyReused, Status: 422, Message: "This Idempotency-Key was already used for another request",
		Fix:     "Use a new Idempotency-Key for each new request.",
		Meaning: "The Idempotency-Key belongs to a call of another operation or with another body.",
	},
	{
		Code: apierr.MethodNotAllowed, Status: 405, Message: "Method not allowed",
		Meaning: "The route does not support the method.",
	},
	{
		Code: apierr.DeadlineExceeded, Status: 503, Message: "The request took too long", RetryAfter: time.Second,
		Meaning: "The request did not arrive, or the host did not finish it, before the deadline.",
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
