package management

import (
	"context"
	"errors"
	"time"

	"github.com/millrace/millrace/internal/api/rpc"
	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/contract/wire"
	"github.com/millrace/millrace/internal/tenant/auth"
	"github.com/millrace/millrace/internal/tenant/managed"
	"github.com/millrace/millrace/internal/tenant/org"
	"github.com/millrace/millrace/internal/tenant/website"
	"github.com/millrace/millrace/web/tracker"
)

// Websites are the operations on websites.
type Websites struct {
	Service *website.Service
	// Organizations says what new websites begin with; nil means UTC.
	Organizations *org.Service
	// IngestURL is the public address of the ingestion host, for snippets.
	IngestURL string
}

// Resource returns the rows.
func (s *Websites) Resource() rpc.Resource {
	const sessionsAndKeys = " A key that is limited to one website can access only that website."
	return rpc.Resource{
		Name: "websites", Summary: "Websites and apps whose events are collected.",
		Failures: []rpc.Failure{
			{Err: website.ErrNotFound, Code: apierr.NotFound, Message: "Website not found"},
			{Err: website.ErrNotCovered, Code: apierr.AccessDenied, Message: "The API key is limited to another website"},
			{
				Err:     website.ErrDomainTaken,
				Code:    apierr.Conflict,
				Message: "Another website of the organization already has this domain",
			},
			{Err: website.ErrClientIDTaken, Code: apierr.Conflict, Message: "The client id is already taken; try again"},
			{Err: managed.ErrChanged, Code: apierr.Conflict, Message: "The website has changed since it was read"},
			{Err: website.ErrNotDeleted, Code: apierr.Conflict, Message: "The website is not deleted"},
			{Err: org.ErrNotFound, Code: apierr.NotFound, Message: "Organization not found"},
		},
		Operations: []rpc.Operation{
			rpc.Op(rpc.Spec{
				Name: "create", Summary: "Create a website", Class: auth.AddWebsites, Creates: true, Audit: "website.created",
				Detail: "Extracts the domain from a URL and removes \"www.\". A domain can belong to only one website of the " +
					"organization. The client id, which the tracking tag contains, initially equals the id. A key that is limited " +
					"to one website cannot create websites.",
			}, s.create),
			rpc.Op(rpc.Spec{
				Name:    "get",
				Summary: "Get a website and its settings",
				Class:   auth.ReadWebsites,
				Detail:  "Finds the website by id or client id." + sessionsAndKeys,
			}, s.get),
			rpc.Op(rpc.Spec{
				Name: "list", Summary: "List websites", Class: auth.ViewWebsites,
				Detail: "Lists existing websites. With deleted, lists websites that can be restored. Omits the " +
					"settings for a key that cannot manage websites." + sessionsAndKeys,
			}, s.list),
			rpc.Op(rpc.Spec{
				Name: "update", Summary: "Update a website or its settings", Class: auth.ManageWebsites, Audit: "website.updated",
				Detail: "Absent fields keep their values; lists are replaced as a whole." + sessionsAndKeys,
			}, s.update),
			rpc.Op(
				rpc.Spec{
					Name:    "publish",
					Summary: "Make a website's overview public",
					Class:   auth.ManageWebsites,
					Audit:   "website.published",
				},
				s.publish(true)),
			rpc.Op(rpc.Spec{
				Name:    "unpublish",
				Summary: "Make a website's overview private",
				Class:   auth.ManageWebsites,
				Audit:   "website.unpublished",
			}, s.publish(false)),
			rpc.Op(rpc.Spec{
				Name: "rotateClientId", Summary: "Rotate the client id of a website", Class: auth.ManageWebsites,
				Audit:  "website.clientIdRotated",
				Detail: "Events with the old client id are rejected at once, or after a grace period.",
			}, s.rotate),
			rpc.Op(rpc.Spec{
				Name: "delete", Summary: "Delete a website", Class: auth.ManageWebsites, Audit: "website.deleted",
				Detail: "Its events and queries are rejected at once, and its domain becomes available. The website can be " +
					"restored for 30 days; after that all of its data is erased.",
			}, s.delete),
			rpc.Op(rpc.Spec{
				Name: "restore", Summary: "Restore a deleted website", Class: auth.ManageWebsites, Audit: "website.restored",
				Detail: "Restores everything, unless another website has taken its domain.",
			}, s.restore),
			s.moving(),
			rpc.Op(rpc.Spec{Name: "snippet", Summary: "Get the tracking tag of a website", Class: auth.ViewWebsites}, s.snippet),
		},
	}
}

