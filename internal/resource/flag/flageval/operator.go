package flageval

// The operators of conditions.
const (
	OpEq         = "eq"
	OpIn         = "in"
	OpContains   = "contains"
	OpStartsWith = "startsWith"
	OpEndsWith   = "endsWith"
	OpMatches    = "matches"
	OpExists     = "exists"
	OpNumEq      = "numEq"
	OpNumGt      = "numGt"
	OpNumGte     = "numGte"
	OpNumLt      = "numLt"
	OpNumLte     = "numLte"
	OpDateBefore = "dateBefore"
	OpDateAfter  = "dateAfter"
	OpSemverEq   = "semverEq"
	OpSemverGt   = "semverGt"
	OpSemverGte  = "semverGte"
	OpSemverLt   = "semverLt"
	OpSemverLte  = "semverLte"
	OpInSegment  = "inSegment"
	OpIPInRange  = "ipInRange"
	OpCountry    = "country"
)

// operand is how the values of an operator are read.
type operand uint8

const (
	anything operand = iota // texts, numbers and booleans
	nothing                 // no values at all
	texts
	patterns
	numbers
	dates
	versions
	networks
	segments
)

// operator is one kind of question.
type operator struct {
	name    string
	operand operand
	most    int    // values; 0 for any number
	attr    string // that it asks about where the condition names none
	// sees asks one value of an attribute, which is of the operator's kind where typed
	// says so. nil for those that do not look at values.
	sees func(c *condition, e *Evaluator, v *Value) (met, typed bool)
	help string
}

// Operators lists the names of the operators and what they ask, in the order of the
// documentation.
func Operators() (all [][2]string) {
	for i := range operators {
		all = append(all, [2]string{operators[i].name, operators[i].help})
	}
	return all
}

var operators = [...]operator{
	{
		name: OpEq, operand: anything, most: 1, sees: (*condition).isEqual,
		help: "The attribute equals the value and has the same type.",
	},
	{
		name:    OpIn,
		operand: anything,
		sees:    (*condition).isEqual,
		help:    "The attribute equals one of the values and has the same type.",
	},
	{name: OpContains, operand: texts, sees: (*condition).contains, help: "The string contains one of the values."},
	{name: OpStartsWith, operand: texts, sees: (*condition).startsWith, help: "The string starts with one of the values."},
	{name: OpEndsWith, operand: texts, sees: (*condition).endsWith, help: "The string ends with one of the values."},
	{
		name:    OpMatches,
		operand: patterns,
		sees:    (*condition).matches,
		help:    "Part of the string matches one of the values, RE2 expressions.",
	},
	{name: OpExists, operand: nothing, help: "The attribute is present and not null."},
	{
		name: OpNumEq, operand: numbers, most: 1, sees: number(func(a, b float64) bool { return a == b }),
		help: "The number equals the value.",
	},
	{
		name: OpNumGt, operand: numbers, most: 1, sees: number(func(a, b float64) bool { return a > b }),
		help: "The number is greater than the value.",
	},
	{
		name: OpNumGte, operand: numbers, most: 1, sees: number(func(a, b float64) bool { return a >= b }),
		help: "The number is greater than or equal to the value.",
	},
	{
		name: OpNumLt, operand: numbers, most: 1, sees: number(func(a, b float64) bool { return a < b }),
		help: "The number is less than the value.",
	},
	{
		name: OpNumLte, operand: numbers, most: 1, sees: number(func(a, b float64) bool { return a <= b }),
		help: "The number is less than or equal to the value.",
	},
	{
		name: OpDateBefore, operand: dates, most: 1, sees: date(func(a, b int64) bool { return a < b }),
		help: "The time is before the value. The time is an RFC 3339 string, a date or Unix milliseconds. The value is an " +
			"RFC 3339 string, a date, or an offset from now such as -7d, in m, h, d or w.",
	},
	{
		name: OpDateAfter, operand: dates, most: 1, sees: date(func(a, b int64) bool { return a > b }),
		help: "The time is after the value. Formats as for dateBefore.",
	},
	{
		name: OpSemverEq, operand: versions, most: 1, sees: semver(func(c int) bool { return c == 0 }),
		help: "The semantic version equals the value.",
	},
	{
		name: OpSemverGt, operand: versions, most: 1, sees: semver(func(c int) bool { return c > 0 }),
		help: "The semantic version is later than the value.",
	},
	{
		name: OpSemverGte, operand: versions, most: 1, sees: semver(func(c int) bool { return c >= 0 }),
		help: "The semantic version is later than or equal to the value.",
	},
	{
		name: OpSemverLt, operand: versions, most: 1, sees: semver(func(c int) bool { return c < 0 }),
		help: "The semantic version is earlier than the value.",
	},
	{
		name: OpSemverLte, operand: versions, most: 1, sees: semver(func(c int) bool { return c <= 0 }),
		help: "The semantic version is earlier than or equal to the value.",
	},
	{
		name:    OpInSegment,
		operand: segments,
		help:    "The context is in one of the segments with these keys. The condition has no attribute.",
	},
	{
		name: OpIPInRange, operand: networks, attr: attrIP, sees: (*condition).inNetwork,
		help: "The IP address is in one of the networks or equals one of the addresses. The attribute is $ip if absent.",
	},
	{
		name: OpCountry, operand: texts, attr: attrCountry, sees: (*condition).isEqual,
		help: "The country is one of the values, two-letter ISO 3166-1 codes. The attribute is $country if absent.",
	},
}

// operatorOf returns an operator; nil for a name that is none.
func operatorOf(name string) *operator {
	for i := range operators {
		if operators[i].name == name {
			return &operators[i]
		}
	}
	return nil
}
