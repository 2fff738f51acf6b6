package flagapi

import (
	"time"

	"github.com/millrace/millrace/internal/flageval"
	"github.com/millrace/millrace/internal/flagset"
	"github.com/millrace/millrace/internal/website"
)

// Exposures takes note of what people were served.
type Exposures interface {
	// Expose is called for each flag that was asked for by its key and is served, before the
	// answer is sent. It must not wait, and is called by many at the same time.
	Expose(e *Exposure)
}

// Exposure is what somebody was served of a flag. It and its texts are valid during the call
// only: they are the memory of a request.
type Exposure struct {
	Website *website.Website
	Flag    *flagset.Flag
	// Variant is its place among the flag's variants.
	Variant int
	Reason  flageval.Reason
	// UserID, Email and AnonymousID are what the caller said; all are empty for whom nothing
	// is known.
	UserID, Email, AnonymousID string
	Environment                string // as the caller said; empty for the base
	Time                       time.Time
}
