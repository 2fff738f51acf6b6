package management

import (
	"context"

	"github.com/millrace/millrace/internal/api/rpc"
	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/resource/flag"
	"github.com/millrace/millrace/internal/tenant/auth"
	"github.com/millrace/millrace/internal/tenant/displayname"
	"github.com/millrace/millrace/internal/tenant/managed"
	"github.com/millrace/millrace/internal/tenant/org"
	"github.com/millrace/millrace/internal/tenant/website"
)

// Flags are the operations on feature flags and their segments.
type Flags struct {
	Service  *flag.Service
	Websites *website.Service
}

// flagFailures are the errors of both resources.
var flagFailures = []rpc.Failure{
	{Err: flag.ErrNotFound, Code: apierr.NotFound, Message: "Flag not found"},
	{Err: flag.ErrSegmentNotFound, Code: apierr.NotFound, Message: "Segment not found"},
	{Err: flag.ErrVersionNotFound, Code: apierr.NotFound, Message: "The flag has no such version any more"},
	{
		Err: flag.ErrNotCovered, Code: apierr.AccessDenied, Message: "The API key is limited to the flags of another website",
	},
	{Err: flag.ErrKeyTaken, Code: apierr.Conflict, Message: "Another flag has this key already"},
	{Err: flag.ErrSegmentKeyTaken, Code: apierr.Conflict, Message: "Another segment has this key already"},
	{Err: managed.ErrChanged, Code: apierr.Conflict, Message: "It has changed in the meantime"},
	{Err: website.ErrNotFound, Code: apierr.NotFound, Message: "Website not found"},
	{Err: website.ErrNotCovered, Code: apierr.AccessDenied, Message: "The API key is limited to another website"},
	{Err: org.ErrNotFound, Code: apierr.NotFound, Message: "Organization not found"},
}

// Resource returns the rows of flags.
func (s *Flags) Resource() rpc.Resource {
	const covers = " A key that is limited to one website reaches that website's own only."
	return rpc.Resource{
		Name: "flags", Summary: "Feature flags: what is served to whom.",
		Failures: flagFailures,
		Operations: []rpc.Operation{
			rpc.Op(rpc.Spec{
				Name: "create", Summary: "Make a flag", Class: auth.ManageFlags, Creates: true, Audit: "flag.created",
				Detail: "It is inactive at first. A website's own hides the one of all websites that has the same key, unless " +
					"it is archived." + covers,
			}, s.create),
			rpc.Op(rpc.Spec{
				Name: "get", Summary: "Read a flag", Class: auth.ViewFlags,
				Detail: "By its id or key; as it is, or as it was in one of its versions." + covers,
			}, s.get),
			rpc.Op(
				rpc.Spec{Name: "list", Summary: "List flags", Class: auth.ViewFlags, Detail: "Without what they serve." + covers},
				s.list),
			rpc.Op(rpc.Spec{
				Name: "update", Summary: "Change a flag", Class: auth.ManageFlags, Audit: "flag.updated",
				Detail: "What is absent stays as it is; lists, schedule, exposures and environments are replaced whole." + covers,
			}, s.update),
			rpc.Op(rpc.Spec{
				Name: "enable", Summary: "Make an inactive flag active", Class: auth.ManageFlags, Audit: "flag.enabled",
			}, s.to(flag.Enabled)),
			rpc.Op(rpc.Spec{
				Name: "disable", Summary: "Make an active flag inactive", Class: auth.ManageFlags, Audit: "flag.disabled",
			}, s.to(flag.Disabled)),
			rpc.Op(rpc.Spec{
				Name: "archive", Summary: "Put an inactive flag away", Class: auth.ManageFlags, Audit: "flag.archived",
				Detail: "It is evaluated nowhere, and cannot be changed. One that others need stays.",
			}, s.to(flag.Archiving)),
			rpc.Op(rpc.Spec{
				Name: "unarchive", Summary: "Bring an archived flag back, inactive", Class: auth.ManageFlags,
				Audit: "flag.unarchived",
			}, s.to(flag.Unarchived)),
			rpc.Op(rpc.Spec{
				Name: "delete", Summary: "Delete an archived flag", Class: auth.ManageFlags, Audit: "flag.deleted",
				Detail: "For good, with its versions.",
			}, s.delete),
			rpc.Op(rpc.Spec{
				Name: "duplicate", Summary: "Make an inactive flag like another one", Class: auth.ManageFlags, Creates: true,
				Audit: "flag.duplicated",
			}, s.duplicate),
			rpc.Op(rpc.Spec{
				Name: "addTargets", Summary: "Give people a variant", Class: auth.ManageFlags, Audit: "flag.targetsAdded",
			}, s.addTargets),
			rpc.Op(rpc.Spec{
				Name: "removeTargets", Summary: "Leave people to the rules", Class: auth.ManageFlags, Audit: "flag.targetsRemoved",
			}, s.removeTargets),
			rpc.Op(rpc.Spec{
				Name: "evaluate", Summary: "Say what contexts would get, and why", Class: auth.ViewFlags,
				Detail: "Of flags as they are kept, and of one also as it would be with changes that are not made. " +
					"Nothing of a context is kept." + covers,
			}, s.evaluate),
			rpc.Op(rpc.Spec{
				Name: "versions", Summary: "List what was done to a flag", Class: auth.ViewFlags,
				Detail: "Its last 500 versions, the latest first.",
			}, s.versions),
			rpc.Op(rpc.Spec{
				Name: "rollback", Summary: "Put a flag back to an earlier version", Class: auth.ManageFlags,
				Audit:  "flag.rolledBack",
				Detail: "As a new version, with all that update can change; whether it is active stays.",
			}, s.rollback),
		},
	}
}

