package management

import (
	"time"

	"github.com/millrace/millrace/internal/api/rpc"
	"github.com/millrace/millrace/internal/contract/wire"
	"github.com/millrace/millrace/internal/resource/flag"
	"github.com/millrace/millrace/internal/resource/flag/flageval"
)

// FlagSettings are the fields of a flag that are told alike when it is made and when it is
// changed.
type FlagSettings struct {
	Name           rpc.Patch[string]                   `json:"name,omitzero" minLength:"1" maxLength:"255" nullable:"true" doc:"Name of the flag; null for its key."`
	Description    rpc.Patch[string]                   `json:"description,omitzero" maxLength:"2000" nullable:"true"`
	Visibility     rpc.Patch[string]                   `json:"visibility,omitzero" enum:"public,server" doc:"Who can evaluate the flag: public for anyone with a client id, server for API keys only. New flags are public."`
	Tags           rpc.Patch[[]string]                 `json:"tags,omitzero" maxItems:"10" maxLength:"50"`
	Owner          rpc.Patch[string]                   `json:"owner,omitzero" maxLength:"255" nullable:"true" doc:"Person or team that is responsible for the flag."`
	StaleAfterDays rpc.Patch[int]                      `json:"staleAfterDays,omitzero" minimum:"1" maximum:"3650" nullable:"true" doc:"Days without a change after which the flag counts as stale; null for never."`
	Exposures      rpc.Patch[exposureFields]           `json:"exposures,omitzero" doc:"Which evaluations are counted. Replaced as a whole."`
	Variants       rpc.Patch[flagVariants]             `json:"variants,omitzero" minItems:"1" maxItems:"50" doc:"Values that the flag can serve. Required in a new flag, except a boolean flag, which has on and off. Replaced as a whole."`
	DefaultVariant rpc.Patch[string]                   `json:"defaultVariant,omitzero" minLength:"1" maxLength:"128" nullable:"true" doc:"Key of the variant that is served if no target and no rule applies. Null, for a boolean flag only: on if the flag has no rules and targets, otherwise off."`
	OffVariant     rpc.Patch[string]                   `json:"offVariant,omitzero" minLength:"1" maxLength:"128" nullable:"true" doc:"Key of the variant that is served while the flag is off. Null, for a boolean flag only: off."`
	Schedule       rpc.Patch[nullable[scheduleFields]] `json:"schedule,omitzero" nullable:"true" doc:"Time range in which the flag serves variants other than offVariant; null for always."`
	Prerequisites  rpc.Patch[[]prerequisiteFields]     `json:"prerequisites,omitzero" maxItems:"10" doc:"Flags of the same website, or of all websites, that must serve one of the given variants. Replaced as a whole."`
	Targets        rpc.Patch[[]targetFields]           `json:"targets,omitzero" maxItems:"10000" doc:"Users who get a variant regardless of the rules; at most 10,000 in all. Replaced as a whole."`
	Rules          rpc.Patch[[]flagRule]               `json:"rules,omitzero" maxItems:"100" doc:"Rules, in order of evaluation. The first rule that applies serves the variant. Replaced as a whole."`
	Environments   rpc.Patch[map[string]flagOverride]  `json:"environments,omitzero" doc:"Overrides by environment name; at most 20. Replaced as a whole."`
}

type exposureFields struct {
	Mode          string `json:"mode,omitempty" enum:"split,all,off" doc:"split counts users for whom a percentage decided, all counts everyone, off counts no one; split if absent."`
	SamplePercent int    `json:"samplePercent,omitempty" minimum:"1" maximum:"100" doc:"Percentage of users that are counted; 100 if absent."`
}

func (f exposureFields) exposures() flag.Exposures {
	e := flag.Exposures{Mode: flag.ExposureMode(f.Mode), SamplePercent: f.SamplePercent}
	if e.Mode == "" {
		e.Mode = flag.ExposeSplit
	}
	if e.SamplePercent == 0 {
		e.SamplePercent = 100
	}
	return e
}

func (in *FlagSettings) fields() flag.Fields {
	f := flag.Fields{
		Name: sent(in.Name), Description: sent(in.Description), Tags: sent(in.Tags), Owner: sent(in.Owner),
		StaleAfterDays: sent(in.StaleAfterDays), DefaultVariant: sent(in.DefaultVariant), OffVariant: sent(in.OffVariant),
		Visibility:    sentAs(in.Visibility, func(v string) flag.Visibility { return flag.Visibility(v) }),
		Exposures:     sentAs(in.Exposures, exposureFields.exposures),
		Variants:      sentAs(in.Variants, func(v flagVariants) []flageval.Variant { return v.V }),
		Schedule:      sentAs(in.Schedule, func(v nullable[scheduleFields]) flageval.Schedule { return v.V.schedule() }),
		Prerequisites: sentEach(in.Prerequisites, prerequisiteFields.prerequisite),
		Targets:       sentEach(in.Targets, targetFields.target),
		Rules:         sentEach(in.Rules, flagRule.rule),
	}
	f.Environments = sentAs(in.Environments, func(all map[string]flagOverride) map[string]flageval.Override {
		return eachNamed(all, flagOverride.override)
	})
	return f
}

