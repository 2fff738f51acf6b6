package tally

import "github.com/millrace/millrace/internal/contract/apierr"

// Outcome is what became of an event.
type Outcome uint8

// The outcomes that are no rejections.
const (
	// Accepted: acknowledged by Kafka, duplicates included.
	Accepted Outcome = iota
	// Bot: sent by a program that says so, and not wanted by the website.
	Bot
	// Excluded: not wanted by the website for another reason.
	Excluded
	// Declined: sent by a browser that asks not to be tracked, to a website that
	// honours it.
	Declined

	firstRejection
)

// rejections are the codes that a request, or one event of it, can be rejected with.
var rejections = [...]apierr.Code{
	apierr.Internal, // stands for those that are not listed
	apierr.Validation, apierr.WebsiteMissingOrganization, apierr.AuthRequired, apierr.QuotaExceeded, apierr.Forbidden,
	apierr.AccessDenied, apierr.OriginNotAuthorized, apierr.IPNotAuthorized, apierr.WebsiteNotFound,
	apierr.PayloadTooLarge, apierr.RateLimited, apierr.BillingUnavailable, apierr.ServiceUnavailable,
	apierr.DeliveryUnavailable, apierr.DeadlineExceeded,
}

const numOutcomes = int(firstRejection) + len(rejections)

// names are the outcomes as they stand in records and metrics.
var names = func() (all [numOutcomes]string) {
	all[Accepted], all[Bot], all[Excluded], all[Declined] = "accepted", "bot", "excluded", "declined"
	for i, code := range rejections {
		all[int(firstRejection)+i] = string(code)
	}
	return all
}()

// Rejected is the outcome of an event that is rejected with a code.
func Rejected(code apierr.Code) Outcome {
	for i := range rejections {
		if rejections[i] == code {
			return firstRejection + Outcome(i)
		}
	}
	return firstRejection
}

// String returns the outcome's name: accepted, bot, excluded, declined, or a code.
func (o Outcome) String() string { return names[o] }
