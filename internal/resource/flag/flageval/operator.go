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
		help: "The attribute is the value, of the same type.",
	},
	{
		name:    OpIn,
		operand: anything,
		sees:    (*condition).isEqual,
		help:    "The attribute is one of the values, of the same type.",
	},
	{name: OpContains, operand: texts, sees: (*condition).contains, help: "The text has one of the values in it."},
	{name: OpStartsWith, operand: texts, sees: (*condition).startsWith, help: "The text begins with one of the values."},
	{name: OpEndsWith, operand: texts, sees: (*condition).endsWith, help: "The text ends with one of the values."},
	{
		name:    OpMatches,
		operand: patterns,
		sees:    (*condition).matches,
		help:    "The text has a part that one of the values, RE2 expressions, matches.",
	},
	{name: OpExists, operand: nothing, help: "The attribute is there and not null."},
	{
		name: OpNumEq, operand: numbers, most: 1, sees: number(func(a, b float64) bool { return a == b }),
		help: "The number is the value.",
	},
	{
		name: OpNumGt, operand: numbers, most: 1, sees: number(func(a, b float64) bool { return a > b }),
		help: "The number is greater than the value.",
	},
	{
		name: OpNumGte, operand: numbers, most: 1, sees: number(func(a, b float64) bool { return a >= b }),
		help: "The number is the value or greater.",
	},
	{
		name: OpNumLt, operand: numbers, most: 1, sees: number(func(a, b float64) bool { return a < b }),
		help: "The number is less than the value.",
	},
	{
		name: OpNumLte, operand: numbers, most: 1, sees: number(func(a, b float64) bool { return a <= b }),
		help: "The number is the value or less.",
	},
	{
		name: OpDateBefore, operand: dates, most: 1, sees: date(func(a, b int64) bool { return a < b }),
		help: "The time, an RFC 3339 text, a date or Unix milliseconds, is before the value: such a text, or one like " +
			"-7d, counted from now in m, h, d or w.",
	},
	{
		name: OpDateAfter, operand: dates, most: 1, sees: date(func(a, b int64) bool { return a > b }),
		help: "The time is after the value, as for dateBefore.",
	},
	{
		name: OpSemverEq, operand: versions, most: 1, sees: semver(func(c int) bool { return c == 0 }),
		help: "The version, of semantic versioning, is the value.",
	},
	{
		name: OpSemverGt, operand: versions, most: 1, sees: semver(func(c int) bool { return c > 0 }),
		help: "The version is later than the value.",
	},
	{
		name: OpSemverGte, operand: versions, most: 1, sees: semver(func(c int) bool { return c >= 0 }),
		help: "The version is the value or later.",
	},
	{
		name: OpSemverLt, operand: versions, most: 1, sees: semver(func(c int) bool { return c < 0 }),
		help: "The version is earlier than the value.",
	},
	{
		name: OpSemverLte, operand: versions, most: 1, sees: semver(func(c int) bool { return c <= 0 }),
		help: "The version is the value or earlier.",
	},
	{
		name:    OpInSegment,
		operand: segments,
		help:    "The context is in one of the segments whose keys the values are; no attribute is asked.",
	},
	{
		name: OpIPInRange, operand: networks, attr: attrIP, sees: (*condition).inNetwork,
		help: "The address, of $ip where no attribute is named, is in one of the networks or is one of the addresses.",
	},
	{
		name: OpCountry, operand: texts, attr: attrCountry, sees: (*condition).isCountry,
		help: "The country, of $country where no attribute is named, is one of the values, ISO 3166-1 codes of two letters.",
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
