package management

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/millrace/millrace/internal/api/rpc"
	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/resource/link"
	"github.com/millrace/millrace/internal/tenant/auth"
	"github.com/millrace/millrace/internal/tenant/displayname"
	"github.com/millrace/millrace/internal/tenant/managed"
	"github.com/millrace/millrace/internal/tenant/org"
)

// Links are the operations on short links, their folders and domains.
type Links struct {
	Service *link.Service
	// Clicks counts clicks; nil counts none, as when they cannot be counted now.
	Clicks ClickCounter
	Log    *slog.Logger // required with Clicks
}

// linkFailures are the errors of the three resources.
var linkFailures = []rpc.Failure{
	{Err: link.ErrNotFound, Code: apierr.NotFound, Message: "Link not found"},
	{Err: link.ErrFolderNotFound, Code: apierr.NotFound, Message: "Folder not found"},
	{Err: link.ErrDomainNotFound, Code: apierr.NotFound, Message: "Domain not found"},
	{
		Err: link.ErrHostnameClaimed, Code: apierr.Conflict,
		Message: "The organization already has a domain with this hostname",
	},
	{Err: link.ErrHostnameVerified, Code: apierr.Conflict, Message: "Another organization has verified this hostname"},
	{Err: link.ErrDomainGone, Code: apierr.Conflict, Message: "The link's domain no longer exists"},
	{Err: link.ErrSlugTaken, Code: apierr.Conflict, Message: "This slug is already taken"},
	{Err: link.ErrExternalIDTaken, Code: apierr.Conflict, Message: "Another link already has this externalId"},
	{Err: link.ErrFolderNameTaken, Code: apierr.Conflict, Message: "Another folder already has this name"},
	{Err: link.ErrNotDeleted, Code: apierr.Conflict, Message: "The link is not deleted"},
	{Err: managed.ErrChanged, Code: apierr.Conflict, Message: "The record has changed since it was read"},
	{Err: org.ErrNotFound, Code: apierr.NotFound, Message: "Organization not found"},
}

// Resource returns the rows of links.
func (s *Links) Resource() rpc.Resource {
	return rpc.Resource{
		Name: "links", Summary: "Short links, their targets, schedules and rules.",
		Failures: linkFailures,
		Operations: []rpc.Operation{
			rpc.Op(rpc.Spec{
				Name: "create", Summary: "Create a short link", Class: auth.ManageLinks, Creates: true, Audit: "link.created",
				Detail: "Without a slug, the service generates one of 8 characters.",
			}, s.create),
			rpc.Op(rpc.Spec{
				Name: "get", Summary: "Get a short link", Class: auth.ViewLinks,
				Detail: "Identifies the link by exactly one of id, externalId and slug. A slug on a custom domain also requires " +
					"domain.",
			}, s.get),
			rpc.Op(rpc.Spec{
				Name:    "list",
				Summary: "List short links",
				Class:   auth.ViewLinks,
				Detail:  "Includes deleted links only if status requests them.",
			}, s.list),
			rpc.Op(rpc.Spec{
				Name: "update", Summary: "Update a short link", Class: auth.ManageLinks, Audit: "link.updated",
				Detail: "Absent fields keep their values; tags, utm, rules, variants and preview are replaced as a whole.",
			}, s.update),
			rpc.Op(rpc.Spec{
				Name: "upsert", Summary: "Create or update a short link by its external id", Class: auth.ManageLinks,
				Audit:  "link.updated",
				Detail: "Absent fields keep their values in an existing link and get their defaults in a new one.",
			}, s.upsert),
			rpc.Op(rpc.Spec{
				Name: "delete", Summary: "Delete a short link", Class: auth.ManageLinks, Audit: "link.deleted",
				Detail: "The link can be restored for 30 days. Until then, no other organization can use its slug. On " +
					"the shared host, the slug stays reserved for good.",
			}, s.delete),
			rpc.Op(rpc.Spec{
				Name: "restore", Summary: "Restore a deleted short link", Class: auth.ManageLinks, Audit: "link.restored",
			}, s.restore),
			rpc.Op(rpc.Spec{
				Name: "checkSlug", Summary: "Check whether a slug is available", Class: auth.ViewLinks,
				Detail: "Checks the shared host, or a custom domain if domain is present.",
			}, s.checkSlug),
			rpc.Op(rpc.Spec{
				Name:    "tags",
				Summary: "List the tags of short links",
				Class:   auth.ViewLinks,
				Detail:  "In alphabetical order.",
			}, s.tags),
			rpc.Op(rpc.Spec{Name: "qr", Summary: "Create the QR code of a short link", Class: auth.ViewLinks}, s.qr),
			rpc.Op(rpc.Spec{
				Name: "bulkCreate", Summary: "Create up to 100 short links", Class: auth.ManageLinks, Audit: "link.created",
				Response: bulkBytes,
				Detail: "Creates each link separately. The response has a result for each item, in the order of items. If an " +
					"item does not match the form of create, the whole call is rejected.",
			}, s.bulkCreate),
			rpc.Op(rpc.Spec{
				Name: "bulkUpdate", Summary: "Update up to 100 short links", Class: auth.ManageLinks, Audit: "link.updated",
				Response: bulkBytes,
				Detail:   "Updates each link separately, as bulkCreate does.",
			}, s.bulkUpdate),
			rpc.Op(rpc.Spec{
				Name: "bulkDelete", Summary: "Delete up to 100 short links", Class: auth.ManageLinks, Audit: "link.deleted",
				Response: bulkBytes,
				Detail:   "Updates each link separately, as bulkCreate does.",
			}, s.bulkDelete),
		},
	}
}

