package org_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/adapter/store"
	"github.com/millrace/millrace/internal/adapter/store/storetest"
	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/tenant/attempt"
	"github.com/millrace/millrace/internal/tenant/audit"
	"github.com/millrace/millrace/internal/tenant/org"
)

// house invites people into organizations, at a time that the test moves, and keeps whom
// mails were sent to.
type house struct {
	*org.Service

	t    *testing.T
	db   *store.Store
	now  time.Time
	sent []string
	full bool // no mail is taken
}

func newHouse(t *testing.T) *house {
	t.Helper()
	h := &house{t: t, now: time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)}
	var err error
	if h.db, err = store.Open(t.Context(), storetest.SQLite(t), store.Options{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.db.Close() })
	h.Service = org.NewService("https://api.example.com", org.Deps{
		Store: h.db, Invitations: h.db, Attempts: h.db, Mail: h, Now: func() time.Time { return h.now },
	})
	return h
}

// Send keeps a mail.
func (h *house) Send(_ context.Context, to, _, _ string) error {
	if h.full {
		return errors.New("full")
	}
	h.sent = append(h.sent, to)
	return nil
}

func (h *house) organization() string {
	h.t.Helper()
	o, err := org.New("Acme", h.now)
	if err == nil {
		err = h.db.CreateOrganization(h.t.Context(), audit.BySystem(), o)
	}
	if err != nil {
		h.t.Fatal(err)
	}
	return o.ID
}

var verified = org.Inviter{Role: org.RoleOwner, Verified: true}

func (h *house) invite(by org.Inviter, inviter, organizationID, email string) error {
	h.t.Helper()
	eve := audit.By{Actor: audit.Actor{Type: audit.User, ID: inviter, Name: "eve@example.com"}}
	_, text, err := h.Invite(h.t.Context(), eve, by, organizationID, email, org.RoleViewer)
	if text != "" {
		h.t.Errorf("the token of a mailed invitation is shown")
	}
	return err
}

func TestWhoHasNoVerifiedAddressHasNoInvitationMailed(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	o := h.organization()
	err := h.invite(org.Inviter{Role: org.RoleOwner}, "usr_eve", o, "ann@example.com")
	if !apierr.Is(err, apierr.Forbidden) || len(h.sent) != 0 {
		t.Errorf("Invite() = %v, %d mails", err, len(h.sent))
	}
	if all, err := h.Invitations(t.Context(), o, "", 10); err != nil || len(all) != 0 {
		t.Errorf("%d invitations are open, %v", len(all), err)
	}
	if err := h.invite(verified, "usr_eve", o, "ann@example.com"); err != nil || len(h.sent) != 1 {
		t.Errorf("with a verified address: %v, %d mails", err, len(h.sent))
	}
}

func TestMailedInvitationsAreBoundedByRecipientOrganizationAndInviter(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		allowance attempt.Allowance
		invite    func(h *house, i int) error
	}{
		"recipient": {org.Allowances.Recipient, func(h *house, i int) error {
			return h.invite(verified, fmt.Sprintf("usr_%d", i), h.organization(), "Ann@example.com")
		}},
		"organization": {org.Allowances.Organization, func() func(h *house, i int) error {
			o := ""
			return func(h *house, i int) error {
				if o == "" {
					o = h.organization()
				}
				if i == org.MaxInvitations { // the other bound of an organization
					h.revokeOne(o)
				}
				return h.invite(verified, fmt.Sprintf("usr_%d", i), o, fmt.Sprintf("u%d@example.com", i))
			}
		}()},
		"inviter": {org.Allowances.Inviter, func(h *house, i int) error {
			return h.invite(verified, "usr_eve", h.organization(), fmt.Sprintf("u%d@example.com", i))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			for i := range tc.allowance.Burst + 1 {
				err := tc.invite(h, i)
				if i < tc.allowance.Burst {
					if err != nil {
						t.Fatalf("invitation %d: %v", i+1, err)
					}
					continue
				}
				f := apierr.Of(err)
				if f.Code != apierr.RateLimited || f.RetryAfter != tc.allowance.Interval || f.Message == "" {
					t.Errorf("invitation %d: %+v", i+1, f)
				}
			}
			h.now = h.now.Add(tc.allowance.Interval)
			if err := tc.invite(h, tc.allowance.Burst); err != nil || len(h.sent) != tc.allowance.Burst+1 {
				t.Errorf("after the pause: %v, %d mails", err, len(h.sent))
			}
		})
	}
}

// revokeOne makes room for one more invitation.
func (h *house) revokeOne(organizationID string) {
	h.t.Helper()
	all, err := h.Invitations(h.t.Context(), organizationID, "", 1)
	if err == nil && len(all) == 1 {
		err = h.Revoke(h.t.Context(), audit.BySystem(), org.RoleOwner, organizationID, all[0].ID)
	}
	if err != nil {
		h.t.Fatal(err)
	}
}

func TestAnInvitationThatIsNotMailedCountsNot(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	o := h.organization()
	h.full = true
	for range org.Allowances.Recipient.Burst + 1 {
		if err := h.invite(verified, "usr_eve", o, "ann@example.com"); !apierr.Is(err, apierr.ServiceUnavailable) {
			t.Fatalf("while no mail is taken: %v", err)
		}
	}
	h.full = false
	ann, err := org.NewUser("ann@example.com", "Ann", "none", h.now)
	if err == nil {
		err = h.db.CreateUser(t.Context(), audit.BySystem(), ann)
	}
	if err == nil {
		membership := &org.Member{OrganizationID: o, UserID: ann.ID, Role: org.RoleViewer, CreatedAt: h.now}
		err = h.db.AddMember(t.Context(), audit.BySystem(), membership)
	}
	if err != nil {
		t.Fatal(err)
	}
	for range org.Allowances.Recipient.Burst + 1 {
		if err := h.invite(verified, "usr_eve", o, "ann@example.com"); !errors.Is(err, org.ErrMemberExists) {
			t.Fatalf("of a member: %v", err)
		}
	}
	if err := h.invite(verified, "usr_eve", h.organization(), "ann@example.com"); err != nil {
		t.Error(err)
	}
}
