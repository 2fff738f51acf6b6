package record

import "github.com/millrace/millrace/internal/contract/wire"

// field numbers the fields of the envelope. Those of all events stand in the
// first 64, those of Web behind them: texts, then numbers; and then those of Click
// and of Exposure.
type field uint8

const (
	unknownField field = iota
	versionField
	idField
	idGeneratedField
	organizationField
	websiteField
	ownerField
	typeField
	nameField
	tsField
	rawTsField
	receivedAtField
	anonymousIDField
	profileIDField
	sessionIDField
	pathField
	namespaceField
	sourceField
	propertiesField
)

const (
	firstText     field = 64
	firstNumber         = firstText + NumWebTexts
	firstClick          = firstNumber + NumWebNumbers
	firstExposure       = endOfClick
	endOfFields         = endOfExposure
)

func textField(t WebText) field     { return firstText + field(t) }
func numberField(n WebNumber) field { return firstNumber + field(n) }

// fieldNames are their names in the JSON. They are written in this order, but
// for the properties, which come last. fieldKeys are the same as bytes.
var (
	fieldNames = namesOfFields()
	fieldKeys  = keysOf(fieldNames[:])
)

// webMembers are what comes before a value of Web, Click or Exposure: `,"host":`.
var webMembers = membersOf(fieldKeys[firstText:])

func namesOfFields() [endOfFields]string {
	names := [endOfFields]string{
		versionField: "v", idField: "id", idGeneratedField: "idGenerated",
		organizationField: "organization", websiteField: "website", ownerField: "owner",
		typeField: "type", nameField: "name", tsField: "ts", rawTsField: "rawTs",
		receivedAtField: "receivedAt", anonymousIDField: "anonymousId", profileIDField: "profileId",
		sessionIDField: "sessionId", pathField: "path", namespaceField: "namespace",
		sourceField: "source", propertiesField: "properties",
	}
	for t := range WebTexts {
		names[textField(WebText(t))] = WebTexts[t].Key
	}
	for n := range WebNumbers {
		names[numberField(WebNumber(n))] = WebNumbers[n].Key
	}
	copy(names[firstClick:], clickFieldNames[:])
	copy(names[firstExposure:], exposureFieldNames[:])
	return names
}

func keysOf(names []string) [][]byte {
	keys := make([][]byte, len(names))
	for i, name := range names {
		keys[i] = []byte(name)
	}
	return keys
}

func membersOf(keys [][]byte) [][]byte {
	members := make([][]byte, len(keys))
	for i, key := range keys {
		members[i] = append(wire.AppendText([]byte{','}, key), ':')
	}
	return members
}

// fieldOf looks key up. Writers keep the order, so that the search nearly always
// ends after a step or two when it begins behind the last field of all events and
// the last one of the others.
func fieldOf(key []byte, behind, behindWeb field) field {
	for f := behind + 1; f <= propertiesField; f++ {
		if string(key) == fieldNames[f] {
			return f
		}
	}
	for f := behindWeb + 1; f < endOfFields; f++ {
		if string(key) == fieldNames[f] {
			return f
		}
	}
	for f := versionField; f <= behind; f++ {
		if string(key) == fieldNames[f] {
			return f
		}
	}
	for f := firstText; f <= behindWeb; f++ {
		if string(key) == fieldNames[f] {
			return f
		}
	}
	return unknownField
}

// fieldSet is a set of fields.
type fieldSet struct{ common, web uint64 }

func (s *fieldSet) has(f field) bool {
	if f < firstText {
		return s.common&(1<<f) != 0
	}
	return s.web&(1<<(f-firstText)) != 0
}

func (s *fieldSet) add(f field) {
	if f < firstText {
		s.common |= 1 << f
		return
	}
	s.web |= 1 << (f - firstText)
}

// requiredFields must be there, and where they are strings, must not be empty.
const requiredFields = 1<<versionField | 1<<idField | 1<<organizationField | 1<<ownerField |
	1<<typeField | 1<<nameField | 1<<tsField | 1<<receivedAtField
