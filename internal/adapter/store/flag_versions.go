package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/uptrace/bun"

	"github.com/millrace/millrace/internal/resource/flag"
	"github.com/millrace/millrace/internal/tenant/audit"
	"github.com/millrace/millrace/internal/tenant/managed"
)

type flagVersionRow struct {
	bun.BaseModel `bun:"table:flag_versions,alias:fv"`

	FlagID     string  `bun:"flag_id,pk"`
	Version    int64   `bun:"version,pk"`
	Action     string  `bun:"action"`
	Changed    list    `bun:"changed"`
	Name       string  `bun:"name"`
	State      string  `bun:"state"`
	About      string  `bun:"about"`
	Definition string  `bun:"definition"`
	MadeAt     instant `bun:"made_at"`
	ActorType  string  `bun:"actor_type"`
	ActorID    string  `bun:"actor_id"`
	ActorName  string  `bun:"actor_name"`
}

// earlierBytes is what the versions of a flag take before its current one, each with 1024 bytes
// besides its texts. The lengths are read without the texts.
const earlierBytes = "(SELECT COALESCE(SUM(" + versionBytes + "), 0) FROM flag_versions AS fv " +
	"WHERE fv.flag_id = flags.id AND fv.version < flags.version)"

const versionBytes = "1024 + octet_length(fv.about) + octet_length(fv.definition)"

// keepVersion keeps what a flag is now, and forgets what it was too many changes ago, and what the
// organization's flags were too many bytes ago.
func (s *Store) keepVersion(
	ctx context.Context, by audit.By, action managed.Action, was, is *flag.Flag, row *flagRow,
) error {
	kept := &flagVersionRow{
		FlagID: is.ID, Version: is.Version, Action: string(action),
		Name: row.Name, State: row.State, About: row.About, Definition: row.Definition,
		MadeAt: row.UpdatedAt, ActorType: string(by.Actor.Type), ActorID: by.Actor.ID, ActorName: by.Actor.Name,
	}
	if was != nil {
		kept.Changed = slices.Sorted(maps.Keys(flag.Noun.Diff(was, is)))
	}
	if _, err := s.write.NewInsert().Model(kept).Exec(ctx); err != nil {
		return fmt.Errorf("storing version %d of flag %s: %w", is.Version, is.ID, err)
	}
	_, err := s.write.NewDelete().Model((*flagVersionRow)(nil)).Where("flag_id = ?", is.ID).
		Where("version <= ?", is.Version-flag.KeptVersions).Exec(ctx)
	if err != nil {
		return fmt.Errorf("deleting old versions of flag %s: %w", is.ID, err)
	}
	if _, err := s.write.ExecContext(ctx, "UPDATE flags SET version_bytes = "+earlierBytes+" WHERE id = ?",
		is.ID); err != nil {
		return fmt.Errorf("counting the bytes of versions of flag %s: %w", is.ID, err)
	}
	return s.trimVersions(ctx, is.OrganizationID)
}

// trimVersions deletes the oldest versions of an organization's flags, but no current one, if they
// have more than flag.KeptVersionBytes. It frees an eighth of that, so that few changes delete any.
func (s *Store) trimVersions(ctx context.Context, organizationID string) error {
	var total int64
	if err := s.write.NewRaw("SELECT COALESCE(SUM(version_bytes), 0) FROM flags WHERE organization_id = ?",
		organizationID).Scan(ctx, &total); err != nil {
		return fmt.Errorf("counting the bytes of flag versions of organization %s: %w", organizationID, err)
	}
	if total <= flag.KeptVersionBytes {
		return nil
	}
	excess := total - flag.KeptVersionBytes + flag.KeptVersionBytes/8
	var until instant
	err := s.write.NewRaw("SELECT t.made_at FROM (SELECT fv.made_at, SUM("+versionBytes+") OVER (ORDER BY fv.made_at) AS "+
		"bytes FROM flag_versions AS fv JOIN flags AS f ON f.id = fv.flag_id "+
		"WHERE f.organization_id = ? AND fv.version < f.version) AS t WHERE t.bytes >= ? ORDER BY t.made_at LIMIT 1",
		organizationID, excess).Scan(ctx, &until)
	if err == nil {
		_, err = s.write.ExecContext(ctx, "DELETE FROM flag_versions WHERE made_at <= ? "+
			"AND flag_id IN (SELECT f.id FROM flags AS f WHERE f.organization_id = ?) "+
			"AND version < (SELECT f.version FROM flags AS f WHERE f.id = flag_versions.flag_id)", until, organizationID)
	}
	if err == nil || errors.Is(err, sql.ErrNoRows) { // without a row, version_bytes was wrong
		_, err = s.write.ExecContext(ctx, "UPDATE flags SET version_bytes = "+earlierBytes+" WHERE organization_id = ?",
			organizationID)
	}
	if err != nil {
		return fmt.Errorf("deleting old flag versions of organization %s: %w", organizationID, err)
	}
	return nil
}

// FlagVersions returns up to limit of the kept versions of a flag, without the flag, the
// latest first, those before a number; 0 for all.
func (s *Store) FlagVersions(ctx context.Context, flagID string, before int64, limit int) ([]flag.Version, error) {
	ctx, cancel := s.deadline(ctx)
	defer cancel()
	var rows []flagVersionRow
	q := s.read.NewSelect().Model(&rows).ExcludeColumn("about", "definition").Where("fv.flag_id = ?", flagID).
		Order("fv.version DESC").Limit(int64(limit))
	if before > 0 {
		q = q.Where("fv.version < ?", before)
	}
	if err := q.Scan(ctx); err != nil {
		return nil, fmt.Errorf("listing versions of flag %s: %w", flagID, err)
	}
	all := make([]flag.Version, len(rows))
	for i := range rows {
		all[i] = rows[i].version()
	}
	return all, nil
}

// FlagVersion returns one version of a flag with the flag as it was, or
// flag.ErrVersionNotFound.
func (s *Store) FlagVersion(ctx context.Context, of *flag.Flag, number int64) (*flag.Version, error) {
	ctx, cancel := s.deadline(ctx)
	defer cancel()
	var row flagVersionRow
	err := s.read.NewSelect().Model(&row).Where("fv.flag_id = ?", of.ID).Where("fv.version = ?", number).Scan(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, flag.ErrVersionNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("reading version %d of flag %s: %w", number, of.ID, err)
	}
	v := row.version()
	then := flagRow{
		ID: of.ID, OrganizationID: of.OrganizationID, WebsiteID: of.WebsiteID, Version: row.Version,
		Key: of.Key(), Name: row.Name, State: row.State, About: row.About, Definition: row.Definition,
		CreatedAt: at(of.CreatedAt), UpdatedAt: row.MadeAt, CreatedBy: of.CreatedBy,
	}
	v.Flag, err = then.flag()
	return &v, err
}

func (r *flagVersionRow) version() flag.Version {
	return flag.Version{
		Number: r.Version, Action: managed.Action(r.Action), Changed: r.Changed, At: r.MadeAt.Time,
		ActorType: r.ActorType, ActorID: r.ActorID, ActorName: r.ActorName,
	}
}