func (s *Flags) told(f *flag.Flag, err error) (*flagBody, error) {
	if err != nil {
		return nil, err
	}
	return newFlagBody(f, s.Service.Now()), nil
}

// website returns the id of the website that a caller names by its id or client id; empty
// where it names none, which a key of one website may not.
func (s *Flags) website(ctx context.Context, call *rpc.Call, ref rpc.Patch[string]) (string, error) {
	switch only := call.Principal.WebsiteID; {
	case ref.Or("") == "" && only != "":
		return "", flag.ErrNotCovered
	case ref.Or("") == "":
		return "", nil
	default:
		w, err := s.Websites.Get(ctx, managed.Target{OrganizationID: call.OrganizationID(), Only: only, Ref: ref.Or("")})
		if err != nil {
			return "", err
		}
		return w.ID, nil
	}
}

// within is website of a question: one of whom a key of one website says nothing is about
// that.
func (s *Flags) within(ctx context.Context, call *rpc.Call, ref rpc.Patch[string]) (string, error) {
	if !ref.Set {
		return call.Principal.WebsiteID, nil
	}
	return s.website(ctx, call, ref)
}

func reach(call *rpc.Call, id string, version int64) flag.Target {
	return flag.Target{
		Target: managed.Target{OrganizationID: call.OrganizationID(), Ref: id, Version: version},
		Reach:  call.Principal.WebsiteID,
	}
}

func (in *FlagChange) target(call *rpc.Call) flag.Target {
	return reach(call, in.ID.ID, in.Version.Version)
}

// named is the target of an id or a key.
func (s *Flags) named(
	ctx context.Context, call *rpc.Call, id, key string, ref rpc.Patch[string],
) (t flag.Target, err error) {
	if (id == "") == (key == "") {
		return t, apierr.Invalid("id", "one_of", "give one of id and key")
	}
	t = reach(call, id, 0)
	if t.Key = key; key != "" {
		t.WebsiteID, err = s.within(ctx, call, ref)
	}
	return t, err
}

func (s *Flags) create(ctx context.Context, call *rpc.Call, in *flagCreate) (*flagBody, error) {
	site, err := s.website(ctx, call, in.WebsiteID)
	if err != nil {
		return nil, err
	}
	spec := flag.Spec{OrganizationID: call.OrganizationID(), WebsiteID: site, Key: in.Key, Type: flag.Type(in.Type)}
	return s.told(s.Service.Create(ctx, call.By, spec, in.fields()))
}

func (s *Flags) get(ctx context.Context, call *rpc.Call, in *flagGet) (*flagBody, error) {
	t, err := s.named(ctx, call, in.ID, in.Key, in.WebsiteID)
	if err != nil {
		return nil, err
	}
	if in.Version > 0 {
		return s.told(s.Service.Was(ctx, t, in.Version))
	}
	return s.told(s.Service.Get(ctx, t))
}

