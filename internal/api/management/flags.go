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
	{Err: flag.ErrVersionNotFound, Code: apierr.NotFound, Message: "The flag does not have this version, or no longer " +
		"keeps it"},
	{
		Err: flag.ErrNotCovered, Code: apierr.AccessDenied, Message: "The API key is limited to the flags of another website",
	},
	{Err: flag.ErrKeyTaken, Code: apierr.Conflict, Message: "Another flag already has this key"},
	{Err: flag.ErrSegmentKeyTaken, Code: apierr.Conflict, Message: "Another segment already has this key"},
	{Err: managed.ErrChanged, Code: apierr.Conflict, Message: "The record has changed since it was read"},
	{Err: website.ErrNotFound, Code: apierr.NotFound, Message: "Website not found"},
	{Err: website.ErrNotCovered, Code: apierr.AccessDenied, Message: "The API key is limited to another website"},
	{Err: org.ErrNotFound, Code: apierr.NotFound, Message: "Organization not found"},
}

// Resource returns the rows of flags.
func (s *Flags) Resource() rpc.Resource {
	const covers = " A key that is limited to one website can access only that website's flags."
	return rpc.Resource{
		Name: "flags", Summary: "Feature flags: variants that an application serves to its users.",
		Record:   flag.MaxBytes + 64<<10,
		Failures: flagFailures,
		Operations: []rpc.Operation{
			rpc.Op(rpc.Spec{
				Name: "create", Summary: "Create a flag", Class: auth.ManageFlags, Creates: true, Audit: "flag.created",
				Detail: "The flag is inactive at first. A website's flag overrides a flag of all websites with the same " +
					"key. An archived flag overrides nothing." + covers,
			}, s.create),
			rpc.Op(rpc.Spec{
				Name: "get", Summary: "Get a flag", Class: auth.ViewFlags,
				Detail: "Finds the flag by id or key. Returns the current flag, or one of its stored versions." + covers,
			}, s.get),
			rpc.Op(
				rpc.Spec{
					Name: "list", Summary: "List flags", Class: auth.ViewFlags,
					Detail: "Returns the flags without variants, targets, rules and environments." + covers,
				}, s.list),
			rpc.Op(rpc.Spec{
				Name: "update", Summary: "Update a flag", Class: auth.ManageFlags, Audit: "flag.updated",
				Detail: "Absent fields keep their values; lists, schedule, exposures and environments are replaced as a " +
					"whole." + covers,
			}, s.update),
			rpc.Op(rpc.Spec{
				Name: "enable", Summary: "Enable an inactive flag", Class: auth.ManageFlags, Audit: "flag.enabled",
			}, s.to(flag.Enabled)),
			rpc.Op(rpc.Spec{
				Name: "disable", Summary: "Disable an active flag", Class: auth.ManageFlags, Audit: "flag.disabled",
			}, s.to(flag.Disabled)),
			rpc.Op(rpc.Spec{
				Name: "archive", Summary: "Archive an inactive flag", Class: auth.ManageFlags, Audit: "flag.archived",
				Detail: "An archived flag is not evaluated and cannot be changed. A flag that other flags depend on cannot be " +
					"archived.",
			}, s.to(flag.Archiving)),
			rpc.Op(rpc.Spec{
				Name: "unarchive", Summary: "Unarchive a flag", Class: auth.ManageFlags,
				Audit: "flag.unarchived",
			}, s.to(flag.Unarchived)),
			rpc.Op(rpc.Spec{
				Name: "delete", Summary: "Delete an archived flag", Class: auth.ManageFlags, Audit: "flag.deleted",
				Detail: "Deletes the flag and its versions. This cannot be undone.",
			}, s.delete),
			rpc.Op(rpc.Spec{
				Name: "duplicate", Summary: "Duplicate a flag", Class: auth.ManageFlags, Creates: true,
				Audit: "flag.duplicated",
			}, s.duplicate),
			rpc.Op(rpc.Spec{
				Name: "addTargets", Summary: "Give users a variant", Class: auth.ManageFlags, Audit: "flag.targetsAdded",
			}, s.addTargets),
			rpc.Op(rpc.Spec{
				Name: "removeTargets", Summary: "Remove users from targets", Class: auth.ManageFlags, Audit: "flag.targetsRemoved",
			}, s.removeTargets),
			rpc.Op(rpc.Spec{
				Name: "evaluate", Summary: "Evaluate flags for contexts and explain the results", Class: auth.ViewFlags,
				Detail: "Evaluates the stored flags, and one flag also with unsaved changes. Contexts are not stored." + covers,
			}, s.evaluate),
			rpc.Op(rpc.Spec{
				Name: "versions", Summary: "List the versions of a flag", Class: auth.ViewFlags,
				Detail: "Returns the last 500 versions, newest first.",
			}, s.versions),
			rpc.Op(rpc.Spec{
				Name: "rollback", Summary: "Restore an earlier version of a flag", Class: auth.ManageFlags,
				Audit:  "flag.rolledBack",
				Detail: "Creates a new version with everything that update can change. The status stays the same.",
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
		return t, apierr.Invalid("id", "one_of", "exactly one of id and key is required")
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
	ID string `json:"id" doc:"Id of the deleted record."`
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
