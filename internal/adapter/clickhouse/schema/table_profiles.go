package schema

import "slices"

// What is known of users is made of identities by views. Each of the tables says
// the same however often a row of identities is inserted, and in whatever order:
// the earliest, the latest, and what was told last. Two things that were told in
// one millisecond are ordered as their records are.

var known = slices.Concat(remembered, durable, compact)

// Profiles holds the users of an owner.
var Profiles = Table{
	Name:     "profiles",
	Doc:      "Users that an owner has identified.",
	Engine:   "AggregatingMergeTree",
	OrderBy:  []string{"owner_id", "profile_id"},
	Settings: known,
	Columns: []Column{
		{Name: "owner_id", Type: "LowCardinality(String)", Doc: "As in events."},
		{Name: "organization_id", Type: "SimpleAggregateFunction(any, String)", Doc: "As in events."},
		{Name: "profile_id", Type: "String", Codec: "ZSTD(1)", Doc: "The caller's own user id."},
		{
			Name: "first_seen",
			Type: "SimpleAggregateFunction(min, DateTime64(3, 'UTC'))",
			Doc:  "Time of the first call to identify.",
		},
		{Name: "last_seen", Type: "SimpleAggregateFunction(max, DateTime64(3, 'UTC'))", Doc: "Time of the last call."},
	},
}

// ProfileTraits holds what is known of each.
var ProfileTraits = Table{
	Name:     "profile_traits",
	Doc:      "Traits of users. With FINAL, the latest value of each trait.",
	Engine:   "ReplacingMergeTree(version)",
	OrderBy:  []string{"owner_id", "profile_id", "trait"},
	Settings: known,
	Columns: []Column{
		{Name: "owner_id", Type: "LowCardinality(String)", Doc: "As in events."},
		{Name: "profile_id", Type: "String", Codec: "ZSTD(1)", Doc: "The caller's own user id."},
		{Name: "trait", Type: "String", Codec: "ZSTD(1)", Doc: "Name of the trait."},
		{Name: "value", Type: "String", Codec: "ZSTD(1)", Doc: "Value as JSON; null after removal."},
		{Name: "told_at", Type: millisecond, Codec: "ZSTD(1)", Doc: "Time of the identify call."},
		{Name: "version", Type: "UInt64", Codec: "ZSTD(1)", Doc: "Order of identify calls."},
	},
}

// Aliases says who visitors are.
var Aliases = Table{
	Name:     "aliases",
	Doc:      "The user of each visitor id. With FINAL, the latest one.",
	Engine:   "ReplacingMergeTree(version)",
	OrderBy:  []string{"owner_id", "anonymous_id"},
	Settings: known,
	Columns: []Column{
		{Name: "owner_id", Type: "LowCardinality(String)", Doc: "As in events."},
		{Name: "anonymous_id", Type: "String", Codec: "ZSTD(1)", Doc: "Visitor id, as in events of the day."},
		{Name: "profile_id", Type: "String", Codec: "ZSTD(1)", Doc: "The caller's own user id."},
		{Name: "told_at", Type: millisecond, Codec: "ZSTD(1)", Doc: "Time of the identify call."},
		{Name: "version", Type: "UInt64", Codec: "ZSTD(1)", Doc: "Order of identify calls."},
	},
}

// toldOrder orders by time, and within a millisecond by record: those of an owner
// are in one partition.
const toldOrder = "toUInt64(toUnixTimestamp64Milli(event_time)) * 1048576 + bitAnd(toUInt64(_offset), 1048575)"

// The views that fill them.
var (
	ProfilesView = View{
		Name: "profiles_mv", From: "identities", To: "profiles", Doc: "Fills profiles.",
		Select: "SELECT owner_id, any(CAST(organization_id, 'String')) AS organization_id, profile_id, min(event_time) AS " +
			"first_seen, max(event_time) AS last_seen\n" +
			"FROM identities\nGROUP BY owner_id, profile_id",
	}
	ProfileTraitsView = View{
		Name: "profile_traits_mv", From: "identities", To: "profile_traits", Doc: "Fills profile_traits.",
		Select: "SELECT owner_id, profile_id, pair.1 AS trait, pair.2 AS value, event_time AS told_at,\n       " +
			toldOrder + " AS version\n" +
			"FROM identities\nARRAY JOIN JSONExtractKeysAndValuesRaw(traits) AS pair",
	}
	AliasesView = View{
		Name: "aliases_mv", From: "identities", To: "aliases", Doc: "Fills aliases.",
		Select: "SELECT owner_id, anonymous_id, profile_id, event_time AS told_at,\n       " + toldOrder + " AS version\n" +
			"FROM identities\nWHERE anonymous_id != ''",
	}
)