// WebsiteRef names a website in an input. It is exported, as all that is embedded
// is: the registry sees no other fields.
type WebsiteRef struct {
	rpc.InOrganization

	ID string `json:"id" minLength:"1" maxLength:"128" doc:"Id or client id of the website."`
}

// WebsiteChange is the input of changes without settings.
type WebsiteChange struct {
	WebsiteRef
	rpc.Version
}

type websiteCreate struct {
	rpc.InOrganization

	Name     string          `json:"name" minLength:"1" maxLength:"100" doc:"Name of the website."`
	Domain   string          `json:"domain" minLength:"1" maxLength:"2048" doc:"Host name of the website, or a URL that contains it." example:"shop.example.com"`
	Timezone string          `json:"timezone,omitempty" minLength:"1" maxLength:"64" doc:"IANA time zone for displays; queries specify their own. If absent, the organization's defaults.timezone." example:"Europe/Berlin"`
	IsPublic bool            `json:"isPublic,omitempty" doc:"Whether the overview can be queried without a credential."`
	Settings websiteSettings `json:"settings,omitzero"`
}

type websiteUpdate struct {
	WebsiteChange

	Name     rpc.Patch[string] `json:"name,omitzero" minLength:"1" maxLength:"100" doc:"Name of the website."`
	Domain   rpc.Patch[string] `json:"domain,omitzero" minLength:"1" maxLength:"2048" doc:"Host name of the website, or a URL that contains it."`
	Timezone rpc.Patch[string] `json:"timezone,omitzero" minLength:"1" maxLength:"64" doc:"IANA time zone for displays; queries specify their own."`
	Settings websiteSettings   `json:"settings,omitzero"`
}

// websiteSettings are settings in an input: what is absent stays, or has its
// default.
type websiteSettings struct {
	AllowedOrigins        rpc.Patch[[]string]  `json:"allowedOrigins,omitzero" maxItems:"100" maxLength:"2048" doc:"Further hosts whose pages can send events with the client id, besides the domain and its subdomains: exact names or *.example.com. If the list is not empty, requests without Origin are rejected too."`
	AllowedIPs            rpc.Patch[[]string]  `json:"allowedIps,omitzero" maxItems:"100" maxLength:"64" doc:"IP addresses and CIDR ranges that can send events with the client id. Empty allows all."`
	ExcludedPaths         rpc.Patch[[]string]  `json:"excludedPaths,omitzero" maxItems:"100" maxLength:"256" doc:"Path patterns whose events are dropped. * matches one segment, ** any number."`
	ExcludedIPs           rpc.Patch[[]string]  `json:"excludedIps,omitzero" maxItems:"100" maxLength:"64" doc:"IP addresses and CIDR ranges whose events are dropped."`
	MaskPatterns          rpc.Patch[[]string]  `json:"maskPatterns,omitzero" maxItems:"100" maxLength:"256" doc:"Path patterns whose segments that match a star are stored as a star."`
	AnonymizeVisitorIDs   rpc.Patch[anonymize] `json:"anonymizeVisitorIds,omitzero" doc:"Whether visitor ids are stored hashed with the salt of the day, for events that do not specify it."`
	SessionTimeoutMinutes rpc.Patch[int]       `json:"sessionTimeoutMinutes,omitzero" minimum:"1" maximum:"1440" doc:"Minutes of inactivity after which the tracker starts a new session; 30 by default. The tracking tag contains the value: replace the tag in your pages after a change."`
	BotFilter             rpc.Patch[bool]      `json:"botFilter,omitzero" doc:"Whether events of known bots are dropped; true by default."`
	HonorGPC              rpc.Patch[bool]      `json:"honorGlobalPrivacyControl,omitzero" doc:"Whether events of browsers that send Sec-GPC: 1 are dropped; false by default."`
	HonorDNT              rpc.Patch[bool]      `json:"honorDoNotTrack,omitzero" doc:"Whether events of browsers that send DNT: 1 are dropped; false by default."`
	DataRetentionDays     rpc.Patch[int]       `json:"dataRetentionDays,omitzero" minimum:"1" maximum:"3650" nullable:"true" doc:"Days for which events and rollups are kept; null to keep them forever."`
	TrackQueryParams      rpc.Patch[[]string]  `json:"trackQueryParams,omitzero" maxItems:"100" maxLength:"64" doc:"Query parameters that are stored in URLs in addition to campaign parameters."`
}

