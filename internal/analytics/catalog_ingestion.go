package analytics

import "strings"

// What became of events, as perOutcome names it. Every other outcome is the
// code of a rejection.
const notRejected = "'accepted', 'bot', 'excluded', 'declined', 'duplicate', 'dead_letter', 'erased'"

// perOutcome is a row per owner, moment and outcome: what the edges counted,
// by the minute, and what the sink's ledger says about records that are no rows, by
// the hour. Counts about the counts themselves are nobody's business.
var perOutcome = &Source{Tables: []string{"unstored_1h"}, Build: func(q *query) string {
	subject, owned := ownerPredicates[Website], ownerPredicates[Website]
	if q.subject.Kind == Organization { // the ledger knows owners alone
		subject = sentFor
		owned = "e.owner_id IN (" + sendingOwners + ")"
	}
	counted := strings.Join([]string{
		"SELECT e.event_time AS at, CAST(e.owner_id, 'String') AS website_id, CAST(e.name, 'String') AS outcome, e.events " +
			"AS events",
		"FROM ingestion_1m AS e FINAL",
		"WHERE " + subject,
		"  AND " + inTime,
	}, "\n")
	unstored := strings.Join([]string{
		"SELECT toDateTime64(e.hour, 3, 'UTC') AS at, CAST(e.owner_id, 'String') AS website_id, pair.1 AS outcome, pair.2 " +
			"AS events",
		"FROM unstored_1h AS e",
		"ARRAY JOIN [('duplicate', e.duplicates), ('dead_letter', e.dead_letters), ('erased', e.erased)] AS pair",
		"WHERE " + owned,
		"  AND e.topic != 'ingestion.v1'",
		"  AND e.hour >= toStartOfHour({start:" + typeInstant + "})",
		"  AND e.hour < {end:" + typeInstant + "}",
		"  AND pair.2 > 0",
	}, "\n")
	return "(\n" + indent(counted+"\nUNION ALL\n"+unstored) + "\n) AS e"
}}

// outcomeColumn counts the events that ended in one way.
func outcomeColumn(name, label, outcome, description, example string) Column {
	return Column{
		Name: name, Type: Number, Label: label, Description: description, Example: example,
		Expr: "sumIf(e.events, e.outcome = '" + outcome + "')",
	}
}

var ingestionTypes = []Type{
	{
		Name: "ingestion_health", Subjects: Website | Organization, Table: "ingestion_1m",
		Title: "Ingestion health", Category: "Ingestion", Tags: []string{"ingestion"}, Visualization: "table",
		Description: "Results of event ingestion by website and hour of receipt, latest first.",
		Columns: []Column{
			{
				Name: "hour", Type: Datetime, Label: "Hour", Description: "Start of the hour of receipt, UTC.",
				Example: "2026-03-29T14:00:00.000Z",
				Expr:    "toDateTime64(toStartOfHour(e.at), 3, 'UTC')",
			},
			{
				Name: "website_id", Type: String, Label: "Website", Expr: "e.website_id", Example: "web_01JQZ3F8Y4M2N6P8R0S2T4V6WA",
				Description: "Website id, or the organization's id for events without a website.",
			},
			outcomeColumn("accepted", "Accepted", "accepted",
				"Events accepted with a success response, including duplicate, dead_lettered and erased ones.",
				"1200"),
			outcomeColumn("duplicates", "Duplicates", "duplicate",
				"Events that were already stored with the same eventId.", "3"),
			{
				Name: "refused", Type: Number, Label: "Refused",
				Description: "Events whose request failed, or that were rejected individually.", Example: "2",
				Expr: "sumIf(e.events, e.outcome NOT IN (" + notRejected + "))",
			},
			{
				Name: "refusals", Type: JSON, Label: "Refusals", Description: "Rejected events by error code.",
				Example: `{"RATE_LIMITED":2}`,
				Expr:    "toJSONString(sumMapIf(map(e.outcome, e.events), e.outcome NOT IN (" + notRejected + ")))",
			},
			outcomeColumn("bots", "Bots", "bot",
				"Events of declared bots that the website excludes.", "41"),
			outcomeColumn("excluded", "Excluded", "excluded",
				"Events that the website's settings exclude by IP address or path.", "7"),
			outcomeColumn("declined", "Declined", "declined",
				"Events of browsers with a privacy signal that the website honors.", "5"),
			outcomeColumn("dead_lettered", "Dead letters", "dead_letter",
				"Accepted events that could not be stored; the operator keeps them.", "0"),
			outcomeColumn("erased", "Erased", "erased",
				"Accepted events of visitors who were erased before the events were stored.", "0"),
			{
				Name: "last_seen", Type: Datetime, Label: "Last seen",
				Description: "Start of the last minute of the hour with events.",
				Example:     "2026-03-29T14:59:00.000Z", Expr: "max(e.at)",
			},
		},
		Filters: []string{"website_id"}, Sorts: []string{
			"hour", "accepted", "duplicates", "refused", "bots", "excluded", "declined", "dead_lettered", "last_seen",
		},
		DefaultLimit: MaxLimit, From: perOutcome, GroupBy: "hour, e.website_id", OrderBy: "hour", Desc: true,
		Tie: "hour, e.website_id",
	},
}
