package analytics

import "strings"

// A property's text is a string itself, and the JSON of anything else; a key that
// is not there, or is null, has the empty text. The server's parser takes no whole
// numbers of more than 64 bits, and then sees nothing of the whole object: so where
// it finds nothing, such numbers are written as others. What stands between two of them
// belongs to one match alone, so that one pass finds every other one of a list.
const (
	propertyText = "if(JSONExtractString(e.properties, {key}) != '', JSONExtractString(e.properties, {key}), " +
		"JSONExtractString(" + readableProperties + ", {key}))"
	readableProperties = "if(e.properties = '' OR isValidJSON(e.properties), '', " +
		"replaceRegexpAll(replaceRegexpAll(e.properties" + asFraction + ")" + asFraction + "))"
	asFraction    = ", '([:,\\\\[](?:" + beyond64Bits + "))([,}\\\\]])', '\\\\1e0\\\\2'"
	hasProperty   = "(JSONHas(e.properties, {value}) OR JSONHas(" + readableProperties + ", {value}))"
	propertyIsSet = "(JSONType(e.properties, {key}) != 'Null' OR JSONType(" + readableProperties + ", {key}) != 'Null')"
)

// beyond64Bits are whole numbers that may have no place in 64 bits, below 0 and above.
const beyond64Bits = "-9[2-9][0-9]{17}|-[0-9]{20,}|1[89][0-9]{18}|[2-9][0-9]{19}|[0-9]{21,}"

// traitText is the same of a trait, which has a row of its own.
const traitText = "if(startsWith(t.value, '\"'), JSONExtractString(t.value), t.value)"

// numberOf is the finite number that a text is, or nothing.
func numberOf(text string) string {
	return "ifNotFinite(toFloat64OrNull(" + text + "), NULL)"
}

// ownersOf restrict rows of profiles and what belongs to them to a subject. The
// tables know owners; which of them an organization has, usage_1d knows.
var ownersOf = map[SubjectKind]string{
	Website:      "{alias}.owner_id = {owner:String}",
	Organization: "{alias}.owner_id IN (" + aliasedOwners + ")",
}

// ofUser is the predicate of the events of users who have a trait that matches. An
// event that names a user is that user's; another is of whom its visitor id is.
func ofUser(subject SubjectKind) string {
	of := func(alias string) string { return strings.ReplaceAll(ownersOf[subject], "{alias}", alias) }
	users := "SELECT t.owner_id, t.profile_id FROM profile_traits AS t FINAL WHERE " + of("t") +
		" AND t.trait = {key} AND t.value != 'null' AND {match}"
	visitors := "SELECT a.owner_id, a.anonymous_id FROM aliases AS a FINAL WHERE " + of("a") +
		" AND (a.owner_id, a.profile_id) IN (" + users + ")"
	return "((e.owner_id, e.profile_id) IN (" + users +
		") OR e.profile_id = '' AND (e.owner_id, e.anonymous_id) IN (" + visitors + "))"
}
