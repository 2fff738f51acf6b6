package event

// field numbers the fields of a form. The first ones are those that forms have in
// common and that an Event has a place for; what else a form has comes behind them.
type field uint8

const (
	fieldUnknown field = iota
	fieldName
	fieldEventID
	fieldPath
	fieldAnonymousID
	fieldProfileID
	fieldSessionID
	fieldNamespace
	fieldSource
	fieldWebsiteID
	fieldTimestamp
	fieldAnonymize
	fieldProperties

	commonFields = iota
)

// fieldOf returns the number of a common field. It is a switch because the compiler
// makes a search of it that costs less than hashing the key.
func fieldOf(key []byte) field {
	switch string(key) {
	case "name":
		return fieldName
	case "eventId":
		return fieldEventID
	case "path":
		return fieldPath
	case "anonymousId":
		return fieldAnonymousID
	case "profileId":
		return fieldProfileID
	case "sessionId":
		return fieldSessionID
	case "namespace":
		return fieldNamespace
	case "source":
		return fieldSource
	case "websiteId":
		return fieldWebsiteID
	case "timestamp":
		return fieldTimestamp
	case "anonymizeVisitorIds":
		return fieldAnonymize
	case "properties":
		return fieldProperties
	}
	return fieldUnknown
}

// text returns where the string of field f is kept.
func (e *Event) text(f field) *[]byte {
	switch f {
	case fieldName:
		return &e.Name
	case fieldEventID:
		return &e.EventID
	case fieldPath:
		return &e.Path
	case fieldAnonymousID:
		return &e.AnonymousID
	case fieldProfileID:
		return &e.ProfileID
	case fieldSessionID:
		return &e.SessionID
	case fieldNamespace:
		return &e.Namespace
	case fieldSource:
		return &e.Source
	default:
		return &e.WebsiteID
	}
}

// fieldSet is a set of fields.
type fieldSet uint64

func (s fieldSet) has(f field) bool { return s&(1<<(f%64)) != 0 }

func (s fieldSet) with(f field) fieldSet { return s | 1<<(f%64) }

// FieldNames lists the fields of a custom event.
func FieldNames() []string {
	names := make([]string, len(Track.Fields))
	for i := range Track.Fields {
		names[i] = Track.Fields[i].Name
	}
	return names
}
