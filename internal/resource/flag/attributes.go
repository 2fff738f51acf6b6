package flag

import (
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/resource/flag/flageval"
)

// CheckAttributes rejects attributes of a context, as encoding/json decodes them, if there are too
// many, or if a name or a text is too long, also in a list. path is their field.
func CheckAttributes(path string, attributes map[string]any) error {
	var bad apierr.Rejection
	if n := len(attributes); n > MaxAttributes {
		bad.Add(path, "too_many", "%s must have at most %d members; it has %d", path, MaxAttributes, n)
		return bad.Err()
	}
	var long []string
	for name, value := range attributes {
		if tooLong(name) {
			return apierr.Invalid(path, "too_long",
				path+" must have names of at most "+strconv.Itoa(flageval.MaxIDLen)+" characters")
		}
		if at, is := longText(value); is {
			long = append(long, path+"."+name+at)
		}
	}
	slices.Sort(long)
	for _, field := range long {
		bad.Add(field, "too_long", "%s must have at most %d characters", field, flageval.MaxIDLen)
	}
	return bad.Err()
}

// longText reports whether a value is a text that is too long, or a list with one, and where.
func longText(value any) (at string, is bool) {
	switch v := value.(type) {
	case string:
		return "", tooLong(v)
	case []any:
		for i := range v {
			if at, is := longText(v[i]); is {
				return "[" + strconv.Itoa(i) + "]" + at, true
			}
		}
	}
	return "", false
}

func tooLong(text string) bool {
	return len(text) > flageval.MaxIDLen && utf8.RuneCountInString(text) > flageval.MaxIDLen
}
