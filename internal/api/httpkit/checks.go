package httpkit

import "github.com/millrace/millrace/internal/contract/apierr"

// Surface is a group of routes whose requests are checked alike; a set of them is their
// sum.
type Surface uint8

// The surfaces.
const (
	Management Surface = 1 << iota // POST /rpc/…
	Queries                        // /v1/query…
	Intake                         // the routes that take events
	Flags                          // /public/v1/flags/…
)

// Check is one of the checks of a request.
type Check struct {
	// Name is a word for it; on the ingestion host that of the step in its metrics.
	Name string
	// On are the surfaces whose requests it is made of.
	On Surface
	// Codes are those with which it rejects; none where it only leaves something out.
	Codes []apierr.Code
	// Asks says what is looked at, as a sentence for the reference.
	Asks string
}

// Checks are all checks in the order in which they are made: a request is answered with
// the rejection of the first one that it fails. The handlers of the surfaces keep to it,
// their tests play each pair of failures against it, and the reference is made from it.
var Checks = []Check{
	{
		"route", Management | Queries | Intake | Flags,
		[]apierr.Code{apierr.NotFound, apierr.MethodNotAllowed},
		"The path is a known route and supports the method.",
	},
	{
		"body", Management | Queries | Intake,
		[]apierr.Code{apierr.PayloadTooLarge, apierr.Validation, apierr.ServiceUnavailable, apierr.DeadlineExceeded},
		"The body arrives in time, is within the limits of size and memory, and can be decompressed.",
	},
	{
		"credentials", Management | Queries | Intake | Flags,
		[]apierr.Code{apierr.AuthRequired, apierr.Forbidden, apierr.IPNotAuthorized, apierr.ServiceUnavailable},
		"The credential is valid and accepted from this IP address and page. A credential is present unless the route is " +
			"public.",
	},
	{
		"room", Intake,
		[]apierr.Code{apierr.ServiceUnavailable},
		"The process has memory for the request, and its queue is short enough.",
	},
	{
		"limits", Management | Queries | Intake | Flags,
		[]apierr.Code{apierr.RateLimited, apierr.ServiceUnavailable},
		"The caller is within its limits of requests per window and of concurrent requests.",
	},
	{
		"subject", Queries,
		[]apierr.Code{
			apierr.AuthRequired, apierr.Forbidden, apierr.AccessDenied, apierr.MissingProjectID, apierr.ServiceUnavailable,
		},
		"The caller can query the subject in the query string. Without one, the caller can query its own organization, " +
			"unless the body names a subject.",
	},
	{
		"syntax", Management | Queries,
		[]apierr.Code{apierr.Parse, apierr.Validation, apierr.Compilation},
		"The body is valid JSON in UTF-8, and an object where the route requires one.",
	},
	{
		"decode", Intake,
		[]apierr.Code{apierr.Validation, apierr.PayloadTooLarge},
		"The body is JSON, and every event has the fields of its kind.",
	},
	{
		"access", Management | Queries | Intake | Flags,
		[]apierr.Code{
			apierr.Forbidden, apierr.AccessDenied, apierr.AuthRequired, apierr.NotFound, apierr.WebsiteNotFound,
			apierr.WebsiteMissingOrganization, apierr.OriginNotAuthorized, apierr.IPNotAuthorized, apierr.MissingProjectID,
			apierr.Validation, apierr.ServiceUnavailable,
		},
		"The caller has the required scope or role, and can access the records in the body.",
	},
	{
		"quota", Intake,
		[]apierr.Code{apierr.QuotaExceeded, apierr.BillingUnavailable},
		"The organization's plan allows more events.",
	},
	{
		"screen", Intake, nil,
		"Events that the website's settings exclude are dropped without an error.",
	},
	{
		"input", Management | Queries | Flags,
		[]apierr.Code{apierr.Validation, apierr.Compilation},
		"Query parameters and fields of the body have valid values.",
	},
	{
		"coverage", Queries,
		[]apierr.Code{apierr.AuthRequired, apierr.Forbidden},
		"The caller can access at least one of the requested query types.",
	},
	{
		"repetition", Management,
		[]apierr.Code{apierr.Validation, apierr.Conflict, apierr.KeyReused},
		"The Idempotency-Key, if present, matches the call. If the call was already made, this check returns its response.",
	},
	{
		"operation", Management | Queries | Flags,
		[]apierr.Code{
			apierr.Validation, apierr.AuthRequired, apierr.Forbidden, apierr.AccessDenied, apierr.NotFound, apierr.Conflict,
			apierr.RateLimited, apierr.ServiceUnavailable, apierr.DeadlineExceeded,
		},
		"The stored data allows the operation. For a change, the permission is checked again in the same transaction.",
	},
	{
		"records", Intake,
		[]apierr.Code{apierr.ServiceUnavailable},
		"The salt of the day can be read, if a visitor id must be hashed.",
	},
	{
		"publish", Intake,
		[]apierr.Code{apierr.DeliveryUnavailable},
		"All in-sync replicas have acknowledged every event.",
	},
}

// ChecksOf returns the checks of a surface, in their order.
func ChecksOf(s Surface) []Check {
	var all []Check
	for _, c := range Checks {
		if c.On&s != 0 {
			all = append(all, c)
		}
	}
	return all
}
