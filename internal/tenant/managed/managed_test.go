package managed_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/contract/wire"
	"github.com/millrace/millrace/internal/platform/control"
	"github.com/millrace/millrace/internal/tenant/audit"
	"github.com/millrace/millrace/internal/tenant/managed"
)

// sign is a noun: all that one has to write is here.
type sign struct {
	managed.Record

	Text string
}

var (
	errNoSign  = errors.New("sign not found")
	errCovered = errors.New("another sign")
	errThere   = errors.New("the sign is there")

	signs = managed.Noun[*sign]{
		Type: "sign", Kind: control.Website, Secret: []string{"text"},
		View: func(s *sign) map[string]any {
			return map[string]any{"name": s.Name, "text": s.Text, "deletedAt": wire.Time(s.DeletedAt)}
		},
		Refs: func(s *sign) []string { return []string{s.ID, "text:" + s.Text, ""} },
	}

	now = time.Date(2026, 11, 25, 12, 0, 0, 123_456_789, time.UTC)
)

// saved is what a shelf was asked to keep.
type saved struct {
	by      audit.By
	action  managed.Action
	was, is *sign
}

// shelf keeps one sign.
type shelf struct {
	sign *sign
	err  error // of the next save
	last *saved
}

func (s *shelf) find(_ context.Context, ref string) (*sign, error) {
	if ref != s.sign.ID && ref != s.sign.Text {
		return nil, errNoSign
	}
	return s.sign, nil
}

func (s *shelf) save(_ context.Context, by audit.By, action managed.Action, was, is *sign) error {
	if s.err != nil {
		return s.err
	}
	s.sign, s.last = is, &saved{by, action, was, is}
	return nil
}

func open(deleted time.Time) (*shelf, *managed.Changer[*sign]) {
	s := &shelf{sign: &sign{Record: managed.New("sgn", "org_1", "usr_1", now.Add(-time.Hour)), Text: "exit"}}
	s.sign.Name, s.sign.DeletedAt = "door", deleted
	return s, &managed.Changer[*sign]{
		Noun: &signs, Find: s.find, Save: s.save, Next: managed.Next[sign], Now: func() time.Time { return now },
		NotFound: errNoSign, NotCovered: errCovered, NotDeleted: errThere,
	}
}

func rewrite(text string) func(*sign, time.Time) (*sign, error) {
	return func(was *sign, now time.Time) (*sign, error) {
		is := managed.Next(was, now)
		is.Text = text
		return is, nil
	}
}

func TestAChangeIsTheNextVersion(t *testing.T) {
	t.Parallel()
	s, c := open(time.Time{})
	was, by := s.sign, audit.BySystem()
	is, err := c.Change(t.Context(), by, managed.Target{OrganizationID: "org_1", Ref: "exit", Version: 1},
		managed.Updated, rewrite("way out"))
	if err != nil || is.Version != 2 || is.Text != "way out" || !is.UpdatedAt.Equal(now.Truncate(time.Millisecond)) {
		t.Errorf("Change() = %+v, %v", is, err)
	}
	if s.last == nil || s.last.was != was || s.last.is != is || s.last.action != managed.Updated ||
		s.last.by.Actor != by.Actor {
		t.Errorf("kept %+v", s.last)
	}
}

func TestAChangeThatChangesNothingIsNone(t *testing.T) {
	t.Parallel()
	s, c := open(time.Time{})
	is, err := c.Change(t.Context(), audit.BySystem(), managed.Target{OrganizationID: "org_1", Ref: "exit"},
		managed.Updated, rewrite("exit"))
	if err != nil || is.Version != 1 || s.last != nil {
		t.Errorf("Change() = %+v, %v, kept %+v", is, err, s.last)
	}
}

func TestADeletedRecordComesBackWithinItsTime(t *testing.T) {
	t.Parallel()
	s, c := open(time.Time{})
	target := managed.Target{OrganizationID: "org_1", Ref: "exit"}
	if _, err := c.Restore(t.Context(), audit.BySystem(), target); !errors.Is(err, errThere) {
		t.Errorf("restoring one that is there: %v, want %v", err, errThere)
	}
	was := s.sign
	gone, err := c.Delete(t.Context(), audit.BySystem(), target)
	if err != nil || !gone.Deleted() || gone.Version != 2 || gone.Text != "exit" ||
		s.last.action != managed.Deleted || was.Deleted() {
		t.Errorf("Delete() = %+v, %v, kept %+v", gone, err, s.last)
	}
	if _, err := c.Delete(t.Context(), audit.BySystem(), target); !errors.Is(err, errNoSign) {
		t.Errorf("deleting it again: %v, want %v", err, errNoSign)
	}
	end := gone.DeletedAt.Add(managed.RestoreFor)
	c.Now = func() time.Time { return end }
	if _, err := c.Restore(t.Context(), audit.BySystem(), target); !errors.Is(err, errNoSign) {
		t.Errorf("restoring it when its time is over: %v, want %v", err, errNoSign)
	}
	c.Now = func() time.Time { return end.Add(-time.Millisecond) }
	back, err := c.Restore(t.Context(), audit.BySystem(), target)
	if err != nil || back.Deleted() || back.Version != 3 || s.last.action != managed.Restored {
		t.Errorf("Restore() = %+v, %v, kept %+v", back, err, s.last)
	}
}

