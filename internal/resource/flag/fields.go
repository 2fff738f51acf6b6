package flag

import (
	"encoding/json"
	"slices"
	"unicode"
	"unicode/utf8"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/resource/flag/flageval"
	"github.com/millrace/millrace/internal/tenant/displayname"
	"github.com/millrace/millrace/internal/tenant/managed"
)

// Spec names a new flag, or segment. None of it changes later.
type Spec struct {
	OrganizationID string
	WebsiteID      string // empty: of all websites
	Key            string
	Type           Type // of a flag
}

// Fields are what a caller chooses about a flag. Those that are nil have their default in a
// new flag, and stay as they are in one that there is; lists are replaced whole.
type Fields struct {
	Name           *string // empty for the key
	Description    *string
	Visibility     *Visibility
	Tags           *[]string
	Owner          *string
	StaleAfterDays *int // 0 for never
	Exposures      *Exposures
	Variants       *[]flageval.Variant
	DefaultVariant *string // empty: that of a boolean flag follows its rules and targets
	OffVariant     *string // empty: off, of a boolean flag
	Schedule       *flageval.Schedule
	Prerequisites  *[]flageval.Prerequisite
	Targets        *[]flageval.Target
	Rules          *[]flageval.Rule // those without an id get one
	Environments   *map[string]flageval.Override
}

// apply changes a flag by the fields. All that is wrong with them is in the Validation
// error that is returned; a flag that needs itself is a Conflict error.
func (f *Fields) apply(to *Flag) error {
	var bad apierr.Rejection
	to.Name = named(&bad, f.Name, to.Name, to.Key())
	f.about(&bad, &to.About)
	d := &to.Definition
	managed.Apply(f.Variants, func(v []flageval.Variant) { d.Variants = v })
	managed.Apply(f.DefaultVariant, func(v string) { d.DefaultVariant, to.About.Chosen = v, v != "" })
	managed.Apply(f.OffVariant, func(v string) { d.OffVariant = v })
	managed.Apply(f.Schedule, func(v flageval.Schedule) { d.Schedule = v })
	managed.Apply(f.Prerequisites, func(v []flageval.Prerequisite) { d.Prerequisites = v })
	managed.Apply(f.Targets, func(v []flageval.Target) { d.Targets = v })
	managed.Apply(f.Rules, func(v []flageval.Rule) { d.Rules = v })
	managed.Apply(f.Environments, func(v map[string]flageval.Override) { d.Environments, to.About.Derived = v, nil })
	return to.judge(&bad)
}

// judge brings a definition into the form in which it is kept, and says what is wrong.
func (f *Flag) judge(bad *apierr.Rejection) error {
	f.settle()
	problems := f.Definition.Check()
	for _, p := range problems {
		if p.Rule == "cycle" {
			return conflict(ErrCycle, "Flag %s cannot be a prerequisite of itself", f.Key())
		}
	}
	f.values(bad)
	f.ruleIDs(bad)
	tell(bad, problems)
	fits(bad, f.Definition)
	return bad.Err()
}

func (f *Fields) about(bad *apierr.Rejection, a *About) {
	managed.Apply(f.Description, func(v string) { a.Description = text(bad, "description", v, MaxDescriptionLen) })
	managed.Apply(f.Visibility, func(v Visibility) { a.Visibility = v })
	managed.Apply(f.Tags, func(v []string) { a.Tags = displayname.Tags(bad, v, MaxTags, MaxTagLen) })
	managed.Apply(f.Owner, func(v string) { a.Owner = text(bad, "owner", v, MaxOwnerLen) })
	managed.Apply(f.StaleAfterDays, func(v int) { a.StaleAfterDays = v })
	managed.Apply(f.Exposures, func(v Exposures) { a.Exposures = v })
	if a.Visibility != Public && a.Visibility != Server {
		bad.Add("visibility", "enum", "visibility must be public or server")
	}
	if a.StaleAfterDays < 0 || a.StaleAfterDays > MaxStaleDays {
		bad.Add("staleAfterDays", "range", "staleAfterDays must be from 1 to %d, or null for never", MaxStaleDays)
	}
	if !slices.Contains(exposureModes, a.Exposures.Mode) {
		bad.Add("exposures.mode", "enum", "exposures.mode must be split, all or off")
	}
	if p := a.Exposures.SamplePercent; p < 1 || p > 100 {
		bad.Add("exposures.samplePercent", "range", "exposures.samplePercent must be from 1 to 100")
	}
}

var exposureModes = []ExposureMode{ExposeSplit, ExposeAll, ExposeOff}

// named returns the name that was sent, else the one before; the key for an empty one.
func named(bad *apierr.Rejection, sent *string, was, key string) string {
	switch {
	case sent == nil && was != "":
		return was
	case sent == nil || *sent == "":
		return key
	}
	name, err := displayname.Clean("name", *sent, MaxNameLen)
	bad.Merge(err)
	return name
}

// text notes what is wrong with a text of several lines; it may be empty.
func text(bad *apierr.Rejection, field, text string, most int) string {
	if n := utf8.RuneCountInString(text); n > most {
		bad.Add(field, "too_long", "%s has %d characters; at most %d are allowed", field, n, most)
		return text
	}
	for _, r := range text {
		if unicode.IsControl(r) && r != '\n' && r != '\t' || r == utf8.RuneError {
			bad.Add(field, "invalid_text", "%s must not contain control characters", field)
			return text
		}
	}
	return text
}

// values notes variants whose value is not of the flag's type.
func (f *Flag) values(bad *apierr.Rejection) {
	if f.About.Type == Boolean {
		f.onAndOff(bad)
		return
	}
	is, known := kinds[f.About.Type]
	if !known {
		bad.Add("type", "enum", "type must be boolean, string, number or json")
		return
	}
	for i, v := range f.Definition.Variants {
		if len(v.Value) == 0 || !is(v.Value[0]) {
			at := indexed("variants", i) + ".value"
			bad.Add(at, "type", "%s must be of type %s", at, f.About.Type)
		}
	}
}

// kinds tell by its first byte whether JSON is a value of a type.
var kinds = map[Type]func(first byte) bool{
	String: func(b byte) bool { return b == '"' },
	Number: func(b byte) bool { return b == '-' || b >= '0' && b <= '9' },
	JSON:   func(byte) bool { return true },
}

// onAndOff notes variants that are not those of a boolean flag.
func (f *Flag) onAndOff(bad *apierr.Rejection) {
	all := f.Definition.Variants
	for i, v := range all {
		if value := booleans[v.Key]; value == "" || string(v.Value) != value {
			at := indexed("variants", i)
			bad.Add(at, "boolean", "%s must be on with the value true, or off with the value false", at)
		}
	}
	if len(all) != len(booleans) {
		bad.Add("variants", "boolean", "variants must be exactly on and off for a boolean flag")
	}
}

var booleans = map[string]string{"on": "true", "off": "false"}

// onOff are the variants of a boolean flag that says nothing of them.
func onOff() []flageval.Variant {
	return []flageval.Variant{{Key: "on", Value: json.RawMessage("true")}, {Key: "off", Value: json.RawMessage("false")}}
}
