package analytics

import "slices"

// A measure is a column of a response that the request may filter by. Rows are
// dropped by it after they were computed.

// measure returns the column of that name if the type may be filtered by it; nil
// when it may not.
func (t *Type) measure(name string) *Column {
	if !slices.Contains(t.Measures, name) {
		return nil
	}
	return t.column(name)
}

// anyMeasure returns a column of that name that some type may be filtered by.
func anyMeasure(name string) *Column {
	for i := range Catalog {
		if c := Catalog[i].measure(name); c != nil {
			return c
		}
	}
	return nil
}

// kindOf is how a measure is compared.
func kindOf(c *Column) FieldKind {
	if c.Type == Number {
		return NumberField
	}
	return TextField
}
