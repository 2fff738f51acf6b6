package sink

import "context"

// Reason says why a record became a dead letter. Values are part of the dead
// letter topics' contract.
type Reason string

// The reasons.
const (
	ReasonHeaders Reason = "headers" // a header that identifies the event is missing or malformed, or there are too many
	ReasonValue   Reason = "value"   // the value is not an envelope of the topic
	ReasonTime    Reason = "time"    // the event's time does not fit the table
	ReasonRefused Reason = "refused" // the server refuses the row, before it writes any
)

// letter is a record in hand that cannot be stored. Its original stays in its batch until
// it is sent.
type letter struct {
	offset int64
	reason Reason
	err    error
}

// DeadLetter is a record that cannot be stored.
type DeadLetter struct {
	Partition Partition
	Original  Original
	Reason    Reason
	Err       error // for people; at most its first 256 bytes are kept
}

// DeadLetters keeps what cannot be stored, with its original bytes and headers.
type DeadLetters interface {
	// Send returns nil once every letter is acknowledged.
	Send(ctx context.Context, letters []DeadLetter) error
}
