package management

import (
	"context"

	"github.com/millrace/millrace/internal/api/rpc"
	"github.com/millrace/millrace/internal/contract/wire"
	"github.com/millrace/millrace/internal/resource/link"
	"github.com/millrace/millrace/internal/tenant/auth"
	"github.com/millrace/millrace/internal/tenant/managed"
)

// Folders returns the rows of the folders of short links.
func (s *Links) Folders() rpc.Resource {
	return rpc.Resource{
		Name: "linkFolders", Summary: "Folders of short links.",
		Failures: linkFailures,
		Operations: []rpc.Operation{
			rpc.Op(rpc.Spec{
				Name: "create", Summary: "Create a folder", Class: auth.ManageLinks, Creates: true, Audit: "linkFolder.created",
			}, s.createFolder),
			rpc.Op(
				rpc.Spec{Name: "list", Summary: "List folders", Class: auth.ViewLinks, Detail: "Oldest first."},
				s.listFolders),
			rpc.Op(rpc.Spec{Name: "update", Summary: "Rename a folder", Class: auth.ManageLinks, Audit: "linkFolder.updated"},
				s.renameFolder),
			rpc.Op(rpc.Spec{
				Name: "delete", Summary: "Delete a folder", Class: auth.ManageLinks, Audit: "linkFolder.deleted",
				Detail: "Links in the folder remain, without a folder.",
			}, s.deleteFolder),
		},
	}
}

type folderCreate struct {
	rpc.InOrganization

	Name string `json:"name" minLength:"1" maxLength:"80" doc:"Name of the folder, unique in the organization."`
}

type folderUpdate struct {
	LinkChange

	Name string `json:"name" minLength:"1" maxLength:"80" doc:"Name of the folder, unique in the organization."`
}

type folderList struct {
	rpc.InOrganization
	rpc.Page
}

type folderBody struct {
	ID             string    `json:"id"`
	OrganizationID string    `json:"organizationId"`
	Version        int64     `json:"version" doc:"Number that increases with every change."`
	Name           string    `json:"name"`
	CreatedAt      *rpc.Time `json:"createdAt"`
	UpdatedAt      *rpc.Time `json:"updatedAt"`
	CreatedBy      *string   `json:"createdBy" nullable:"true" doc:"Id of the user who created the folder; null for the operator's command."`
}

func newFolderBody(f *link.Folder) folderBody {
	return folderBody{
		ID: f.ID, OrganizationID: f.OrganizationID, Version: f.Version, Name: f.Name,
		CreatedAt: rpc.At(f.CreatedAt), UpdatedAt: rpc.At(f.UpdatedAt), CreatedBy: wire.OrNull(f.CreatedBy),
	}
}

func toldFolder(f *link.Folder, err error) (*folderBody, error) {
	if err != nil {
		return nil, err
	}
	b := newFolderBody(f)
	return &b, nil
}

func (s *Links) createFolder(ctx context.Context, call *rpc.Call, in *folderCreate) (*folderBody, error) {
	return toldFolder(s.Service.CreateFolder(ctx, call.By, call.OrganizationID(), in.Name))
}

func (s *Links) listFolders(ctx context.Context, call *rpc.Call, in *folderList) (*rpc.List[folderBody], error) {
	var after string
	if _, err := in.After(&after); err != nil {
		return nil, err
	}
	found, err := s.Service.ListFolders(ctx, call.OrganizationID(), after, in.Size()+1)
	if err != nil {
		return nil, err
	}
	bodies := make([]folderBody, len(found))
	for i, f := range found {
		bodies[i] = newFolderBody(f)
	}
	return rpc.Cut(bodies, in.Size(), func(b folderBody) any { return b.ID }), nil
}

func (s *Links) renameFolder(ctx context.Context, call *rpc.Call, in *folderUpdate) (*folderBody, error) {
	return toldFolder(s.Service.RenameFolder(ctx, call.By, in.target(call), in.Name))
}

type deletedFolder struct {
	ID string `json:"id" doc:"Id of the deleted folder."`
}

func (s *Links) deleteFolder(ctx context.Context, call *rpc.Call, in *LinkChange) (*deletedFolder, error) {
	f, err := s.Service.DeleteFolder(ctx, call.By,
		managed.Target{OrganizationID: call.OrganizationID(), Ref: in.ID.ID, Version: in.Version.Version})
	if err != nil {
		return nil, err
	}
	return &deletedFolder{ID: f.ID}, nil
}
