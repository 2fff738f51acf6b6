package export

import "strconv"

// Format is a form in which rows can be had.
type Format struct {
	Name, ContentType, Extension string
	// Compress says that a connection may compress it; a format that does so
	// itself gains nothing.
	Compress bool
	// Doc says how values look in it.
	Doc string
}

// Formats is the table of formats.
var Formats = []*Format{
	{
		Name: "ndjson", ContentType: "application/x-ndjson", Extension: "ndjson", Compress: true,
		Doc: "One JSON object per line. Absent values are omitted; properties are an object.",
	},
	{
		Name: "csv", ContentType: "text/csv; charset=utf-8; header=present", Extension: "csv", Compress: true,
		Doc: "RFC 4180 with a header line. Absent values are empty; properties are JSON text.",
	},
	{
		Name: "parquet", ContentType: "application/vnd.apache.parquet", Extension: "parquet",
		Doc: "Columns compressed with zstd. Absent values are null; properties are JSON text. The file can be read only " +
			"when it is complete.",
	},
}

// FormatOf returns the format of that name, or nil.
func FormatOf(name string) *Format {
	for _, f := range Formats {
		if f.Name == name {
			return f
		}
	}
	return nil
}

// FormatNames returns the names in the table's order.
func FormatNames() []string {
	names := make([]string, len(Formats))
	for i, f := range Formats {
		names[i] = f.Name
	}
	return names
}

func itoa(i int) string { return strconv.Itoa(i) }
