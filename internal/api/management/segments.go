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
	const covers = " A key that is limited to one website can access only that website's segments."
	return rpc.Resource{
		Name: "segments", Summary: "Groups of users for the rules of flags.", Record: flag.MaxBytes + 64<<10,
		Failures: flagFailures,
		Operations: []rpc.Operation{
			rpc.Op(rpc.Spec{
				Name: "create", Summary: "Create a segment", Class: auth.ManageFlags, Creates: true, Audit: "segment.created",
				Detail: "A segment lists users, has conditions, or both. A website's segment overrides a segment of all " +
					"websites with the same key." + covers,
			}, s.createSegment),
			rpc.Op(rpc.Spec{
				Name: "get", Summary: "Get a segment", Class: auth.ViewFlags,
				Detail: "Finds the segment by id or key." + covers,
			}, s.getSegment),
			rpc.Op(rpc.Spec{
				Name: "list", Summary: "List segments", Class: auth.ViewFlags,
				Detail: "Returns the segments without their users and conditions." + covers,
			}, s.listSegments),
			rpc.Op(rpc.Spec{
				Name: "update", Summary: "Update a segment", Class: auth.ManageFlags, Audit: "segment.updated",
				Detail: "Absent fields keep their values; lists and conditions are replaced as a whole. The change applies to " +
					"all flags that use the segment.",
			}, s.updateSegment),
			rpc.Op(rpc.Spec{
				Name: "delete", Summary: "Delete a segment", Class: auth.ManageFlags, Audit: "segment.deleted",
				Detail: "This cannot be undone. Returns 409 if a flag that is not archived uses the segment.",
			}, s.deleteSegment),
		},
	}
}

// SegmentSettings are the fields of a segment that are told alike when it is made and when
// it is changed.
type SegmentSettings struct {
	Name        rpc.Patch[string]         `json:"name,omitzero" minLength:"1" maxLength:"255" nullable:"true" doc:"Name of the segment; null for its key."`
	Description rpc.Patch[string]         `json:"description,omitzero" maxLength:"2000" nullable:"true"`
	UserIDs     rpc.Patch[[]string]       `json:"userIds,omitzero" maxItems:"10000" maxLength:"256" doc:"Ids of users who are in the segment regardless of the conditions; with emails, at most 10,000."`
	Emails      rpc.Patch[[]string]       `json:"emails,omitzero" maxItems:"10000" maxLength:"256" doc:"E-mail addresses of users who are in the segment regardless of the conditions. Compared without regard to case."`
	Conditions  rpc.Patch[conditionsBody] `json:"conditions,omitzero" nullable:"true" doc:"Conditions under which other users are in the segment; null for none. They must not use the operator inSegment."`
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

	Key       string            `json:"key" pattern:"^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$" maxLength:"128" doc:"Key that conditions refer to, unique among the segments of the website, or of all websites. It cannot be changed."`
	WebsiteID rpc.Patch[string] `json:"websiteId,omitzero" minLength:"1" maxLength:"128" nullable:"true" doc:"Id or client id of the website whose flags can use the segment; null for all websites of the organization. It cannot be changed."`
}

type segmentUpdate struct {
	FlagChange
	SegmentSettings
}

type segmentGet struct {
	rpc.InOrganization

	ID        string            `json:"id,omitempty" minLength:"1" maxLength:"64" doc:"Id of the segment."`
	Key       string            `json:"key,omitempty" minLength:"1" maxLength:"128" doc:"Key of the segment, instead of its id."`
	WebsiteID rpc.Patch[string] `json:"websiteId,omitzero" minLength:"1" maxLength:"128" nullable:"true" doc:"Website of the key; null for a segment of all websites."`
}

type segmentList struct {
	rpc.InOrganization
	rpc.Page

	WebsiteID rpc.Patch[string] `json:"websiteId,omitzero" minLength:"1" maxLength:"128" nullable:"true" doc:"Only segments of this website; null for only segments of all websites."`
	Search    string            `json:"search,omitempty" minLength:"2" maxLength:"100" doc:"Substring of the key, name or description, in any case."`
	Sort      string            `json:"sort,omitempty" enum:"-createdAt,createdAt" default:"-createdAt" doc:"Sort order; -createdAt lists the newest first."`
}

// SegmentSummary is a segment without who is in it.
type SegmentSummary struct {
	ID             string    `json:"id"`
	OrganizationID string    `json:"organizationId"`
	WebsiteID      *string   `json:"websiteId" nullable:"true" doc:"Null for a segment of all websites of the organization."`
	Version        int64     `json:"version" doc:"Number that increases with every change."`
	Key            string    `json:"key"`
	Name           string    `json:"name"`
	Description    *string   `json:"description" nullable:"true"`
	CreatedAt      *rpc.Time `json:"createdAt"`
	UpdatedAt      *rpc.Time `json:"updatedAt"`
	CreatedBy      *string   `json:"createdBy" nullable:"true" doc:"Id of the user who created the segment; null for the operator's command."`
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
