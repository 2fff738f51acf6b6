package schema

import "github.com/millrace/millrace/internal/contract/record"

// What the tests beside the package need to know of it.
var (
	MigrateWith = migrate
	Statements  = statements
	ClickTexts  = clickTexts
)

// WebTextColumn returns the name of the column of a text.
func WebTextColumn(t record.WebText) string { return webTexts[t].name }

// WebNumberColumn returns the name of the column of a number.
func WebNumberColumn(n record.WebNumber) string { return webNumbers[n].name }