// apply changes the settings that were sent.
func (in *websiteSettings) apply(s *website.Settings) {
	for _, l := range []struct {
		from rpc.Patch[[]string]
		to   *[]string
	}{
		{in.AllowedOrigins, &s.AllowedOrigins},
		{in.AllowedIPs, &s.AllowedIPs},
		{in.ExcludedPaths, &s.ExcludedPaths},
		{in.ExcludedIPs, &s.ExcludedIPs},
		{in.MaskPatterns, &s.MaskPatterns},
		{in.TrackQueryParams, &s.TrackQueryParams},
	} {
		*l.to = l.from.Or(*l.to)
	}
	s.AnonymizeVisitorIDs = string(in.AnonymizeVisitorIDs.Or(anonymize(s.AnonymizeVisitorIDs)))
	s.SessionTimeoutMinutes = in.SessionTimeoutMinutes.Or(s.SessionTimeoutMinutes)
	s.KeepBots = !in.BotFilter.Or(!s.KeepBots)
	s.HonorGlobalPrivacyControl = in.HonorGPC.Or(s.HonorGlobalPrivacyControl)
	s.HonorDoNotTrack = in.HonorDNT.Or(s.HonorDoNotTrack)
	s.DataRetentionDays = in.DataRetentionDays.Or(s.DataRetentionDays)
}

type websiteList struct {
	rpc.InOrganization
	rpc.Page

	Search  string `json:"search,omitempty" minLength:"1" maxLength:"100" doc:"Substring of the name or domain, in any case."`
	Sort    string `json:"sort,omitempty" enum:"-createdAt,createdAt" default:"-createdAt" doc:"Sort order; -createdAt lists the newest first."`
	Deleted bool   `json:"deleted,omitempty" doc:"Lists the websites that can be restored instead."`
}

type websiteRotate struct {
	WebsiteChange

	GracePeriodSeconds int `json:"gracePeriodSeconds,omitempty" minimum:"0" maximum:"2592000" doc:"Seconds for which the old client id is still accepted."`
}

type websiteBody struct {
	ID               string               `json:"id"`
	OrganizationID   string               `json:"organizationId"`
	Version          int64                `json:"version" doc:"Number that increases with every change."`
	ClientID         string               `json:"clientId" doc:"Public id that browsers send."`
	OldClientID      *string              `json:"oldClientId" nullable:"true" doc:"Client id before the last rotation, while it is accepted."`
	OldClientIDUntil *rpc.Time            `json:"oldClientIdUntil" nullable:"true"`
	Name             string               `json:"name"`
	Domain           string               `json:"domain"`
	Timezone         string               `json:"timezone"`
	IsPublic         bool                 `json:"isPublic"`
	Settings         *websiteSettingsBody `json:"settings,omitempty" doc:"Absent for API keys that cannot manage websites."`
	CreatedAt        *rpc.Time            `json:"createdAt"`
	UpdatedAt        *rpc.Time            `json:"updatedAt"`
	DeletedAt        *rpc.Time            `json:"deletedAt" nullable:"true"`
	RestorableUntil  *rpc.Time            `json:"restorableUntil" nullable:"true" doc:"Only for a deleted website."`
	CreatedBy        *string              `json:"createdBy" nullable:"true" doc:"Id of the user who created the website; null for the operator's command."`
}

