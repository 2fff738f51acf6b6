package event

// field numbers the fields of a custom event.
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
)

// fields says of each field what it is called and, for a string, how many code
// points it may have. An empty string counts as absent where min is 0: an empty
// eventId must not make all such events one.
var fields = [...]struct {
	name     string
	min, max int
}{
	fieldName:        {"name", 1, MaxNameLen},
	fieldEventID:     {"eventId", 0, MaxEventIDLen},
	fieldPath:        {"path", 0, MaxPathLen},
	fieldAnonymousID: {"anonymousId", 0, MaxAnonymousIDLen},
	fieldProfileID:   {"profileId", 1, MaxProfileIDLen},
	fieldSessionID:   {"sessionId", 0, MaxSessionIDLen},
	fieldNamespace:   {"namespace", 0, MaxNamespaceLen},
	fieldSource:      {"source", 0, MaxSourceLen},
	fieldWebsiteID:   {"websiteId", 0, MaxWebsiteIDLen},
	fieldTimestamp:   {name: "timestamp"},
	fieldAnonymize:   {name: "anonymizeVisitorIds"},
	fieldProperties:  {name: "properties"},
}

// fieldOf is the inverse of fields' names. It is a switch because the compiler
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
func (e *Custom) text(f field) *[]byte {
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
type fieldSet uint16

func (s fieldSet) has(f field) bool { return s&(1<<f) != 0 }

func (s fieldSet) with(f field) fieldSet { return s | 1<<f }

// FieldNames lists the fields of a custom event.
func FieldNames() []string {
	names := make([]string, 0, len(fields)-1)
	for _, f := range fields[fieldUnknown+1:] {
		names = append(names, f.name)
	}
	return names
}
