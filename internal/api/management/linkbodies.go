package management

import (
	"time"

	"github.com/millrace/millrace/internal/api/rpc"
	"github.com/millrace/millrace/internal/contract/wire"
	"github.com/millrace/millrace/internal/resource/link"
)

// LinkSettings are the fields of a link that are told alike when it is made and when it is
// changed.
type LinkSettings struct {
	Domain         rpc.Patch[string]    `json:"domain,omitzero" maxLength:"253" nullable:"true" doc:"Hostname of a verified domain of the organization; null or empty for the shared host."`
	Slug           string               `json:"slug,omitempty" minLength:"1" maxLength:"190" doc:"Path of the link. On the shared host, 3 to 50 letters, digits, hyphens and underscores, matched without regard to case. On a domain, at most 190 bytes in at most 8 segments separated by slashes."`
	Name           rpc.Patch[string]    `json:"name,omitzero" maxLength:"255" nullable:"true" doc:"Name of the link."`
	FolderID       rpc.Patch[string]    `json:"folderId,omitzero" minLength:"1" maxLength:"64" nullable:"true" doc:"Id of the folder; null for no folder."`
	Tags           rpc.Patch[[]string]  `json:"tags,omitzero" maxItems:"10" maxLength:"50"`
	Enabled        rpc.Patch[bool]      `json:"enabled,omitzero" doc:"Whether the link redirects; true for new links."`
	StartsAt       rpc.Patch[rpc.Time]  `json:"startsAt,omitzero" nullable:"true" doc:"Time from which the link redirects; null for no start."`
	ExpiresAt      rpc.Patch[rpc.Time]  `json:"expiresAt,omitzero" nullable:"true" doc:"Time until which the link redirects; null for no end."`
	ExpiredURL     rpc.Patch[string]    `json:"expiredUrl,omitzero" minLength:"1" maxLength:"2048" nullable:"true" doc:"URL to which an expired or exhausted link redirects; null for none."`
	MaxClicks      rpc.Patch[int64]     `json:"maxClicks,omitzero" minimum:"1" maximum:"1000000000" nullable:"true" doc:"Number of clicks by people after which the link is exhausted; null for no limit."`
	Password       rpc.Patch[string]    `json:"password,omitzero" minLength:"4" maxLength:"128" nullable:"true" doc:"Password that visitors must enter; null for none. It cannot be read back."`
	RedirectStatus rpc.Patch[int]       `json:"redirectStatus,omitzero" enum:"301,302,307,308" doc:"HTTP status of the redirect; 302 for new links."`
	ForwardQuery   rpc.Patch[bool]      `json:"forwardQuery,omitzero" doc:"Whether the visitor's query string is passed on; true for new links."`
	UTM            rpc.Patch[utmFields] `json:"utm,omitzero" doc:"Campaign parameters that are added to the URL. Replaced as a whole; {} for none."`

	Rules    rpc.Patch[[]ruleFields]    `json:"rules,omitzero" maxItems:"20" doc:"Rules that send visitors to other URLs; the first rule that matches applies. Replaced as a whole; [] for none."`
	Variants rpc.Patch[[]variantFields] `json:"variants,omitzero" maxItems:"10" doc:"2 to 10 URLs among which visitors who match no rule are divided; each visitor always gets the same one. Replaced as a whole; [] for none, so that all of them go to url."`
	Preview  rpc.Patch[previewFields]   `json:"preview,omitzero" doc:"Preview that other services show where the link is posted. Replaced as a whole; {} for the preview of the target page."`
}

type utmFields struct {
	Source   string `json:"source,omitempty" maxLength:"255"`
	Medium   string `json:"medium,omitempty" maxLength:"255"`
	Campaign string `json:"campaign,omitempty" maxLength:"255"`
	Term     string `json:"term,omitempty" maxLength:"255"`
	Content  string `json:"content,omitempty" maxLength:"255"`
}

func (in *LinkSettings) fields() link.Fields {
	f := link.Fields{
		Domain: sent(in.Domain), Slug: wire.OrNull(in.Slug), Name: sent(in.Name), FolderID: sent(in.FolderID),
		Tags: sent(in.Tags), Enabled: sent(in.Enabled),
		StartsAt: sentTime(in.StartsAt), ExpiresAt: sentTime(in.ExpiresAt), ExpiredURL: sent(in.ExpiredURL),
		MaxClicks: sent(in.MaxClicks), Password: sent(in.Password), RedirectStatus: sent(in.RedirectStatus),
		ForwardQuery: sent(in.ForwardQuery),
	}
	if in.UTM.Set {
		utm := link.UTM(in.UTM.Or(utmFields{}))
		f.UTM = &utm
	}
	f.Rules, f.Variants = sentEach(in.Rules, ruleFields.rule), sentEach(in.Variants, variantFields.variant)
	if in.Preview.Set {
		preview := link.Preview(in.Preview.Or(previewFields{}))
		f.Preview = &preview
	}
	return f
}