type websiteSettingsBody struct {
	AllowedOrigins        []string  `json:"allowedOrigins"`
	AllowedIPs            []string  `json:"allowedIps"`
	ExcludedPaths         []string  `json:"excludedPaths"`
	ExcludedIPs           []string  `json:"excludedIps"`
	MaskPatterns          []string  `json:"maskPatterns"`
	AnonymizeVisitorIDs   anonymize `json:"anonymizeVisitorIds"`
	SessionTimeoutMinutes int       `json:"sessionTimeoutMinutes"`
	BotFilter             bool      `json:"botFilter"`
	HonorGPC              bool      `json:"honorGlobalPrivacyControl"`
	HonorDNT              bool      `json:"honorDoNotTrack"`
	DataRetentionDays     *int      `json:"dataRetentionDays" nullable:"true"`
	TrackQueryParams      []string  `json:"trackQueryParams"`
}

func (s *Websites) body(w *website.Website, now time.Time) *websiteBody {
	b := &websiteBody{
		ID: w.ID, OrganizationID: w.OrganizationID, Version: w.Version, ClientID: w.ClientID,
		Name: w.Name, Domain: w.Domain, Timezone: w.Timezone, IsPublic: w.Public,
		Settings: &websiteSettingsBody{
			AllowedOrigins: list(w.AllowedOrigins), AllowedIPs: list(w.AllowedIPs), ExcludedPaths: list(w.ExcludedPaths),
			ExcludedIPs: list(w.ExcludedIPs), MaskPatterns: list(w.MaskPatterns), TrackQueryParams: list(w.TrackQueryParams),
			AnonymizeVisitorIDs: anonymize(w.AnonymizeVisitorIDs), SessionTimeoutMinutes: w.SessionTimeoutMinutes,
			BotFilter: !w.KeepBots, HonorGPC: w.HonorGlobalPrivacyControl, HonorDNT: w.HonorDoNotTrack,
			DataRetentionDays: wire.OrNull(w.DataRetentionDays),
		},
		CreatedAt: rpc.At(w.CreatedAt), UpdatedAt: rpc.At(w.UpdatedAt), DeletedAt: rpc.At(w.DeletedAt),
		CreatedBy: wire.OrNull(w.CreatedBy),
	}
	if now.Before(w.OldClientIDUntil) {
		b.OldClientID, b.OldClientIDUntil = &w.OldClientID, rpc.At(w.OldClientIDUntil)
	}
	if !w.DeletedAt.IsZero() {
		b.RestorableUntil = rpc.At(w.DeletedAt.Add(website.RestoreFor))
	}
	return b
}

// told shapes the response of everything that ends with one website.
func (s *Websites) told(w *website.Website, err error) (*websiteBody, error) {
	if err != nil {
		return nil, err
	}
	return s.body(w, time.Now()), nil
}

// websiteNamed returns the id of the organization's website that has ref for its id or client
// id; ref itself where none has it, as it may be the id of one that is deleted.
func websiteNamed(ctx context.Context, websites *website.Service, call *rpc.Call, ref string) (string, error) {
	if ref == "" {
		return "", nil
	}
	w, err := websites.Get(ctx,
		managed.Target{OrganizationID: call.OrganizationID(), Only: call.Principal.WebsiteID, Ref: ref})
	if errors.Is(err, website.ErrNotFound) {
		return ref, nil
	}
	if err != nil {
		return "", err
	}
	return w.ID, nil
}

func (in *WebsiteRef) target(call *rpc.Call) managed.Target {
	return managed.Target{OrganizationID: call.OrganizationID(), Only: call.Principal.WebsiteID, Ref: in.ID}
}

func (in *WebsiteChange) target(call *rpc.Call) managed.Target {
	t := in.WebsiteRef.target(call)
	t.Version = in.Version.Version
	return t
}

func (s *Websites) create(ctx context.Context, call *rpc.Call, in *websiteCreate) (*websiteBody, error) {
	spec := website.Spec{
		OrganizationID: call.OrganizationID(), Name: in.Name, Domain: in.Domain, Timezone: in.Timezone,
		Public: in.IsPublic, CreatedBy: call.By.Actor.ID,
	}
	if spec.Timezone == "" && s.Organizations != nil {
		o, err := s.Organizations.Get(ctx, spec.OrganizationID)
		if err != nil {
			return nil, err
		}
		spec.Timezone = o.Timezone
	}
	in.Settings.apply(&spec.Settings)
	return s.told(s.Service.Create(ctx, call.By, spec))
}

