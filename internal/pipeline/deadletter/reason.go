package deadletter

// Reason says why a record became a dead letter. Values are part of the dead
// letter topics' contract.
type Reason string

// The reasons.
const (
	ReasonHeaders  Reason = "headers" // a header that identifies the event is missing or malformed, or there are too many
	ReasonValue    Reason = "value"   // the value is not a valid JSON record of the topic
	ReasonTime     Reason = "time"    // the event's time does not fit the table
	ReasonRejected Reason = "refused" // the server rejects the row, before it writes any
)
