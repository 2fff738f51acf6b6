package management

import (
	"context"

	"github.com/millrace/millrace/internal/api/rpc"
	"github.com/millrace/millrace/internal/contract/wire"
	"github.com/millrace/millrace/internal/resource/flag"
	"github.com/millrace/millrace/internal/resource/flag/flageval"
	"github.com/millrace/millrace/internal/tenant/auth"
)

// Segments returns the rows of segments.
func (s *Flags) Segments() rpc.Resource {
	const covers = " A key that is limited to one website reaches that website's own only."
	return rpc.Resource{
		Name: "segments", Summary: "Groups of people that flags ask for.",
		Failures: flagFailures,
		Operations: []rpc.Operation{
			rpc.Op(rpc.Spec{
				Name: "create", Summary: "Make a segment", Class: auth.ManageFlags, Creates: true, Audit: "segment.created",
				Detail: "It names people, or has conditions, or both. " +
					"A website's own is meant before the one of all websites that has the same key." + covers,
			}, s.createSegment),
			rpc.Op(rpc.Spec{Name: "get", Summary: "Read a segment", Class: auth.ViewFlags, Detail: "By its id or key." + covers},
				s.getSegment),
			rpc.Op(rpc.Spec{
				Name: "list", Summary: "List segments", Class: auth.ViewFlags, Detail: "Without who is in them." + covers,
			}, s.listSegments),
			rpc.Op(rpc.Spec{
				Name: "update", Summary: "Change a segment", Class: auth.ManageFlags, Audit: "segment.updated",
				Detail: "What is absent stays as it is; lists and conditions are replaced whole. All flags that ask for it follow.",
			}, s.updateSegment),
			rpc.Op(rpc.Spec{
				Name: "delete", Summary: "Delete a segment", Class: auth.ManageFlags, Audit: "segment.deleted",
				Detail: "For good. One that flags ask for which are not archived stays.",
			}, s.deleteSegment),
		},
	}
}

// SegmentSettings are the fields of a segment that are told alike when it is made and when
// it is changed.
type SegmentSettings struct {
	Name        rpc.Patch[string]         `json:"name,omitzero" minLength:"1" maxLength:"255" nullable:"true" doc:"What the segment is called; null for its key."`
	Description rpc.Patch[string]         `json:"description,omitzero" maxLength:"2000" nullable:"true"`
	UserIDs     rpc.Patch[[]string]       `json:"userIds,omitzero" maxItems:"10000" maxLength:"256" doc:"Who is in it whatever the conditions say; with emails, 10,000 at most."`
	Emails      rpc.Patch[[]string]       `json:"emails,omitzero" maxItems:"10000" maxLength:"256" doc:"Likewise; whatever their case."`
	Conditions  rpc.Patch[conditionsBody] `json:"conditions,omitzero" nullable:"true" doc:"Who else is in it; null for nobody. They may ask for no segment."`
}

func (in *SegmentSettings) fields() flag.SegmentFields {
	return flag.SegmentFields{
		Name: sent(in.Name), Description: sent(in.Description), UserIDs: sent(in.UserIDs), Emails: sent(in.Emails),
		Conditions: sentAs(in.Conditions, func(c conditionsBody) flageval.Conditions { return c.V }),
	}
}

type segmentCreate struct {
	rpc.InOrganization
	SegmentSettings

	Key       string            `json:"key" pattern:"^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$" maxLength:"128" doc:"What conditions name it by, unlike every other segment of the website, or of all websites. It stays."`
	WebsiteID rpc.Patch[string] `json:"websiteId,omitzero" minLength:"1" maxLength:"128" nullable:"true" doc:"The id or client id of the website whose flags may ask for it; null for all of the organization. It stays."`
}

type segmentUpdate struct {
	FlagChange
	SegmentSettings
}

type segmentGet struct {
	rpc.InOrganization

	ID        string            `json:"id,omitempty" minLength:"1" maxLength:"64" doc:"The segment's id."`
	Key       string            `json:"key,omitempty" minLength:"1" maxLength:"128" doc:"The segment's key, instead of its id."`
	WebsiteID rpc.Patch[string] `json:"websiteId,omitzero" minLength:"1" maxLength:"128" nullable:"true" doc:"The website whose key it is; null for that of all websites."`
}

type segmentList struct {
	rpc.InOrganization
	rpc.Page

	WebsiteID rpc.Patch[string] `json:"websiteId,omitzero" minLength:"1" maxLength:"128" nullable:"true" doc:"Only a website's own; null for only those of all websites."`
	Search    string            `json:"search,omitempty" minLength:"2" maxLength:"100" doc:"A part of the key, name or description, whatever its case."`
	Sort      string            `json:"sort,omitempty" enum:"-createdAt,createdAt" default:"-createdAt" doc:"The order: latest first, or oldest first."`
}