func (s *Websites) get(ctx context.Context, call *rpc.Call, in *WebsiteRef) (*websiteBody, error) {
	return s.told(s.Service.Get(ctx, in.target(call)))
}

func (s *Websites) list(ctx context.Context, call *rpc.Call, in *websiteList) (*rpc.List[websiteBody], error) {
	filter := website.Filter{
		OrganizationID: call.OrganizationID(), ID: call.Principal.WebsiteID,
		Search: in.Search, Newest: in.Sort != "createdAt", Limit: in.Size() + 1,
	}
	if _, err := in.After(&filter.After); err != nil {
		return nil, err
	}
	read := s.Service.List
	if in.Deleted {
		read = s.Service.Deleted
	}
	found, err := read(ctx, filter)
	if err != nil {
		return nil, err
	}
	bodies, now := make([]websiteBody, len(found)), time.Now()
	for i, w := range found {
		bodies[i] = *s.body(w, now)
		// What a website lets in is for who manages it: reading data needs none of it.
		if auth.Admit(call.Principal, auth.ReadWebsites) != nil {
			bodies[i].Settings = nil
		}
	}
	return rpc.Cut(bodies, in.Size(), func(b websiteBody) any { return b.ID }), nil
}

func (s *Websites) update(ctx context.Context, call *rpc.Call, in *websiteUpdate) (*websiteBody, error) {
	return s.told(s.Service.Update(ctx, call.By, in.target(call), website.Patch{
		Name: sent(in.Name), Domain: sent(in.Domain), Timezone: sent(in.Timezone), Settings: in.Settings.apply,
	}))
}

func (s *Websites) publish(public bool) func(context.Context, *rpc.Call, *WebsiteChange) (*websiteBody, error) {
	return func(ctx context.Context, call *rpc.Call, in *WebsiteChange) (*websiteBody, error) {
		return s.told(s.Service.Publish(ctx, call.By, in.target(call), public))
	}
}

func (s *Websites) rotate(ctx context.Context, call *rpc.Call, in *websiteRotate) (*websiteBody, error) {
	grace := time.Duration(in.GracePeriodSeconds) * time.Second
	return s.told(s.Service.RotateClientID(ctx, call.By, in.target(call), grace))
}

func (s *Websites) delete(ctx context.Context, call *rpc.Call, in *WebsiteChange) (*websiteBody, error) {
	return s.told(s.Service.Delete(ctx, call.By, in.target(call)))
}

func (s *Websites) restore(ctx context.Context, call *rpc.Call, in *WebsiteChange) (*websiteBody, error) {
	return s.told(s.Service.Restore(ctx, call.By, in.target(call)))
}

type snippetBody struct {
	ClientID  string `json:"clientId"`
	IngestURL string `json:"ingestUrl" doc:"URL to which events are sent."`
	ScriptURL string `json:"scriptUrl" doc:"URL of the tracker of the running release."`
	Integrity string `json:"integrity" doc:"Checksum of the tracker that html refers to."`
	HTML      string `json:"html" doc:"Tracking tag for the head of every page. It refers to one version of the tracker, and the browser checks its checksum."`
	Floating  string `json:"floatingHtml" doc:"Tracking tag without a version: pages follow the releases, and the browser does not check the script."`
}

func (s *Websites) snippet(ctx context.Context, call *rpc.Call, in *WebsiteRef) (*snippetBody, error) {
	w, err := s.Service.Get(ctx, in.target(call))
	if err != nil {
		return nil, err
	}
	return &snippetBody{
		ClientID: w.ClientID, IngestURL: s.IngestURL, ScriptURL: website.ScriptURL(s.IngestURL),
		Integrity: tracker.Script().Integrity,
		HTML:      w.Snippet(s.IngestURL), Floating: w.FloatingSnippet(s.IngestURL),
	}, nil
}
