package store

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/uptrace/bun"

	"github.com/millrace/millrace/internal/resource/flag"
	"github.com/millrace/millrace/internal/resource/flag/flagset"
	"github.com/millrace/millrace/internal/tenant/managed"
)

// What of an organization's flags is evaluated, in one statement: it sees all of them as they
// were at one time. The first part is of the set itself, and of an organization that lives.
//
// The caller names what it holds by id, version and time, and the definitions of that are not
// sent. So neither a clock nor the lag of a replica decides what is sent: what came back, was
// moved, or is older than what is held, is not held. A name takes some 50 bytes.
const selectContents = "SELECT 'set' AS kind, o.id AS id, '' AS website_id, COALESCE(fs.version, 0) AS version, " +
	"h.epoch AS epoch, " +
	"'' AS key, '' AS name, '' AS state, '' AS about, '' AS definition, 0 AS created_at, 0 AS updated_at, '' AS " +
	"created_by " +
	"FROM organizations AS o CROSS JOIN control_head AS h LEFT JOIN flag_sets AS fs ON fs.organization_id = o.id " +
	"WHERE o.id = ? AND " + organizationLives +
	" UNION ALL SELECT 'flag', f.id, COALESCE(f.website_id, ''), f.version, 0, f.key, f.name, f.state, f.about, " +
	"CASE WHEN (f.id || ':' || f.version || ':' || f.updated_at) IN (?) THEN '' ELSE f.definition END, f.created_at, " +
	"f.updated_at, f.created_by " +
	"FROM flags AS f WHERE f.organization_id = ? AND f.state <> ? AND " + websiteLives +
	" UNION ALL SELECT 'segment', sg.id, COALESCE(sg.website_id, ''), sg.version, 0, sg.key, sg.name, sg.description, " +
	"'', " +
	"CASE WHEN (sg.id || ':' || sg.version || ':' || sg.updated_at) IN (?) THEN '' ELSE sg.definition END, " +
	"sg.created_at, sg.updated_at, sg.created_by " +
	"FROM flag_segments AS sg WHERE sg.organization_id = ? AND " + websiteLives

// contentRow is a row of selectContents; state is the description of a segment.
type contentRow struct {
	kind, id, websiteID                 string
	version, epoch                      int64
	key, name, state, about, definition string
	createdAt, updatedAt                instant
	createdBy                           string
}

// FlagSet returns the flags of an organization that are not archived, and its segments, but for
// those of deleted websites, with how new they are; flagset.ErrGone for an organization that
// does not exist, or was deleted. What is held in the same version is taken from there, so that
// its definition does not leave the database. It is one statement, and a second one only where
// what is held is of another epoch, or was changed by hand.
func (s *Store) FlagSet(ctx context.Context, organizationID string, held *flagset.Set) (*flagset.Contents, error) {
	ctx, cancel := s.deadline(ctx)
	defer cancel()
	c, err := s.flagSet(ctx, organizationID, held)
	if errors.Is(err, errNotHeld) {
		return s.flagSet(ctx, organizationID, nil)
	}
	return c, err
}

// errNotHeld says that a definition was left out that is not held after all: a version comes again
// with something else in another epoch, or was changed by hand.
var errNotHeld = errors.New("the caller does not hold a definition that the statement left out")

func (s *Store) flagSet(ctx context.Context, organizationID string, held *flagset.Set) (*flagset.Contents, error) {
	flags, segments := heldVersions(held)
	rows, err := s.read.QueryContext(ctx, selectContents, organizationID,
		bun.List(flags), organizationID, string(flag.Archived), bun.Ident("f"), bun.List(segments),
		organizationID, bun.Ident("sg"))
	if err != nil {
		return nil, fmt.Errorf("reading the flags of organization %s: %w", organizationID, err)
	}
	defer func() { _ = rows.Close() }()
	var c flagset.Contents
	for rows.Next() {
		var r contentRow
		err := rows.Scan(&r.kind, &r.id, &r.websiteID, &r.version, &r.epoch, &r.key, &r.name, &r.state, &r.about,
			&r.definition, &r.createdAt, &r.updatedAt, &r.createdBy)
		if err == nil {
			err = r.addTo(&c, organizationID, held)
		}
		if err != nil {
			return nil, fmt.Errorf("reading the flags of organization %s: %w", organizationID, err)
		}
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("reading the flags of organization %s: %w", organizationID, err)
	}
	switch {
	case c.Mark.Epoch == 0:
		return nil, flagset.ErrGone
	case held != nil && c.Mark.Epoch != held.Mark.Epoch:
		return nil, errNotHeld
	}
	return &c, nil
}

