package event

// Anonymize says how a visitor id is stored.
type Anonymize uint8

// The values of anonymizeVisitorIds. AnonymizeUnset leaves the choice to the
// website's setting.
const (
	AnonymizeUnset Anonymize = iota
	AnonymizeTrue
	AnonymizeFalse
	AnonymizeAuto
	// AnonymizeShown is AnonymizeAuto for a visitor whose id it leaves as it is. Nobody
	// sends it: whoever knows the visitor's country puts it in the place of auto.
	AnonymizeShown
)

// Event is one validated event. Its byte slices belong to the Decoder
// that made it and are valid until the Decoder's next call; an absent field is
// nil.
type Event struct {
	Kind        Kind
	Name        []byte
	EventID     []byte
	Path        []byte
	AnonymousID []byte
	ProfileID   []byte
	SessionID   []byte
	Namespace   []byte
	Source      []byte
	WebsiteID   []byte
	// Properties is a JSON object without insignificant white space; nil when
	// absent. Of an identity it holds the traits, of an engagement what was counted.
	Properties []byte
	// TimeMillis is the event's time in Unix milliseconds; meaningful only when
	// HasTime.
	TimeMillis int64
	HasTime    bool
	// Plain says that every text above may stand in a JSON string as it is: none
	// of them was sent with an escape. An event that no Decoder made leaves it
	// false, which is always right.
	Plain     bool
	Anonymize Anonymize
	// Rejected says that the event breaks a rule; only DecodeEach returns such events.
	Rejected bool
	// Page is what a tracker told besides; nil for nothing, as for every event of
	// POST /track.
	Page *Page
}
