package apierr

// Code names a kind of failure on the wire. The status, the standard message
// and whether a retry helps stand in httpkit's table, one row a code.
type Code string

// The codes in the order of the ingestion statuses of the specification, then
// those of the query host.
const (
	Validation                 Code = "VALIDATION_ERROR"
	WebsiteMissingOrganization Code = "WEBSITE_MISSING_ORGANIZATION"
	AuthRequired               Code = "AUTH_REQUIRED"
	QuotaExceeded              Code = "QUOTA_EXCEEDED"
	Forbidden                  Code = "FORBIDDEN"
	AccessDenied               Code = "ACCESS_DENIED"
	OriginNotAuthorized        Code = "ORIGIN_NOT_AUTHORIZED"
	IPNotAuthorized            Code = "IP_NOT_AUTHORIZED"
	WebsiteNotFound            Code = "WEBSITE_NOT_FOUND"
	PayloadTooLarge            Code = "PAYLOAD_TOO_LARGE"
	RateLimited                Code = "RATE_LIMITED"
	Internal                   Code = "INTERNAL_SERVER_ERROR"
	BillingUnavailable         Code = "BILLING_UNAVAILABLE"
	ServiceUnavailable         Code = "SERVICE_UNAVAILABLE"
	DeliveryUnavailable        Code = "DELIVERY_UNAVAILABLE"

	Parse            Code = "PARSE"
	MissingProjectID Code = "MISSING_PROJECT_ID"
	Compilation      Code = "COMPILATION_ERROR"
	NotFound         Code = "NOT_FOUND"
	Gone             Code = "GONE"
	Conflict         Code = "CONFLICT"
	KeyReused        Code = "IDEMPOTENCY_MISMATCH"
	MethodNotAllowed Code = "METHOD_NOT_ALLOWED"
	DeadlineExceeded Code = "DEADLINE_EXCEEDED"
)
