package management

import (
	"cmp"
	"context"
	"fmt"

	"github.com/millrace/millrace/internal/api/rpc"
	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/privacy/erasure"
	"github.com/millrace/millrace/internal/tenant/auth"
	"github.com/millrace/millrace/internal/tenant/managed"
	"github.com/millrace/millrace/internal/tenant/website"
)

// Profiles are the operations on what is known of visitors, and Erasures those that
// tell how far their erasure got.
type Profiles struct {
	Service  *erasure.Service
	Websites *website.Service
}

// whatStays is said with every erasure of a visitor.
const whatStays = "Data whose ids were hashed with the salt of an earlier day cannot be found by anonymousId, since " +
	"those salts are destroyed. Topics, dead letters and backups keep their data until their retention ends; none of it " +
	"is stored again."

// Resource returns the rows.
func (p *Profiles) Resource() rpc.Resource {
	return rpc.Resource{
		Name: "profiles", Summary: "Stored data about visitors.",
		Failures: siteFailures,
		Operations: []rpc.Operation{
			rpc.Op(rpc.Spec{
				Name: "delete", Summary: "Erase a visitor", Class: auth.EraseVisitors, Creates: true, Audit: "erasure.requested",
				// Ingestion takes any character in them, and an erasure keeps hashes.
				Unstored: []string{"profileId", "anonymousId"},
				Detail: "Erases the visitor's events, vitals, errors, identities, traits and aliases from all tables. " +
					"It covers data received until two seconds after the call, since the clocks of edges differ. A " +
					"profileId includes the visitor ids that belong to this profile alone; an anonymousId can be as sent " +
					"or as stored. An erasure cannot be undone. The call returns before the rows are deleted: use " +
					"erasures/get to follow the progress. " + whatStays + " " + fmt.Sprintf(
					"An organization may request %d erasures at once and then one every %.0f seconds, and have %d unfinished ones.",
					erasure.Requests.Burst, erasure.Requests.Interval.Seconds(), erasure.MaxWaiting),
			}, p.delete),
		},
	}
}

// Erasures returns the rows of the resource of that name.
func (p *Profiles) Erasures() rpc.Resource {
	return rpc.Resource{
		Name: "erasures", Summary: "Progress of erasures of visitors and websites.",
		Failures: append(
			[]rpc.Failure{{Err: erasure.ErrNotFound, Code: apierr.NotFound, Message: "Erasure not found"}}, siteFailures...),
		Operations: []rpc.Operation{
			rpc.Op(rpc.Spec{
				Name: "get", Summary: "Get the progress of an erasure", Class: auth.EraseVisitors,
				Detail: "A key that is limited to one website can access only the erasures of that website.",
			}, p.get),
			rpc.Op(rpc.Spec{
				Name: "list", Summary: "List erasures", Class: auth.EraseVisitors,
				Detail: "Newest first. Includes the erasures of deleted websites whose restore period has ended. A key that is " +
					"limited to one website lists only the erasures of that website.",
			}, p.list),
		},
	}
}

var siteFailures = []rpc.Failure{
	{Err: website.ErrNotFound, Code: apierr.NotFound, Message: "Website not found"},
	{Err: website.ErrNotCovered, Code: apierr.AccessDenied, Message: "The API key is limited to another website"},
}

type profileDelete struct {
	rpc.InOrganization

	WebsiteID   string `json:"websiteId,omitempty" minLength:"1" maxLength:"128" doc:"Id or client id of the website; if absent, data of the organization without a website. For a key that is limited to one website, that website."`
	ProfileID   string `json:"profileId,omitempty" minLength:"1" maxLength:"256" doc:"Your own id of the user, as in events and identify calls. profileId, anonymousId or both are required."`
	AnonymousID string `json:"anonymousId,omitempty" minLength:"1" maxLength:"256" doc:"Id that a browser or app gave the visitor, or the id as stored."`
}

type erasureRef struct {
	rpc.InOrganization

	ID string `json:"id" minLength:"1" maxLength:"64" doc:"Id of the erasure."`
}

type erasureList struct {
	rpc.InOrganization
	rpc.Page

	WebsiteID string `json:"websiteId,omitempty" minLength:"1" maxLength:"128" doc:"Only erasures of this website, by its id or client id."`
}

