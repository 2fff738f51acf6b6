package flag

import (
	"encoding/json"

	"github.com/millrace/millrace/internal/contract/wire"
	"github.com/millrace/millrace/internal/tenant/managed"
)

// The actions that flags have beside those of all nouns.
const (
	Enabled        managed.Action = "enabled"
	Disabled       managed.Action = "disabled"
	Archiving      managed.Action = "archived"
	Unarchived     managed.Action = "unarchived"
	Duplicated     managed.Action = "duplicated"
	TargetsAdded   managed.Action = "targetsAdded"
	TargetsRemoved managed.Action = "targetsRemoved"
	RolledBack     managed.Action = "rolledBack"
)

// Noun is how flags are told of. What rules and targets say of people is not repeated: the
// flag's versions hold it. Other processes are told of the organization's set instead.
var Noun = managed.Noun[*Flag]{
	Type: "flag", View: (*Flag).view, Secret: []string{"variants", "targets", "rules", "environments"},
}

// Segments is how segments are told of.
var Segments = managed.Noun[*Segment]{
	Type: "segment", View: (*Segment).view, Secret: []string{"userIds", "emails", "conditions"},
}

// view returns the fields that the audit compares, by their names on the wire. That the default
// of a boolean flag was chosen is none there, but to choose what follows from the rules and
// targets today is a change: it stays when they are others.
func (f *Flag) view() map[string]any {
	d, a := &f.Definition, &f.About
	return map[string]any{
		"key": d.Key, "name": f.Name, "websiteId": wire.OrNull(f.WebsiteID), "status": string(f.State),
		"type":       string(a.Type),
		"visibility": string(a.Visibility), "description": wire.OrNull(a.Description), "tags": a.Tags,
		"owner":          wire.OrNull(a.Owner),
		"staleAfterDays": wire.OrNull(a.StaleAfterDays), "exposures": whole(a.Exposures), "defaultVariant": d.DefaultVariant,
		"defaultVariantChosen": wire.OrNull(a.Type == Boolean && a.Chosen),
		"offVariant":           d.OffVariant, "schedule": whole(d.Schedule), "prerequisites": whole(d.Prerequisites),
		"variants": whole(d.Variants), "targets": whole(d.Targets), "rules": whole(d.Rules),
		"environments": whole(d.Environments),
		"deletedAt":    wire.Time(f.DeletedAt),
	}
}

func (s *Segment) view() map[string]any {
	d := &s.Definition
	return map[string]any{
		"key": d.Key, "name": s.Name, "websiteId": wire.OrNull(s.WebsiteID), "description": wire.OrNull(s.Description),
		"userIds": whole(d.UserIDs), "emails": whole(d.Emails), "conditions": whole(d.Conditions),
		"deletedAt": wire.Time(s.DeletedAt),
	}
}

// whole is a value as the text that it is kept as; nil for an empty one. Two values that
// are kept alike are the same.
func whole(v any) *string {
	text, err := json.Marshal(v)
	if err != nil || string(text) == "null" || string(text) == "[]" || string(text) == "{}" {
		return nil // what cannot be written is rejected before
	}
	is := string(text)
	return &is
}
