package analytics

import (
	"golang.org/x/text/language"
	"golang.org/x/text/language/display"
)

// countryName returns the English name of a country; what is no code of one stays
// as it is.
func countryName(code string) string {
	region, err := language.ParseRegion(code)
	if err != nil || !region.IsCountry() {
		return code
	}
	return display.English.Regions().Name(region)
}

// place is a breakdown of page views by where visitors are. A region and a city
// stand with their country, for their names occur in several.
func place(name, label, field, description, example string, country bool, aliases ...string) Type {
	t := breakdown(name, "Geography", label, field, description, example, aliases...)
	t.Columns = append(t.Columns,
		Column{
			Name: "country_code", Type: String, Label: "Country code", Description: "ISO 3166-1 alpha-2.", Example: "AT",
			Expr: "e.country",
		},
		Column{
			Name: "country_name", Type: String, Label: "Country", Description: "English name of the country.",
			Example: "Austria", Expr: "e.country", Show: countryName,
		})
	if country {
		t.Columns[0].Show = countryName
		t.Rollup = viewsRollup("country", field, "", map[string]string{"country_code": "e.value", "country_name": "e.value"})
		return t
	}
	t.Columns = append(t.Columns, Column{
		Name: "country", Type: String, Label: "Country", Description: "English name of the country.", Example: "Austria",
		Expr: "e.country", Show: countryName,
	})
	t.Rollup = viewsRollup(name, field, "e.country",
		map[string]string{"country_code": "e.detail", "country_name": "e.detail", "country": "e.detail"})
	t.GroupBy, t.Tie = field+", e.country", field+", e.country"
	return t
}

var placeTypes = []Type{
	place("country", "Country", "e.country", "Page views by country, most page views "+
		"first.", "Austria", true, "countries"),
	place("region", "Region", "e.region", "Page views by region, most page views first.", "Styria", false),
	place("city", "City", "e.city", "Page views by city, most page views first.", "Graz", false, "cities"),
	breakdown("timezone", "Geography", "Time zone", "e.timezone",
		"Page views by browser time zone, most page views first.", "Europe/Vienna"),
	breakdown("language", "Geography", "Language", "e.language",
		"Page views by browser language, most page views first.", "de-AT"),
}