// LinkFields are what a new link is made from.
type LinkFields struct {
	LinkSettings

	URL        string            `json:"url" minLength:"1" maxLength:"2048" doc:"Absolute URL to which the link redirects."`
	ExternalID rpc.Patch[string] `json:"externalId,omitzero" minLength:"1" maxLength:"255" nullable:"true" doc:"Your own id of the link, unique in the organization."`
}

func (in *LinkFields) fields() link.Fields {
	f := in.LinkSettings.fields()
	f.URL, f.ExternalID = &in.URL, sent(in.ExternalID)
	return f
}

type linkCreate struct {
	rpc.InOrganization
	LinkFields
}

// LinkChange is the input of changes without settings.
type LinkChange struct {
	rpc.InOrganization
	rpc.ID
	rpc.Version
}

// LinkPatch are the fields of a link that can be changed.
type LinkPatch struct {
	LinkSettings

	URL        rpc.Patch[string] `json:"url,omitzero" minLength:"1" maxLength:"2048" doc:"Absolute URL to which the link redirects."`
	ExternalID rpc.Patch[string] `json:"externalId,omitzero" minLength:"1" maxLength:"255" nullable:"true" doc:"Your own id of the link, unique in the organization."`
}

func (in *LinkPatch) fields() link.Fields {
	f := in.LinkSettings.fields()
	f.URL, f.ExternalID = sent(in.URL), sent(in.ExternalID)
	return f
}

type linkUpdate struct {
	LinkChange
	LinkPatch
}

type linkUpsert struct {
	rpc.InOrganization
	LinkSettings

	URL        rpc.Patch[string] `json:"url,omitzero" minLength:"1" maxLength:"2048" doc:"Absolute URL to which the link redirects; required if the link does not exist."`
	ExternalID string            `json:"externalId" minLength:"1" maxLength:"255" doc:"Your own id of the link."`
}

func (in *linkUpsert) fields() link.Fields {
	f := in.LinkSettings.fields()
	f.URL, f.ExternalID = sent(in.URL), &in.ExternalID
	return f
}

type linkGet struct {
	rpc.InOrganization
	WithClicks

	ID         string `json:"id,omitempty" minLength:"1" maxLength:"64" doc:"Id of the link."`
	ExternalID string `json:"externalId,omitempty" minLength:"1" maxLength:"255" doc:"Your own id of the link."`
	Domain     string `json:"domain,omitempty" minLength:"1" maxLength:"253" doc:"Hostname of the domain that the slug is on; absent for the shared host."`
	Slug       string `json:"slug,omitempty" minLength:"1" maxLength:"190" doc:"Path of the link."`
}

type linkList struct {
	rpc.InOrganization
	rpc.Page
	WithClicks

	Domain   rpc.Patch[string] `json:"domain,omitzero" maxLength:"253" nullable:"true" doc:"Only links of the domain with this hostname; null or empty for links of the shared host."`
	FolderID rpc.Patch[string] `json:"folderId,omitzero" minLength:"1" maxLength:"64" nullable:"true" doc:"Only links in this folder; null for links in no folder."`
	Tag      string            `json:"tag,omitempty" minLength:"1" maxLength:"50"`
	Status   string            `json:"status,omitempty" enum:"active,scheduled,expired,exhausted,disabled,blocked,deleted"`
	Search   string            `json:"search,omitempty" minLength:"2" maxLength:"100" doc:"Substring of the slug, name, URL or externalId, in any case."`
	Sort     string            `json:"sort,omitempty" enum:"-createdAt,createdAt" default:"-createdAt" doc:"Sort order; -createdAt lists the newest first."`
}

type linksCreate struct {
	rpc.InOrganization

	Items []LinkFields `json:"items" minItems:"1" maxItems:"100"`
}

type linkUpdateItem struct {
	rpc.ID
	rpc.Version
	LinkPatch
}

type linksUpdate struct {
	rpc.InOrganization

	Items []linkUpdateItem `json:"items" minItems:"1" maxItems:"100"`
}

type linkDeleteItem struct {
	rpc.ID
	rpc.Version
}

type linksDelete struct {
	rpc.InOrganization

	Items []linkDeleteItem `json:"items" minItems:"1" maxItems:"100"`
}

type linkItems struct {
	Items []rpc.Item[LinkBody] `json:"items"`
}