func (s *Links) told(l *link.Link, err error) (*LinkBody, error) {
	if err != nil {
		return nil, err
	}
	return s.body(l, s.Service.Now()), nil
}

func (in *LinkChange) target(call *rpc.Call) managed.Target {
	return managed.Target{OrganizationID: call.OrganizationID(), Ref: in.ID.ID, Version: in.Version.Version}
}

func (s *Links) create(ctx context.Context, call *rpc.Call, in *linkCreate) (*LinkBody, error) {
	return s.told(s.Service.Create(ctx, call.By, call.OrganizationID(), in.fields()))
}

func (s *Links) get(ctx context.Context, call *rpc.Call, in *linkGet) (*countedBody, error) {
	body, err := s.told(s.Service.Get(ctx, link.Ref{
		OrganizationID: call.OrganizationID(), ID: in.ID, ExternalID: in.ExternalID, Domain: in.Domain, Slug: in.Slug,
	}))
	if err != nil {
		return nil, err
	}
	counted := []countedBody{{LinkBody: *body}}
	if in.WithClicks.WithClicks {
		s.count(ctx, counted)
	}
	return &counted[0], nil
}

func (s *Links) list(ctx context.Context, call *rpc.Call, in *linkList) (*rpc.List[countedBody], error) {
	filter := link.Filter{
		OrganizationID: call.OrganizationID(), FolderID: in.FolderID.Or(""),
		Unfiled: in.FolderID.Set && in.FolderID.Value == nil,
		Domain:  in.Domain.Or(""), Shared: in.Domain.Set && in.Domain.Or("") == "",
		Tag: displayname.Form(in.Tag), Search: in.Search,
		Status: link.Status(in.Status), Newest: in.Sort != "createdAt", Limit: in.Size() + 1,
	}
	if _, err := in.After(&filter.After); err != nil {
		return nil, err
	}
	found, err := s.Service.List(ctx, filter)
	if err != nil {
		return nil, err
	}
	bodies, now := make([]countedBody, len(found)), s.Service.Now()
	for i, l := range found {
		bodies[i].LinkBody = *s.body(l, now)
	}
	page := rpc.Cut(bodies, in.Size(), func(b countedBody) any { return b.ID })
	if in.WithClicks.WithClicks {
		s.count(ctx, page.Items)
	}
	return page, nil
}

func (s *Links) update(ctx context.Context, call *rpc.Call, in *linkUpdate) (*LinkBody, error) {
	return s.told(s.Service.Update(ctx, call.By, in.target(call), in.fields()))
}

