package link

import (
	"context"
	"time"

	"github.com/millrace/millrace/internal/tenant/audit"
	"github.com/millrace/millrace/internal/tenant/displayname"
	"github.com/millrace/millrace/internal/tenant/managed"
)

// FolderStore keeps folders. Both mutating methods write the audit entry in the same
// transaction and return ErrFolderNameTaken.
type FolderStore interface {
	// CreateFolder adds a folder. It returns TooMany where there are limit, and
	// org.ErrNotFound for an organization that does not exist.
	CreateFolder(ctx context.Context, by audit.By, f *Folder, limit int) error
	// SaveFolder replaces was by is, or returns managed.ErrChanged when the folder is not
	// at was.Version any more. One that is deleted is removed, and its links are in no
	// folder then.
	SaveFolder(ctx context.Context, by audit.By, action managed.Action, was, is *Folder) error
	// FolderByID returns a folder or ErrFolderNotFound.
	FolderByID(ctx context.Context, id string) (*Folder, error)
	// ListFolders returns an organization's folders in the order of their creation.
	ListFolders(ctx context.Context, organizationID, after string, limit int) ([]*Folder, error)
}

// CreateFolder makes a folder. A name against the rules is a Validation error; other
// errors are those of FolderStore.CreateFolder.
func (s *Service) CreateFolder(ctx context.Context, by audit.By, organizationID, name string) (*Folder, error) {
	f := &Folder{Record: managed.New("fld", organizationID, by.Actor.ID, s.folders.Clock())}
	var err error
	if f.Name, err = displayname.Clean("name", name, MaxFolderNameLen); err != nil {
		return nil, err
	}
	if err := s.deps.Folders.CreateFolder(ctx, by, f, MaxFolders); err != nil {
		return nil, err
	}
	return f, nil
}

// ListFolders returns at most limit folders of an organization, in the order of their
// creation, those after the given id.
func (s *Service) ListFolders(ctx context.Context, organizationID, after string, limit int) ([]*Folder, error) {
	return s.deps.Folders.ListFolders(ctx, organizationID, after, limit)
}

// RenameFolder changes a folder's name. It returns ErrFolderNotFound, managed.ErrChanged,
// ErrFolderNameTaken or a Validation error.
func (s *Service) RenameFolder(ctx context.Context, by audit.By, t managed.Target, name string) (*Folder, error) {
	return s.folders.Change(ctx, by, t, managed.Updated, func(was *Folder, now time.Time) (*Folder, error) {
		is := managed.Next(was, now)
		var err error
		is.Name, err = displayname.Clean("name", name, MaxFolderNameLen)
		return is, err
	})
}

// DeleteFolder takes a folder away for good; its links stay, in no folder. It returns
// ErrFolderNotFound or managed.ErrChanged.
func (s *Service) DeleteFolder(ctx context.Context, by audit.By, t managed.Target) (*Folder, error) {
	return s.folders.Delete(ctx, by, t)
}
