package event

import "slices"

// Type is what the value of a field must be.
type Type uint8

// The types. The zero value is a field that the form does not have.
const (
	absent   Type = iota
	Text          // a string
	Address       // a string: an absolute http or https address
	Referral      // a string: an absolute address, or "direct"
	Size          // a string such as 1920x1080
	Word          // a string: one of Field.Words
	Number        // a number that a float64 holds
	Integer       // a number without a fraction
	Time          // a number of Unix milliseconds, or a string that parseTime knows
	Millis        // a number of Unix milliseconds
	Choice        // true, false or "auto"
	Object        // an object
	Traits        // an object of texts, numbers, booleans and null
)

// String says the type in the reference.
func (t Type) String() string {
	return [...]string{
		absent: "none", Text: "text", Address: "http or https address", Referral: "address", Size: "size", Word: "word",
		Number: "number", Integer: "integer", Time: "time", Millis: "Unix milliseconds", Choice: "boolean or text",
		Object: "object", Traits: "flat object",
	}[t]
}

// Field is one row of a form: what a field may hold. Null is as good as absent, and
// so is an empty string where Min is 0.
type Field struct {
	Name string
	Type Type
	// Required fields must be there and not null.
	Required bool
	// Min and Max bound a text in code points and the value of a number; Max 0 is no
	// bound. Objects have bounds of their own.
	Min, Max int64
	// Cut says that a text beyond Max is cut and not rejected: it is a page's, or a
	// script's, and not the caller's to choose.
	Cut   bool
	Words []string
	// Note is for the reference.
	Note string

	number field // set by newForm
	to     place
}

// place is where in an Event a value goes.
type place struct {
	in slot
	at uint8
}

type slot uint8

const (
	inEvent  slot = iota // where text says
	inName               // Event.Name
	inText               // Page.Texts[at]
	inNumber             // Page.Numbers[at]
)

func toText(t PageText) place     { return place{inText, uint8(t)} }
func toNumber(n PageNumber) place { return place{inNumber, uint8(n)} }

// Form is one shape of the items of a body.
type Form struct {
	// Name is a word for it, such as "page".
	Name string
	// Fields are in the order of the documentation.
	Fields []Field

	fields   []Field // by number
	numbers  map[string]field
	required fieldSet
	// settle looks at an event whose fields were read one by one; nil for nothing.
	settle func(d *Decoder, e *Event, index int)
}

// newForm works out what the decoder looks things up in.
func newForm(name string, settle func(*Decoder, *Event, int), fields ...Field) *Form {
	f := &Form{
		Name: name, Fields: fields, settle: settle, fields: make([]Field, commonFields), numbers: map[string]field{},
	}
	for i := range fields {
		row := &fields[i]
		row.number = fieldOf([]byte(row.Name))
		if row.number == fieldUnknown {
			row.number = field(len(f.fields))
			f.numbers[row.Name] = row.number
			f.fields = append(f.fields, Field{})
		}
		f.fields[row.number] = *row
		if row.Required {
			f.required = f.required.with(row.number)
		}
	}
	return f
}

// resolve returns the number of a key whose common number is known.
func (f *Form) resolve(common field, key []byte) field {
	if common == fieldUnknown {
		return f.numbers[string(key)]
	}
	if f.fields[common].Type == absent {
		return fieldUnknown
	}
	return common
}

// Field returns a row by its name.
func (f *Form) Field(name string) (Field, bool) {
	i := slices.IndexFunc(f.Fields, func(row Field) bool { return row.Name == name })
	if i < 0 {
		return Field{}, false
	}
	return f.Fields[i], true
}

// Shape is how many items a body holds.
type Shape uint8

// The shapes.
const (
	OneOrMany Shape = iota // an object, or an array of them
	One                    // an object
	Many                   // an array of objects
)
