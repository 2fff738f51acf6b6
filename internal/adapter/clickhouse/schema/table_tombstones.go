package schema

// Tombstones keeps what was erased, so that it does not come back out of a topic.
var Tombstones = Table{
	Name: "tombstones",
	Doc: "Erased websites, profiles and visitors. Sinks leave out their records that were received at or before a " +
		"moment; the latest moment counts.",
	Engine:   "ReplacingMergeTree(before)",
	OrderBy:  []string{"owner_id", "kind", "id"},
	Settings: durable,
	Columns: []Column{
		{Name: "owner_id", Type: "LowCardinality(String)", Doc: "As in events."},
		{Name: "kind", Type: "LowCardinality(String)", Doc: "website, profile or visitor."},
		{Name: "id", Type: "String", Doc: "First 128 bits of the SHA-256 of kind, owner_id and the profile or anonymous " +
			"id, zero bytes between them; empty for a website."},
		{Name: "before", Type: millisecond, Doc: "Records received at or before this time are erased."},
		{Name: "erasure_id", Type: "String", Doc: "The erasure that wrote it."},
		{Name: "created_at", Type: millisecond, Default: "now64(3)", Doc: "When it was written."},
	},
}