type slugInput struct {
	rpc.InOrganization

	Domain string `json:"domain,omitempty" maxLength:"253" doc:"Hostname of a domain of the organization; absent or empty for the shared host."`
	Slug   string `json:"slug" minLength:"1" maxLength:"190"`
}

type slugBody struct {
	Available bool   `json:"available"`
	Reason    string `json:"reason,omitempty" enum:"invalid_slug,reserved,taken"`
	Message   string `json:"message,omitempty"`
}

type tagList struct {
	rpc.InOrganization
	rpc.Page
}

type tagBody struct {
	Tag   string `json:"tag"`
	Links int64  `json:"links" doc:"Number of links with the tag."`
}

// LinkBody is a link as the wire has it, without its password.
type LinkBody struct {
	ID              string          `json:"id"`
	OrganizationID  string          `json:"organizationId"`
	Version         int64           `json:"version" doc:"Number that increases with every change."`
	ShortURL        *string         `json:"shortUrl" nullable:"true" doc:"URL of the short link; null if the installation has no short-link host, or the domain of a deleted link no longer exists."`
	Domain          *string         `json:"domain" nullable:"true" doc:"Hostname of the domain that the link is on; null for the shared host."`
	Slug            string          `json:"slug"`
	URL             string          `json:"url"`
	Name            *string         `json:"name" nullable:"true"`
	Status          string          `json:"status" enum:"active,scheduled,expired,exhausted,disabled,blocked,deleted"`
	FolderID        *string         `json:"folderId" nullable:"true"`
	Tags            []string        `json:"tags"`
	ExternalID      *string         `json:"externalId" nullable:"true"`
	Enabled         bool            `json:"enabled"`
	StartsAt        *rpc.Time       `json:"startsAt" nullable:"true"`
	ExpiresAt       *rpc.Time       `json:"expiresAt" nullable:"true"`
	ExpiredURL      *string         `json:"expiredUrl" nullable:"true"`
	MaxClicks       *int64          `json:"maxClicks" nullable:"true"`
	HasPassword     bool            `json:"hasPassword"`
	RedirectStatus  int             `json:"redirectStatus"`
	ForwardQuery    bool            `json:"forwardQuery"`
	UTM             utmFields       `json:"utm"`
	Rules           []ruleFields    `json:"rules"`
	Variants        []variantFields `json:"variants"`
	Preview         previewFields   `json:"preview"`
	CreatedAt       *rpc.Time       `json:"createdAt"`
	UpdatedAt       *rpc.Time       `json:"updatedAt"`
	DeletedAt       *rpc.Time       `json:"deletedAt" nullable:"true"`
	RestorableUntil *rpc.Time       `json:"restorableUntil" nullable:"true" doc:"Time until which a deleted link can be restored."`
	CreatedBy       *string         `json:"createdBy" nullable:"true" doc:"Id of the user who created the link; null for the operator's command."`
}

type upsertedBody struct {
	LinkBody

	Created bool `json:"created" doc:"Whether the call created the link."`
}

func newLinkBody(l *link.Link, rules *link.Rules, now time.Time) *LinkBody {
	b := &LinkBody{
		ID: l.ID, OrganizationID: l.OrganizationID, Version: l.Version, ShortURL: wire.OrNull(rules.ShortURL(l)),
		Domain: wire.OrNull(l.Hostname), Slug: l.Slug, URL: l.URL,
		Name: wire.OrNull(l.Name), Status: string(l.Status(now)), FolderID: wire.OrNull(l.FolderID), Tags: list(l.Tags),
		ExternalID: wire.OrNull(l.ExternalID), Enabled: l.Enabled, StartsAt: rpc.At(l.StartsAt),
		ExpiresAt:  rpc.At(l.ExpiresAt),
		ExpiredURL: wire.OrNull(l.ExpiredURL), MaxClicks: wire.OrNull(l.MaxClicks), HasPassword: l.PasswordHash != "",
		RedirectStatus: l.RedirectStatus, ForwardQuery: l.ForwardQuery, UTM: utmFields(l.UTM),
		Rules: each(l.Rules, newRuleFields), Variants: each(l.Variants, newVariantFields), Preview: previewFields(l.Preview),
		CreatedAt: rpc.At(l.CreatedAt), UpdatedAt: rpc.At(l.UpdatedAt), DeletedAt: rpc.At(l.DeletedAt),
		CreatedBy: wire.OrNull(l.CreatedBy),
	}
	if l.Deleted() {
		b.RestorableUntil = rpc.At(l.DeletedAt.Add(link.RestoreFor))
	}
	return b
}