type erasureBody struct {
	ID             string           `json:"id"`
	OrganizationID string           `json:"organizationId"`
	WebsiteID      *string          `json:"websiteId" nullable:"true" doc:"Null for data without a website."`
	Kind           string           `json:"kind" enum:"website,profile,visitor" doc:"What is erased: a deleted website, a profile with its visitor ids, or one visitor id."`
	State          string           `json:"state" enum:"requested,tombstoned,deleting,done" doc:"tombstoned: new rows are no longer stored; deleting: stored rows are being deleted; done: no rows are left."`
	HashedDays     []string         `json:"hashedDays" doc:"UTC days for which data of a hashed anonymousId can be found."`
	SharedIDs      int              `json:"sharedIds" doc:"Number of visitor ids of the profile that other profiles have too. Data under these ids without a profile remains unless each id is erased by anonymousId."`
	DeletedRows    map[string]int64 `json:"deletedRows" doc:"Number of rows by table."`
	Note           string           `json:"note" doc:"Data that cannot be found, and data that remains for a while."`
	RequestedAt    *rpc.Time        `json:"requestedAt" doc:"Data that is received more than two seconds later remains."`
	TombstonedAt   *rpc.Time        `json:"tombstonedAt" nullable:"true"`
	DoneAt         *rpc.Time        `json:"doneAt" nullable:"true"`
}

func erasureBodyOf(e *erasure.Erasure) *erasureBody {
	b := &erasureBody{
		ID: e.ID, OrganizationID: e.OrganizationID, Kind: string(e.Kind), State: string(e.State), HashedDays: list(e.Days),
		SharedIDs: e.Shared, DeletedRows: e.Deleted, Note: whatStays,
		RequestedAt: rpc.At(e.RequestedAt), TombstonedAt: rpc.At(e.TombstonedAt), DoneAt: rpc.At(e.DoneAt),
	}
	if e.OwnerID != e.OrganizationID {
		b.WebsiteID = &e.OwnerID
	}
	return b
}

// owner returns whose records a call is about: a website that exists and that the
// caller reaches, or the organization.
func (p *Profiles) owner(ctx context.Context, call *rpc.Call, ref string) (string, error) {
	ref = cmp.Or(ref, call.Principal.WebsiteID)
	if ref == "" {
		return call.OrganizationID(), nil
	}
	w, err := p.Websites.Get(ctx,
		managed.Target{OrganizationID: call.OrganizationID(), Only: call.Principal.WebsiteID, Ref: ref})
	if err != nil {
		return "", err
	}
	return w.ID, nil
}

func (p *Profiles) delete(ctx context.Context, call *rpc.Call, in *profileDelete) (*erasureBody, error) {
	owner, err := p.owner(ctx, call, in.WebsiteID)
	if err != nil {
		return nil, err
	}
	e, err := p.Service.Request(ctx, call.By, erasure.Subject{
		OrganizationID: call.OrganizationID(), OwnerID: owner, ProfileID: in.ProfileID, AnonymousID: in.AnonymousID,
	})
	if err != nil {
		return nil, err
	}
	return erasureBodyOf(e), nil
}

func (p *Profiles) get(ctx context.Context, call *rpc.Call, in *erasureRef) (*erasureBody, error) {
	e, err := p.Service.Get(ctx, call.OrganizationID(), call.Principal.WebsiteID, in.ID)
	if err != nil {
		return nil, err
	}
	return erasureBodyOf(e), nil
}

func (p *Profiles) list(ctx context.Context, call *rpc.Call, in *erasureList) (*rpc.List[erasureBody], error) {
	filter := erasure.Filter{
		OrganizationID: call.OrganizationID(), OwnerID: call.Principal.WebsiteID, Limit: in.Size() + 1,
	}
	if in.WebsiteID != "" {
		var err error
		if filter.OwnerID, err = p.owner(ctx, call, in.WebsiteID); err != nil {
			return nil, err
		}
	}
	if _, err := in.After(&filter.Before); err != nil {
		return nil, err
	}
	found, err := p.Service.List(ctx, filter)
	if err != nil {
		return nil, err
	}
	bodies := make([]erasureBody, len(found))
	for i, e := range found {
		bodies[i] = *erasureBodyOf(e)
	}
	return rpc.Cut(bodies, in.Size(), func(b erasureBody) any { return b.ID }), nil
}