// sentAs is sent of a value that becomes something else.
func sentAs[In, Out any](p rpc.Patch[In], to func(In) Out) *Out {
	if !p.Set {
		return nil
	}
	var zero In
	out := to(p.Or(zero))
	return &out
}

type flagCreate struct {
	rpc.InOrganization
	FlagSettings

	Key       string            `json:"key" pattern:"^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$" maxLength:"128" doc:"Key of the flag, unique among the flags of the website, or of all websites. It cannot be changed."`
	Type      string            `json:"type" enum:"boolean,string,number,json" doc:"Type of the flag's values. It cannot be changed."`
	WebsiteID rpc.Patch[string] `json:"websiteId,omitzero" minLength:"1" maxLength:"128" nullable:"true" doc:"Id or client id of the flag's website; null for all websites of the organization. It cannot be changed."`
}

// FlagChange is the input of changes without settings.
type FlagChange struct {
	rpc.InOrganization
	rpc.ID
	rpc.Version
}

type flagUpdate struct {
	FlagChange
	FlagSettings
}

type flagGet struct {
	rpc.InOrganization

	ID        string            `json:"id,omitempty" minLength:"1" maxLength:"64" doc:"Id of the flag."`
	Key       string            `json:"key,omitempty" minLength:"1" maxLength:"128" doc:"Key of the flag, instead of its id."`
	WebsiteID rpc.Patch[string] `json:"websiteId,omitzero" minLength:"1" maxLength:"128" nullable:"true" doc:"Website of the key; null for a flag of all websites."`
	Version   int64             `json:"version,omitempty" minimum:"1" maximum:"9007199254740991" doc:"Number of a stored version; the latest if absent."`
}

type flagList struct {
	rpc.InOrganization
	rpc.Page

	WebsiteID rpc.Patch[string] `json:"websiteId,omitzero" minLength:"1" maxLength:"128" nullable:"true" doc:"Only flags of this website; null for only flags of all websites."`
	Status    string            `json:"status,omitempty" enum:"active,inactive,archived" doc:"Only flags with this status; all except archived flags if absent."`
	Tag       string            `json:"tag,omitempty" minLength:"1" maxLength:"50"`
	Search    string            `json:"search,omitempty" minLength:"2" maxLength:"100" doc:"Substring of the key, name or description, in any case."`
	Sort      string            `json:"sort,omitempty" enum:"-createdAt,createdAt" default:"-createdAt" doc:"Sort order; -createdAt lists the newest first."`
}

type flagDuplicate struct {
	rpc.InOrganization
	rpc.ID

	Key       string            `json:"key" pattern:"^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$" maxLength:"128" doc:"Key of the new flag."`
	Name      rpc.Patch[string] `json:"name,omitzero" minLength:"1" maxLength:"255" nullable:"true" doc:"Name of the new flag; its key if absent."`
	WebsiteID rpc.Patch[string] `json:"websiteId,omitzero" minLength:"1" maxLength:"128" nullable:"true" doc:"Website of the new flag; null for all websites. If absent, the website of the source flag."`
}

type flagAddTargets struct {
	FlagChange

	Variant     string   `json:"variant" minLength:"1" maxLength:"128" doc:"Key of the variant that the users get. It replaces a variant that they had before."`
	UserIDs     []string `json:"userIds,omitempty" maxItems:"10000" maxLength:"256"`
	Emails      []string `json:"emails,omitempty" maxItems:"10000" maxLength:"256"`
	Mode        string   `json:"mode,omitempty" enum:"append,replace" default:"append" doc:"Whether other users keep the variant."`
	Environment string   `json:"environment,omitempty" minLength:"1" maxLength:"128" doc:"Environment of the flag; the base if absent."`
}

type flagRemoveTargets struct {
	FlagChange

	UserIDs     []string `json:"userIds,omitempty" maxItems:"10000" maxLength:"256"`
	Emails      []string `json:"emails,omitempty" maxItems:"10000" maxLength:"256"`
	Environment string   `json:"environment,omitempty" minLength:"1" maxLength:"128" doc:"Environment of the flag; the base if absent."`
}

type flagVersions struct {
	rpc.InOrganization
	rpc.ID
	rpc.Page
}

