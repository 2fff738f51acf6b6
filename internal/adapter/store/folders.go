package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/uptrace/bun"

	"github.com/millrace/millrace/internal/resource/link"
	"github.com/millrace/millrace/internal/tenant/audit"
	"github.com/millrace/millrace/internal/tenant/managed"
	"github.com/millrace/millrace/internal/tenant/org"
)

type folderRow struct {
	bun.BaseModel `bun:"table:link_folders,alias:lf"`

	ID             string  `bun:"id,pk"`
	OrganizationID string  `bun:"organization_id"`
	Version        int64   `bun:"version"`
	Name           string  `bun:"name"`
	NameKey        string  `bun:"name_key"` // in lower case as the program understands it
	CreatedAt      instant `bun:"created_at"`
	UpdatedAt      instant `bun:"updated_at"`
	CreatedBy      string  `bun:"created_by"`
}

func newFolderRow(f *link.Folder) *folderRow {
	return &folderRow{
		ID: f.ID, OrganizationID: f.OrganizationID, Version: f.Version, Name: f.Name, NameKey: strings.ToLower(f.Name),
		CreatedAt: at(f.CreatedAt), UpdatedAt: at(f.UpdatedAt), CreatedBy: f.CreatedBy,
	}
}

func (r *folderRow) folder() *link.Folder {
	return &link.Folder{Record: managed.Record{
		ID: r.ID, OrganizationID: r.OrganizationID, Version: r.Version, Name: r.Name,
		CreatedAt: r.CreatedAt.Time, UpdatedAt: r.UpdatedAt.Time, CreatedBy: r.CreatedBy,
	}}
}

// CreateFolder adds a folder and its audit entry. It returns link.TooMany where there are
// limit, link.ErrFolderNameTaken, and org.ErrNotFound for an organization that
// does not exist.
func (s *Store) CreateFolder(ctx context.Context, by audit.By, f *link.Folder, limit int) error {
	return s.Change(ctx, by, func(ctx context.Context, tx *Store) error {
		// Those who count the organization's folders do it one after the other.
		if err := tx.lockOrganization(ctx, f.OrganizationID, org.ErrNotFound); err != nil {
			return err
		}
		n, err := tx.read.NewSelect().Model((*folderRow)(nil)).Where("lf.organization_id = ?", f.OrganizationID).Count(ctx)
		switch {
		case err != nil:
			return fmt.Errorf("counting the folders of organization %s: %w", f.OrganizationID, err)
		case int(n) >= limit:
			return link.TooMany("folders", limit)
		}
		if _, err := tx.write.NewInsert().Model(newFolderRow(f)).Exec(ctx); err != nil {
			return tx.folderViolation(err, "adding", f)
		}
		return journal(ctx, tx, &link.Folders, by, managed.Created, nil, f)
	})
}

// SaveFolder replaces was by is, with its audit entry; one that is deleted is removed, and
// its links are in no folder then. A folder that is not at was.Version any more is
// managed.ErrChanged, and nothing is written.
func (s *Store) SaveFolder(ctx context.Context, by audit.By, action managed.Action, was, is *link.Folder) error {
	return s.Change(ctx, by, func(ctx context.Context, tx *Store) error {
		var res sql.Result
		var err error
		if is.Deleted() {
			res, err = tx.write.NewDelete().Model((*folderRow)(nil)).Where("id = ?", was.ID).Where(
				"version = ?", was.Version).Exec(ctx)
		} else {
			res, err = tx.write.NewUpdate().Model(newFolderRow(is)).ExcludeColumn("id", "organization_id",
				"created_at", "created_by").
				Where("id = ?", was.ID).Where("version = ?", was.Version).Exec(ctx)
		}
		if err != nil {
			return tx.folderViolation(err, "changing", is)
		}
		if err := mustTouch(res, managed.ErrChanged); err != nil {
			return err
		}
		return journal(ctx, tx, &link.Folders, by, action, was, is)
	})
}

func (s *Store) folderViolation(err error, doing string, f *link.Folder) error {
	if s.dialect.violation(err) == uniqueViolation {
		return link.ErrFolderNameTaken
	}
	return fmt.Errorf("%s folder %s: %w", doing, f.ID, err)
}

// FolderByID returns a folder of whatever organization, or link.ErrFolderNotFound.
func (s *Store) FolderByID(ctx context.Context, id string) (*link.Folder, error) {
	ctx, cancel := s.deadline(ctx)
	defer cancel()
	var row folderRow
	err := s.read.NewSelect().Model(&row).Where("lf.id = ?", id).Scan(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, link.ErrFolderNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("reading a folder: %w", err)
	}
	return row.folder(), nil
}

// ListFolders returns an organization's folders in the order of their creation, those
// after the given id.
func (s *Store) ListFolders(ctx context.Context, organizationID, after string, limit int) ([]*link.Folder, error) {
	ctx, cancel := s.deadline(ctx)
	defer cancel()
	var rows []folderRow
	q := s.read.NewSelect().Model(&rows).Where("lf.organization_id = ?", organizationID)
	if err := page(q, "lf.id", false, after, limit).Scan(ctx); err != nil {
		return nil, fmt.Errorf("listing the folders of organization %s: %w", organizationID, err)
	}
	folders := make([]*link.Folder, len(rows))
	for i := range rows {
		folders[i] = rows[i].folder()
	}
	return folders, nil
}