func (s *Links) upsert(ctx context.Context, call *rpc.Call, in *linkUpsert) (*upsertedBody, error) {
	l, made, err := s.Service.Upsert(ctx, call.By, call.OrganizationID(), in.fields())
	if err != nil {
		return nil, err
	}
	return &upsertedBody{LinkBody: *s.body(l, s.Service.Now()), Created: made}, nil
}

func (s *Links) delete(ctx context.Context, call *rpc.Call, in *LinkChange) (*LinkBody, error) {
	return s.told(s.Service.Delete(ctx, call.By, in.target(call)))
}

func (s *Links) restore(ctx context.Context, call *rpc.Call, in *LinkChange) (*LinkBody, error) {
	return s.told(s.Service.Restore(ctx, call.By, in.target(call)))
}

func (s *Links) checkSlug(ctx context.Context, call *rpc.Call, in *slugInput) (*slugBody, error) {
	err := s.Service.SlugFree(ctx, call.OrganizationID(), in.Domain, in.Slug)
	if errors.Is(err, link.ErrSlugTaken) {
		return &slugBody{Reason: "taken", Message: "This slug is already taken"}, nil
	}
	if f, ok := errors.AsType[*apierr.Error](err); ok && len(f.Details) > 0 && f.Details[0].Field == "slug" {
		return &slugBody{Reason: f.Details[0].Rule, Message: f.Details[0].Message}, nil
	}
	if err != nil {
		return nil, err
	}
	return &slugBody{Available: true}, nil
}

func (s *Links) tags(ctx context.Context, call *rpc.Call, in *tagList) (*rpc.List[tagBody], error) {
	var after string
	if _, err := in.After(&after); err != nil {
		return nil, err
	}
	found, err := s.Service.Tags(ctx, call.OrganizationID(), after, in.Size()+1)
	if err != nil {
		return nil, err
	}
	bodies := make([]tagBody, len(found))
	for i, t := range found {
		bodies[i] = tagBody(t)
	}
	return rpc.Cut(bodies, in.Size(), func(b tagBody) any { return b.Tag }), nil
}

func toldItems(items []rpc.Item[LinkBody], err error) (*linkItems, error) {
	if err != nil {
		return nil, err
	}
	return &linkItems{items}, nil
}

// bulkBytes is the size of the largest response about several links, in bytes.
const bulkBytes = link.MaxBulk * (link.MaxRulesBytes + 16<<10)

func (s *Links) bulkCreate(ctx context.Context, call *rpc.Call, in *linksCreate) (*linkItems, error) {
	service, err := s.Service.Ahead(ctx, each(in.Items, func(item LinkFields) link.Fields { return item.fields() })...)
	if err != nil {
		return nil, err
	}
	return toldItems(rpc.Each(call, in.Items, func(item *LinkFields) (*LinkBody, error) {
		return s.told(service.Create(ctx, call.By, call.OrganizationID(), item.fields()))
	}))
}

func (s *Links) bulkUpdate(ctx context.Context, call *rpc.Call, in *linksUpdate) (*linkItems, error) {
	service, err := s.Service.Ahead(ctx, each(in.Items, func(item linkUpdateItem) link.Fields { return item.fields() })...)
	if err != nil {
		return nil, err
	}
	return toldItems(rpc.Each(call, in.Items, func(item *linkUpdateItem) (*LinkBody, error) {
		t := managed.Target{OrganizationID: call.OrganizationID(), Ref: item.ID.ID, Version: item.Version.Version}
		return s.told(service.Update(ctx, call.By, t, item.fields()))
	}))
}

func (s *Links) bulkDelete(ctx context.Context, call *rpc.Call, in *linksDelete) (*linkItems, error) {
	return toldItems(rpc.Each(call, in.Items, func(item *linkDeleteItem) (*LinkBody, error) {
		t := managed.Target{OrganizationID: call.OrganizationID(), Ref: item.ID.ID, Version: item.Version.Version}
		return s.told(s.Service.Delete(ctx, call.By, t))
	}))
}

func (s *Links) body(l *link.Link, now time.Time) *LinkBody {
	return newLinkBody(l, s.Service.Rules(), now)
}