type flagRollback struct {
	rpc.InOrganization
	rpc.ID

	Version        int64 `json:"version" minimum:"1" maximum:"9007199254740991" doc:"Number of the version to restore."`
	CurrentVersion int64 `json:"currentVersion,omitempty" minimum:"1" maximum:"9007199254740991" doc:"Version that the change is based on. Returns 409 if the flag has another version by now."`
}

// FlagSummary is a flag without its definition.
type FlagSummary struct {
	ID             string         `json:"id"`
	OrganizationID string         `json:"organizationId"`
	WebsiteID      *string        `json:"websiteId" nullable:"true" doc:"Null for a flag of all websites of the organization."`
	Version        int64          `json:"version" doc:"Number that increases with every change."`
	Key            string         `json:"key"`
	Name           string         `json:"name"`
	Description    *string        `json:"description" nullable:"true"`
	Type           string         `json:"type" enum:"boolean,string,number,json"`
	Status         string         `json:"status" enum:"active,inactive,archived"`
	Visibility     string         `json:"visibility" enum:"public,server"`
	Tags           []string       `json:"tags"`
	Owner          *string        `json:"owner" nullable:"true"`
	StaleAfterDays *int           `json:"staleAfterDays" nullable:"true"`
	Stale          bool           `json:"stale" doc:"Whether the flag has not changed for staleAfterDays."`
	Exposures      exposureFields `json:"exposures"`
	CreatedAt      *rpc.Time      `json:"createdAt"`
	UpdatedAt      *rpc.Time      `json:"updatedAt"`
	CreatedBy      *string        `json:"createdBy" nullable:"true" doc:"Id of the user who created the flag; null for the operator's command."`
}

type flagBody struct {
	FlagSummary

	Variants       flagVariants              `json:"variants"`
	DefaultVariant string                    `json:"defaultVariant"`
	OffVariant     string                    `json:"offVariant"`
	Schedule       *nullable[scheduleFields] `json:"schedule" nullable:"true"`
	Prerequisites  []prerequisiteFields      `json:"prerequisites"`
	Targets        []targetFields            `json:"targets"`
	Rules          []flagRule                `json:"rules"`
	Environments   map[string]flagOverride   `json:"environments"`
}

type versionBody struct {
	Version int64     `json:"version"`
	Action  string    `json:"action" doc:"Action, as in the audit."`
	Changed []string  `json:"changed" doc:"Fields that the action changed; empty for the first version."`
	At      *rpc.Time `json:"at"`
	By      actorBody `json:"by"`
}

type actorBody struct {
	Type string `json:"type"`
	ID   string `json:"id"`
	Name string `json:"name"`
}

func newFlagSummary(f *flag.Flag, now time.Time) FlagSummary {
	a := &f.About
	return FlagSummary{
		ID: f.ID, OrganizationID: f.OrganizationID, WebsiteID: wire.OrNull(f.WebsiteID), Version: f.Version, Key: f.Key(),
		Name:        f.Name,
		Description: wire.OrNull(a.Description), Type: string(a.Type), Status: string(f.State),
		Visibility: string(a.Visibility), Tags: list(a.Tags),
		Owner: wire.OrNull(a.Owner), StaleAfterDays: wire.OrNull(a.StaleAfterDays), Stale: f.Stale(now),
		Exposures: exposureFields{string(a.Exposures.Mode), a.Exposures.SamplePercent},
		CreatedAt: rpc.At(f.CreatedAt), UpdatedAt: rpc.At(f.UpdatedAt), CreatedBy: wire.OrNull(f.CreatedBy),
	}
}

func newFlagBody(f *flag.Flag, now time.Time) *flagBody {
	d := &f.Definition
	return &flagBody{
		FlagSummary: newFlagSummary(f, now), Variants: flagVariants{d.Variants}, DefaultVariant: d.DefaultVariant,
		OffVariant: d.OffVariant,
		Schedule:   orNone(newSchedule(d.Schedule)), Prerequisites: each(d.Prerequisites, newPrerequisite),
		Targets: each(d.Targets, newTarget),
		Rules:   each(d.Rules, newFlagRule), Environments: eachNamed(d.Environments, newFlagOverride),
	}
}

// ServedFlag returns a flag as flags/get tells it, for its JSON.
func ServedFlag(f *flag.Flag, now time.Time) any { return newFlagBody(f, now) }

func newVersionBody(v flag.Version) versionBody {
	return versionBody{
		Version: v.Number, Action: "flag." + string(v.Action), Changed: list(v.Changed), At: rpc.At(v.At),
		By: actorBody{v.ActorType, v.ActorID, v.ActorName},
	}
}