// SegmentSummary is a segment without who is in it.
type SegmentSummary struct {
	ID             string    `json:"id"`
	OrganizationID string    `json:"organizationId"`
	WebsiteID      *string   `json:"websiteId" nullable:"true" doc:"Null for a segment of all websites of the organization."`
	Version        int64     `json:"version" doc:"One more with every change."`
	Key            string    `json:"key"`
	Name           string    `json:"name"`
	Description    *string   `json:"description" nullable:"true"`
	CreatedAt      *rpc.Time `json:"createdAt"`
	UpdatedAt      *rpc.Time `json:"updatedAt"`
	CreatedBy      *string   `json:"createdBy" nullable:"true" doc:"The id of who made the segment; null for the operator's command."`
}

type segmentBody struct {
	SegmentSummary

	UserIDs    []string        `json:"userIds"`
	Emails     []string        `json:"emails"`
	Conditions *conditionsBody `json:"conditions" nullable:"true"`
}

func newSegmentSummary(g *flag.Segment) SegmentSummary {
	return SegmentSummary{
		ID: g.ID, OrganizationID: g.OrganizationID, WebsiteID: wire.OrNull(g.WebsiteID), Version: g.Version, Key: g.Key(),
		Name:        g.Name,
		Description: wire.OrNull(g.Description),
		CreatedAt:   rpc.At(g.CreatedAt), UpdatedAt: rpc.At(g.UpdatedAt), CreatedBy: wire.OrNull(g.CreatedBy),
	}
}

func toldSegment(g *flag.Segment, err error) (*segmentBody, error) {
	if err != nil {
		return nil, err
	}
	return newSegmentBody(g), nil
}

func newSegmentBody(g *flag.Segment) *segmentBody {
	b := &segmentBody{
		SegmentSummary: newSegmentSummary(g), UserIDs: list(g.Definition.UserIDs), Emails: list(g.Definition.Emails),
	}
	if c := g.Definition.Conditions; c != nil {
		b.Conditions = &conditionsBody{*c}
	}
	return b
}

// ServedSegment returns a segment as segments/get tells it, for its JSON.
func ServedSegment(g *flag.Segment) any { return newSegmentBody(g) }

func (s *Flags) createSegment(ctx context.Context, call *rpc.Call, in *segmentCreate) (*segmentBody, error) {
	site, err := s.website(ctx, call, in.WebsiteID)
	if err != nil {
		return nil, err
	}
	spec := flag.Spec{OrganizationID: call.OrganizationID(), WebsiteID: site, Key: in.Key}
	return toldSegment(s.Service.CreateSegment(ctx, call.By, spec, in.fields()))
}

func (s *Flags) getSegment(ctx context.Context, call *rpc.Call, in *segmentGet) (*segmentBody, error) {
	t, err := s.named(ctx, call, in.ID, in.Key, in.WebsiteID)
	if err != nil {
		return nil, err
	}
	return toldSegment(s.Service.Segment(ctx, t))
}

func (s *Flags) listSegments(ctx context.Context, call *rpc.Call, in *segmentList) (*rpc.List[SegmentSummary], error) {
	f := flag.Filter{
		OrganizationID: call.OrganizationID(), Shared: in.WebsiteID.Set && in.WebsiteID.Value == nil,
		Search: in.Search, Newest: in.Sort != "createdAt", Limit: in.Size() + 1,
	}
	var err error
	if f.WebsiteID, err = s.within(ctx, call, in.WebsiteID); err != nil {
		return nil, err
	}
	if _, err := in.After(&f.After); err != nil {
		return nil, err
	}
	found, err := s.Service.ListSegments(ctx, f)
	if err != nil {
		return nil, err
	}
	return rpc.Cut(each(found, newSegmentSummary), in.Size(), func(b SegmentSummary) any { return b.ID }), nil
}

func (s *Flags) updateSegment(ctx context.Context, call *rpc.Call, in *segmentUpdate) (*segmentBody, error) {
	return toldSegment(s.Service.UpdateSegment(ctx, call.By, in.target(call), in.fields()))
}

func (s *Flags) deleteSegment(ctx context.Context, call *rpc.Call, in *FlagChange) (*deletedBody, error) {
	g, err := s.Service.DeleteSegment(ctx, call.By, in.target(call))
	if err != nil {
		return nil, err
	}
	return &deletedBody{g.ID}, nil
}