func TestATargetIsRejectedByWhatItNames(t *testing.T) {
	t.Parallel()
	errDown := errors.New("down")
	s, c := open(time.Time{})
	id := s.sign.ID
	deleted, gone := open(now)
	for name, tc := range map[string]struct {
		c      *managed.Changer[*sign]
		target managed.Target
		want   error
	}{
		"nothing of that name":      {c, managed.Target{OrganizationID: "org_1", Ref: "entry"}, errNoSign},
		"another organization's":    {c, managed.Target{OrganizationID: "org_2", Ref: id}, errNoSign},
		"without an organization":   {c, managed.Target{Ref: id}, errNoSign},
		"one that is not the only":  {c, managed.Target{OrganizationID: "org_1", Only: "sgn_2", Ref: id}, errCovered},
		"the only one":              {c, managed.Target{OrganizationID: "org_1", Only: id, Ref: id}, errDown},
		"a version that is past":    {c, managed.Target{OrganizationID: "org_1", Ref: id, Version: 2}, managed.ErrChanged},
		"its version":               {c, managed.Target{OrganizationID: "org_1", Ref: id, Version: 1}, errDown},
		"one that is deleted":       {gone, managed.Target{OrganizationID: "org_1", Ref: deleted.sign.ID}, errNoSign},
		"a store that keeps it not": {c, managed.Target{OrganizationID: "org_1", Ref: id}, errDown},
	} {
		s.err = errDown
		if is, err := tc.c.Change(t.Context(), audit.BySystem(), tc.target, managed.Updated, rewrite("way out")); is != nil ||
			!errors.Is(err, tc.want) {
			t.Errorf("%s: Change() = %v, %v, want %v", name, is, err, tc.want)
		}
	}
	if is, err := gone.Any(t.Context(),
		managed.Target{OrganizationID: "org_1", Ref: deleted.sign.ID}); err != nil || is != deleted.sign {
		t.Errorf("Any() of a deleted one = %v, %v", is, err)
	}
}

func TestAnEntryAndAnEventAreOfTheSameChange(t *testing.T) {
	t.Parallel()
	s, _ := open(time.Time{})
	was := s.sign
	is, err := rewrite("way out")(was, now)
	if err != nil {
		t.Fatal(err)
	}
	is.DeletedAt = now
	e := signs.Entry(audit.BySystem(), managed.Deleted, was, is)
	want := map[string]audit.Change{
		"text": {From: audit.Masked, To: audit.Masked}, "deletedAt": {To: "2026-11-25T12:00:00.123Z"},
	}
	if diff := cmp.Diff(want, e.Changes); diff != "" || e.Action != "sign.deleted" || e.ResourceID != was.ID ||
		e.ResourceName != "door" || e.OrganizationID != "org_1" {
		t.Errorf("Entry() = %+v, changes (-want +got):\n%s", e, diff)
	}
	event := control.Change{
		Kind: control.Website, ID: was.ID, OrganizationID: "org_1", Version: 2, Gone: true, At: now,
		Refs: []string{was.ID, "text:exit", "text:way out"},
	}
	if diff := cmp.Diff(event, signs.Event(was, is)); diff != "" {
		t.Errorf("Event() (-want +got):\n%s", diff)
	}
	if got := signs.Entry(audit.BySystem(), managed.Created, nil, was).Changes; len(got) != 2 || got["name"].From != nil {
		t.Errorf("changes of a new one: %v", got)
	}
	if got := signs.Event(nil, was).Refs; len(got) != 2 {
		t.Errorf("refs of a new one: %v", got)
	}
}

func TestAPatchSetsWhatItHolds(t *testing.T) {
	t.Parallel()
	text := "none"
	set := func(to string) { text = to }
	managed.Apply(nil, set)
	if text != "none" {
		t.Errorf("nothing sets %q", text)
	}
	if managed.Apply(new(""), set); text != "" {
		t.Errorf("an empty text leaves %q", text)
	}
}
