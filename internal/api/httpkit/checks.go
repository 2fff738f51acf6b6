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
		"The path is a route's, and the method one of its.",
	},
	{
		"body", Management | Queries | Intake,
		[]apierr.Code{apierr.PayloadTooLarge, apierr.Validation, apierr.ServiceUnavailable, apierr.DeadlineExceeded},
		"The body arrives in time, fits the limit and the memory, and can be decompressed.",
	},
	{
		"credentials", Management | Queries | Intake | Flags,
		[]apierr.Code{apierr.AuthRequired, apierr.Forbidden, apierr.IPNotAuthorized, apierr.ServiceUnavailable},
		"The credential is one, and is accepted from this address and this page. There is one, unless anybody may call.",
	},
	{
		"room", Intake,
		[]apierr.Code{apierr.ServiceUnavailable},
		"There is memory for the work, and what waits before it is done in time.",
	},
	{
		"limits", Management | Queries | Intake | Flags,
		[]apierr.Code{apierr.RateLimited, apierr.ServiceUnavailable},
		"The caller has not used up what may be asked in a window, nor at the same time.",
	},
	{
		"subject", Queries,
		[]apierr.Code{
			apierr.AuthRequired, apierr.Forbidden, apierr.AccessDenied, apierr.MissingProjectID, apierr.ServiceUnavailable,
		},
		"The caller may ask about what the query string names; without a name there, about what is theirs, " +
			"unless the body names it.",
	},
	{
		"syntax", Management | Queries,
		[]apierr.Code{apierr.Parse, apierr.Validation, apierr.Compilation},
		"The body is JSON in UTF-8, and an object where nothing else is taken.",
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
		"The caller holds the scope or the role, and reaches what the body names.",
	},
	{
		"quota", Intake,
		[]apierr.Code{apierr.QuotaExceeded, apierr.BillingUnavailable},
		"The organization's plan takes more events.",
	},
	{
		"screen", Intake, nil,
		"What the website leaves out is left out in silence.",
	},
	{
		"input", Management | Queries | Flags,
		[]apierr.Code{apierr.Validation, apierr.Compilation},
		"The parameters of the query string and the members of the body keep the rules.",
	},
	{
		"coverage", Queries,
		[]apierr.Code{apierr.AuthRequired, apierr.Forbidden},
		"Of all that is asked for, the caller may have something.",
	},
	{
		"repetition", Management,
		[]apierr.Code{apierr.Validation, apierr.Conflict, apierr.KeyReused},
		"The Idempotency-Key, if there is one, fits the call. A call that was made before is answered here.",
	},
	{
		"operation", Management | Queries | Flags,
		[]apierr.Code{
			apierr.Validation, apierr.AuthRequired, apierr.Forbidden, apierr.AccessDenied, apierr.NotFound, apierr.Conflict,
			apierr.RateLimited, apierr.ServiceUnavailable, apierr.DeadlineExceeded,
		},
		"What is there lets it be done. The right to a change is asked for again, with the change itself.",
	},
	{
		"records", Intake,
		[]apierr.Code{apierr.ServiceUnavailable},
		"The salt of the day can be read, where a visitor is hashed.",
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