func (s *Flags) list(ctx context.Context, call *rpc.Call, in *flagList) (*rpc.List[FlagSummary], error) {
	f := flag.Filter{
		OrganizationID: call.OrganizationID(), Shared: in.WebsiteID.Set && in.WebsiteID.Value == nil,
		State: flag.State(in.Status),
		Tag:   displayname.Form(in.Tag), Search: in.Search, Newest: in.Sort != "createdAt", Limit: in.Size() + 1,
	}
	var err error
	if f.WebsiteID, err = s.within(ctx, call, in.WebsiteID); err != nil {
		return nil, err
	}
	if _, err := in.After(&f.After); err != nil {
		return nil, err
	}
	found, err := s.Service.List(ctx, f)
	if err != nil {
		return nil, err
	}
	now := s.Service.Now()
	bodies := each(found, func(f *flag.Flag) FlagSummary { return newFlagSummary(f, now) })
	return rpc.Cut(bodies, in.Size(), func(b FlagSummary) any { return b.ID }), nil
}

func (s *Flags) update(ctx context.Context, call *rpc.Call, in *flagUpdate) (*flagBody, error) {
	return s.told(s.Service.Update(ctx, call.By, in.target(call), in.fields()))
}

// to switches a flag.
func (s *Flags) to(action managed.Action) func(context.Context, *rpc.Call, *FlagChange) (*flagBody, error) {
	return func(ctx context.Context, call *rpc.Call, in *FlagChange) (*flagBody, error) {
		return s.told(s.Service.Switch(ctx, call.By, in.target(call), action))
	}
}

// deletedBody names a record that is no more.
type deletedBody struct {
	ID string `json:"id" doc:"What is no more."`
}

func (s *Flags) delete(ctx context.Context, call *rpc.Call, in *FlagChange) (*deletedBody, error) {
	f, err := s.Service.Delete(ctx, call.By, in.target(call))
	if err != nil {
		return nil, err
	}
	return &deletedBody{f.ID}, nil
}

func (s *Flags) duplicate(ctx context.Context, call *rpc.Call, in *flagDuplicate) (*flagBody, error) {
	t := reach(call, in.ID.ID, 0)
	from, err := s.Service.Get(ctx, t)
	if err != nil {
		return nil, err
	}
	site := from.WebsiteID
	if in.WebsiteID.Set {
		if site, err = s.website(ctx, call, in.WebsiteID); err != nil {
			return nil, err
		}
	}
	name := in.Name.Or("")
	spec := flag.Spec{OrganizationID: call.OrganizationID(), WebsiteID: site, Key: in.Key}
	return s.told(s.Service.Duplicate(ctx, call.By, t, spec, &name))
}

func (s *Flags) addTargets(ctx context.Context, call *rpc.Call, in *flagAddTargets) (*flagBody, error) {
	people := flag.People{UserIDs: in.UserIDs, Emails: in.Emails, Environment: in.Environment}
	return s.told(s.Service.AddTargets(ctx, call.By, in.target(call), in.Variant, people, in.Mode == "replace"))
}

func (s *Flags) removeTargets(ctx context.Context, call *rpc.Call, in *flagRemoveTargets) (*flagBody, error) {
	people := flag.People{UserIDs: in.UserIDs, Emails: in.Emails, Environment: in.Environment}
	return s.told(s.Service.RemoveTargets(ctx, call.By, in.target(call), people))
}

func (s *Flags) versions(ctx context.Context, call *rpc.Call, in *flagVersions) (*rpc.List[versionBody], error) {
	var before int64
	if _, err := in.After(&before); err != nil {
		return nil, err
	}
	found, err := s.Service.Versions(ctx, reach(call, in.ID.ID, 0), before, in.Size()+1)
	if err != nil {
		return nil, err
	}
	return rpc.Cut(each(found, newVersionBody), in.Size(), func(b versionBody) any { return b.Version }), nil
}

func (s *Flags) rollback(ctx context.Context, call *rpc.Call, in *flagRollback) (*flagBody, error) {
	return s.told(s.Service.Rollback(ctx, call.By, reach(call, in.ID.ID, in.CurrentVersion), in.Version))
}
