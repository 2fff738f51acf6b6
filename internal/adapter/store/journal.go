package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/uptrace/bun"

	"github.com/millrace/millrace/internal/platform/control"
	"github.com/millrace/millrace/internal/tenant/audit"
	"github.com/millrace/millrace/internal/tenant/managed"
)

type auditRow struct {
	bun.BaseModel `bun:"table:audit_entries,alias:a"`

	ID             string  `bun:"id,pk"`
	At             instant `bun:"at"`
	OrganizationID string  `bun:"organization_id"`
	ActorType      string  `bun:"actor_type"`
	ActorID        string  `bun:"actor_id"`
	ActorName      string  `bun:"actor_name"`
	Action         string  `bun:"action"`
	ResourceType   string  `bun:"resource_type"`
	ResourceID     string  `bun:"resource_id"`
	ResourceName   string  `bun:"resource_name"`
	Changes        string  `bun:"changes"` // JSON object
	IP             string  `bun:"ip"`
	UserAgent      string  `bun:"user_agent"`
	RequestID      string  `bun:"request_id"`
}

type outboxRow struct {
	bun.BaseModel `bun:"table:outbox,alias:o"`

	Seq            int64   `bun:"seq,pk,autoincrement"`
	Kind           string  `bun:"kind"`
	ID             string  `bun:"id"`
	OrganizationID string  `bun:"organization_id"`
	Version        int64   `bun:"version"`
	Refs           list    `bun:"refs"`
	State          string  `bun:"state"`
	Gone           bool    `bun:"gone"`
	CreatedAt      instant `bun:"created_at"`
}

var (
	errNoTransaction = errors.New("a change and its journal must be in one transaction")
	errNotJudged     = errors.New("a change in a caller's name must use Change")
)

// journal remembers and announces a change of a record of a noun: was is nil for a new
// one.
func journal[R managed.Kept](
	ctx context.Context, tx *Store, noun *managed.Noun[R], by audit.By, action managed.Action, was, is R,
) error {
	if err := tx.Record(ctx, noun.Entry(by, action, was, is)); err != nil {
		return err
	}
	if noun.Kind == "" { // nobody remembers such records
		return nil
	}
	return tx.Announce(ctx, noun.Event(was, is))
}

// journalAtOnce is how many rows of the journal one statement writes.
const journalAtOnce = 500

// Record remembers changes. It works only inside InTx, next to the changes, and inside
// Change for a caller whose grant may have ended.
func (s *Store) Record(ctx context.Context, entries ...audit.Entry) error {
	if !s.inTx() {
		return errNoTransaction
	}
	rows := make([]auditRow, len(entries))
	for i := range entries {
		if entries[i].By.Grant != nil && !s.judged {
			return errNotJudged
		}
		var err error
		if rows[i], err = newAuditRow(&entries[i]); err != nil {
			return err
		}
	}
	for some := range slices.Chunk(rows, journalAtOnce) {
		if _, err := s.write.NewInsert().Model(&some).Exec(ctx); err != nil {
			return fmt.Errorf("adding the audit entry of %s: %w", some[0].Action, err)
		}
	}
	return nil
}

// recordPerson remembers something about a person's own account, such as a session: once
// in each organization that the person belongs to now, so that its owners see it, and once
// in none for a person who belongs to none.
func (s *Store) recordPerson(ctx context.Context, userID string, e audit.Entry) error {
	var organizations []string
	if err := s.write.NewSelect().Model((*memberRow)(nil)).Column("organization_id").
		Where("m.user_id = ?", userID).Order("m.organization_id").Scan(ctx, &organizations); err != nil {
		return fmt.Errorf("reading the organizations of user %s: %w", userID, err)
	}
	if len(organizations) == 0 {
		organizations = []string{""}
	}
	entries := make([]audit.Entry, len(organizations))
	for i, id := range organizations {
		entries[i] = e.In(id)
	}
	return s.Record(ctx, entries...)
}

func newAuditRow(e *audit.Entry) (auditRow, error) {
	changes := []byte("{}")
	if len(e.Changes) > 0 {
		var err error
		if changes, err = json.Marshal(e.Changes); err != nil {
			return auditRow{}, fmt.Errorf("encoding the changes: %w", err)
		}
	}
	return auditRow{
		ID: e.ID, At: at(e.At), OrganizationID: e.OrganizationID,
		ActorType: string(e.By.Actor.Type), ActorID: e.By.Actor.ID, ActorName: e.By.Actor.Name,
		Action: e.Action, ResourceType: e.ResourceType, ResourceID: e.ResourceID, ResourceName: e.ResourceName,
		Changes: string(changes), IP: e.By.IP, UserAgent: e.By.UserAgent, RequestID: e.By.RequestID,
	}, nil
}

// Announce puts change events into the outbox, from where they are published
// after the commit. It works only inside InTx, next to the changes.
func (s *Store) Announce(ctx context.Context, changes ...control.Change) error {
	if !s.inTx() {
		return errNoTransaction
	}
	rows := make([]outboxRow, len(changes))
	for i, c := range changes {
		rows[i] = outboxRow{
			Kind: string(c.Kind), ID: c.ID, OrganizationID: c.OrganizationID, Version: c.Version,
			Refs: c.Refs, State: c.State, Gone: c.Gone, CreatedAt: at(c.At),
		}
	}
	for some := range slices.Chunk(rows, journalAtOnce) {
		if _, err := s.write.NewInsert().Model(&some).Exec(ctx); err != nil {
			return fmt.Errorf("announcing the change of %s %s: %w", some[0].Kind, some[0].ID, err)
		}
	}
	return nil
}

// inTx reports whether the store is the one that InTx hands out.
func (s *Store) inTx() bool {
	_, outside := s.write.(*bun.DB)
	return !outside
}
