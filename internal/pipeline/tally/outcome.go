package tally

import "github.com/millrace/millrace/internal/contract/fault"

// Outcome is what became of an event.
type Outcome uint8

// The outcomes that are no refusals.
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

	firstRefusal
)

// refusals are the codes that a request, or one event of it, can be refused with.
var refusals = [...]fault.Code{
	fault.Internal, // stands for those that are not listed
	fault.Validation, fault.WebsiteMissingOrganization, fault.AuthRequired, fault.QuotaExceeded, fault.Forbidden, fault.AccessDenied,
	fault.OriginNotAuthorized, fault.IPNotAuthorized, fault.WebsiteNotFound, fault.PayloadTooLarge, fault.RateLimited,
	fault.BillingUnavailable, fault.ServiceUnavailable, fault.DeliveryUnavailable, fault.DeadlineExceeded,
}

const numOutcomes = int(firstRefusal) + len(refusals)

// names are the outcomes as they stand in records and metrics.
var names = func() (all [numOutcomes]string) {
	all[Accepted], all[Bot], all[Excluded], all[Declined] = "accepted", "bot", "excluded", "declined"
	for i, code := range refusals {
		all[int(firstRefusal)+i] = string(code)
	}
	return all
}()

// Refused is the outcome of an event that is refused with a code.
func Refused(code fault.Code) Outcome {
	for i := range refusals {
		if refusals[i] == code {
			return firstRefusal + Outcome(i)
		}
	}
	return firstRefusal
}

// String returns the outcome's name: accepted, bot, excluded, declined, or a code.
func (o Outcome) String() string { return names[o] }

// Outcomes returns all of them.
func Outcomes() []Outcome {
	all := make([]Outcome, numOutcomes)
	for i := range all {
		all[i] = Outcome(i)
	}
	return all
}