// heldVersions name what is held as selectContents does; nothing of a nil set.
func heldVersions(held *flagset.Set) (flags, segments []string) {
	if held == nil {
		return nil, nil
	}
	for r := range held.Flags() {
		flags = append(flags, heldVersion(&r.Record))
	}
	for _, r := range held.Segments {
		segments = append(segments, heldVersion(&r.Record))
	}
	return flags, segments
}

func heldVersion(r *managed.Record) string {
	return r.ID + ":" + strconv.FormatInt(r.Version, 10) + ":" + strconv.FormatInt(r.UpdatedAt.UnixMilli(), 10)
}

// addTo adds what a row says, or what is held of it.
func (r *contentRow) addTo(c *flagset.Contents, organizationID string, held *flagset.Set) error {
	switch r.kind {
	case "set":
		c.Mark = flagset.Mark{Epoch: r.epoch, Version: r.version}
	case "flag":
		if same := held.Same(r.websiteID, r.key, r.id, r.version, r.updatedAt.Time); same != nil {
			c.Flags = append(c.Flags, same)
			return nil
		}
		if r.definition == "" {
			return errNotHeld
		}
		f, err := (&flagRow{
			ID: r.id, OrganizationID: organizationID, WebsiteID: r.websiteID, Version: r.version,
			Key: r.key, Name: r.name, State: r.state, About: r.about, Definition: r.definition,
			CreatedAt: r.createdAt, UpdatedAt: r.updatedAt, CreatedBy: r.createdBy,
		}).flag()
		if err != nil {
			return err
		}
		c.Flags = append(c.Flags, f)
	case "segment":
		if same := held.SameSegment(r.websiteID, r.id, r.version, r.updatedAt.Time); same != nil {
			c.Segments = append(c.Segments, same)
			return nil
		}
		if r.definition == "" {
			return errNotHeld
		}
		g, err := (&segmentRow{
			ID: r.id, OrganizationID: organizationID, WebsiteID: r.websiteID, Version: r.version,
			Key: r.key, Name: r.name, Description: r.state, Definition: r.definition,
			CreatedAt: r.createdAt, UpdatedAt: r.updatedAt, CreatedBy: r.createdBy,
		}).segment()
		if err != nil {
			return err
		}
		c.Segments = append(c.Segments, g)
	}
	return nil
}

// FlagSetMarks returns how new the sets of some organizations' flags are. The version of one
// that never had a flag, or that is gone, is 0.
func (s *Store) FlagSetMarks(ctx context.Context, organizationIDs []string) (map[string]flagset.Mark, error) {
	ctx, cancel := s.deadline(ctx)
	defer cancel()
	if len(organizationIDs) == 0 {
		return map[string]flagset.Mark{}, nil
	}
	rows, err := s.read.QueryContext(ctx, "SELECT h.epoch, COALESCE(fs.organization_id, ''), COALESCE(fs.version, 0) "+
		"FROM control_head AS h LEFT JOIN flag_sets AS fs ON fs.organization_id IN (?) AND "+ownerLives,
		bun.List(organizationIDs), bun.Ident("fs"))
	if err != nil {
		return nil, fmt.Errorf("reading the marks of %d sets of flags: %w", len(organizationIDs), err)
	}
	defer func() { _ = rows.Close() }()
	marks := make(map[string]flagset.Mark, len(organizationIDs))
	var of string
	var mark flagset.Mark
	for rows.Next() {
		if err := rows.Scan(&mark.Epoch, &of, &mark.Version); err != nil {
			return nil, fmt.Errorf("reading the mark of a set of flags: %w", err)
		}
		marks[of] = mark
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("reading the marks of %d sets of flags: %w", len(organizationIDs), err)
	}
	delete(marks, "") // there is none of them
	for _, id := range organizationIDs {
		if _, has := marks[id]; !has {
			marks[id] = flagset.Mark{Epoch: mark.Epoch}
		}
	}
	return marks, nil
}
