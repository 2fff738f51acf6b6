package storetest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/adapter/store"
	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/privacy/erasure"
	"github.com/millrace/millrace/internal/privacy/tombstone"
	"github.com/millrace/millrace/internal/tenant/audit"
	"github.com/millrace/millrace/internal/tenant/managed"
	"github.com/millrace/millrace/internal/tenant/website"
)

func anErasure(id, organizationID, ownerID string, kind tombstone.Kind) *erasure.Erasure {
	return &erasure.Erasure{
		ID: id, OrganizationID: organizationID, OwnerID: ownerID, Kind: kind, Before: kept(Start), State: erasure.Requested,
		Deleted: map[string]int64{}, By: somebody.Actor, RequestedAt: kept(Start),
	}
}

func erasureIDs(all []*erasure.Erasure) (ids []string) {
	for _, e := range all {
		ids = append(ids, e.ID)
	}
	return ids
}

var erasureTests = map[string]func(*testing.T, *Fixture){
	"an erasure is kept as it is, and as it gets on": func(t *testing.T, f *Fixture) {
		s := f.Store()
		e := anErasure("era_1", "org_1", "web_1", tombstone.Profile)
		e.Stones = []erasure.Stone{
			{Kind: tombstone.Profile, ID: tombstone.IDOf(tombstone.Profile, []byte("web_1"), []byte("anna"))},
			{Kind: tombstone.Visitor, ID: tombstone.IDOf(tombstone.Visitor, []byte("web_1"), []byte("v"))},
		}
		e.Days = []string{"2026-03-01"}
		if err := s.CreateErasure(t.Context(), somebody, e); err != nil {
			t.Fatal(err)
		}
		look := func() {
			t.Helper()
			got, err := s.Erasure(t.Context(), e.ID)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(e, got); diff != "" {
				t.Errorf("Erasure() (-want +got):\n%s", diff)
			}
		}
		look()
		e.State, e.TombstonedAt, e.Shared, e.Failures = erasure.Tombstoned, kept(Start.Add(time.Second)), 2, 3
		e.Stones = append(e.Stones, erasure.Stone{Kind: tombstone.Visitor, ID: tombstone.ID{1}})
		if err := s.SaveErasure(t.Context(), e, Start); err != nil {
			t.Fatal(err)
		}
		look()
		for n, in := range map[int][]erasure.State{
			1: {erasure.Requested, erasure.Tombstoned}, 0: {erasure.Requested, erasure.Deleting},
		} {
			open, err := s.OpenErasures(t.Context(), erasure.Selection{In: in, Limit: 10})
			if err != nil || len(open) != n {
				t.Errorf("%d are %v, %v", len(open), in, err)
			}
		}
		e.State, e.DoneAt, e.Deleted, e.Failures = erasure.Done, kept(Start.Add(time.Minute)), map[string]int64{"events": 7},
			0
		for range 2 {
			if err := s.SaveErasure(t.Context(), e, Start); err != nil {
				t.Fatal(err)
			}
		}
		look()
		late := *e
		late.State = erasure.Deleting // by somebody who lost the lease
		if err := s.SaveErasure(t.Context(), &late, Start); err != nil {
			t.Fatal(err)
		}
		look()
		if open, err := s.OpenErasures(t.Context(), erasure.Selection{Limit: 10}); err != nil || len(open) != 0 {
			t.Errorf("%d are open, %v", len(open), err)
		}
		entries, err := s.AuditEntries(t.Context(), audit.Filter{OrganizationID: e.OrganizationID, ResourceID: e.ID})
		if err != nil || len(entries) != 2 {
			t.Fatalf("%d entries of the audit, %v; want requested and completed", len(entries), err)
		}
		if _, err := s.Erasure(t.Context(), "era_2"); !errors.Is(err, erasure.ErrNotFound) {
			t.Errorf("Erasure() of none = %v", err)
		}
	},
	"open erasures are selected, oldest first, and counted": func(t *testing.T, f *Fixture) {
		s := f.Store()
		if is, err := s.CountErasures(t.Context()); err != nil || len(is.Open) != 0 || !is.Oldest.IsZero() {
			t.Errorf("of none there are %+v, %v", is, err)
		}
		for i, state := range []erasure.State{
			erasure.Requested, erasure.Deleting, erasure.Requested, erasure.Tombstoned, erasure.Done,
		} {
			e := anErasure(fmt.Sprintf("era_%d", i), "org_1", "web_1", tombstone.Profile)
			e.RequestedAt = kept(Start.Add(-time.Duration(i) * time.Minute))
			if err := s.CreateErasure(t.Context(), somebody, e); err != nil {
				t.Fatal(err)
			}
			e.State = state
			if err := s.SaveErasure(t.Context(), e, Start); err != nil {
				t.Fatal(err)
			}
		}
		for _, tc := range []struct {
			selected erasure.Selection
			want     []string
		}{
			{erasure.Selection{Limit: 10}, []string{"era_0", "era_1", "era_2", "era_3"}},
			{erasure.Selection{Limit: 2}, []string{"era_0", "era_1"}},
			{erasure.Selection{Limit: 2, Without: []string{"era_0", "era_2", "era_9'"}}, []string{"era_1", "era_3"}},
			{
				erasure.Selection{In: []erasure.State{erasure.Requested}, Without: []string{"era_0"}, Limit: 10},
				[]string{"era_2"},
			},
		} {
			open, err := s.OpenErasures(t.Context(), tc.selected)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, erasureIDs(open)); diff != "" {
				t.Errorf("%+v (-want +got):\n%s", tc.selected, diff)
			}
		}
		want := erasure.Standing{
			Open:   map[erasure.State]int{erasure.Requested: 2, erasure.Tombstoned: 1, erasure.Deleting: 1},
			Oldest: kept(Start.Add(-3 * time.Minute)),
		}
		is, err := s.CountErasures(t.Context())
		if diff := cmp.Diff(want, is); err != nil || diff != "" {
			t.Errorf("CountErasures(), %v (-want +got):\n%s", err, diff)
		}
	},
	"organizations take turns with their open erasures": func(t *testing.T, f *Fixture) {
		s := f.Store()
		for i, organization := range []string{"org_1", "org_1", "org_1", "org_2", "org_2", "org_3"} {
			e := anErasure(fmt.Sprintf("era_%d", i), organization, "web_1", tombstone.Profile)
			if err := s.CreateErasure(t.Context(), somebody, e); err != nil {
				t.Fatal(err)
			}
		}
		for _, tc := range []struct {
			without []string
			want    []string
		}{
			{nil, []string{"era_0", "era_3", "era_5", "era_1", "era_4"}},
			{[]string{"era_0", "era_3", "era_5"}, []string{"era_1", "era_4", "era_2"}},
		} {
			open, err := s.OpenErasures(t.Context(), erasure.Selection{Without: tc.without, Limit: 5})
			if diff := cmp.Diff(tc.want, erasureIDs(open)); err != nil || diff != "" {
				t.Errorf("without %v, %v (-want +got):\n%s", tc.without, err, diff)
			}
		}
	},
	"an organization has a bounded number of open erasures": func(t *testing.T, f *Fixture) {
		s := f.Store()
		o := f.Organization()
		add := func(i int, organization string, kind tombstone.Kind) error {
			return s.CreateErasure(t.Context(), somebody, anErasure(fmt.Sprintf("era_%04d", i), organization,
				fmt.Sprintf("web_%d", i), kind))
		}
		if err := s.InTx(t.Context(), func(ctx context.Context, tx *store.Store) error { // one, to be quick
			for i := range erasure.MaxWaiting {
				e := anErasure(fmt.Sprintf("era_%04d", i), o.ID, "web_1", tombstone.Visitor)
				if err := tx.CreateErasure(ctx, somebody, e); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if err := add(erasure.MaxWaiting, o.ID, tombstone.Profile); !apierr.Is(err, apierr.QuotaExceeded) {
			t.Errorf("one more: %v", err)
		}
		if err := add(erasure.MaxWaiting, o.ID, tombstone.Website); err != nil {
			t.Errorf("a website: %v", err)
		}
		if err := add(erasure.MaxWaiting+1, f.Organization().ID, tombstone.Profile); err != nil {
			t.Errorf("another organization: %v", err)
		}
		done := anErasure("era_0000", o.ID, "web_0", tombstone.Visitor)
		for i, id := range []string{"era_0000", "era_0001"} { // one for the website's, and one to spare
			done.ID, done.State, done.DoneAt = id, erasure.Done, kept(Start.Add(time.Duration(i)*time.Minute))
			if err := s.SaveErasure(t.Context(), done, Start); err != nil {
				t.Fatal(err)
			}
		}
		if err := add(erasure.MaxWaiting+2, o.ID, tombstone.Profile); err != nil {
			t.Errorf("once one is done: %v", err)
		}
		ids := []string{"era_0000", "era_0001", "era_0002", "era_none"}
		for after, want := range map[time.Duration][]string{
			-time.Millisecond: nil, 0: {"era_0000"}, time.Minute: {"era_0000", "era_0001"},
		} {
			got, err := s.DoneErasures(t.Context(), ids, kept(Start.Add(after)))
			if diff := cmp.Diff(want, got); err != nil || diff != "" {
				t.Errorf("done by %v, %v (-want +got):\n%s", after, err, diff)
			}
		}
	},
	"erasures are listed by organization and owner, newest first": func(t *testing.T, f *Fixture) {
		s := f.Store()
		for _, e := range []*erasure.Erasure{
			anErasure("era_1", "org_1", "web_1", tombstone.Profile), anErasure("era_2", "org_1", "web_2", tombstone.Visitor),
			anErasure("era_3", "org_2", "web_3", tombstone.Profile), anErasure("era_4", "org_1", "web_1", tombstone.Visitor),
		} {
			if err := s.CreateErasure(t.Context(), somebody, e); err != nil {
				t.Fatal(err)
			}
		}
		for _, tc := range []struct {
			filter erasure.Filter
			want   []string
		}{
			{erasure.Filter{OrganizationID: "org_1"}, []string{"era_4", "era_2", "era_1"}},
			{erasure.Filter{OrganizationID: "org_1", OwnerID: "web_1"}, []string{"era_4", "era_1"}},
			{erasure.Filter{OrganizationID: "org_1", Before: "era_4", Limit: 1}, []string{"era_2"}},
			{erasure.Filter{OrganizationID: "org_3"}, nil},
		} {
			found, err := s.ListErasures(t.Context(), tc.filter)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, erasureIDs(found)); diff != "" {
				t.Errorf("%+v (-want +got):\n%s", tc.filter, diff)
			}
		}
	},
	"a website that was deleted long enough is found once, and goes with its erasure": func(t *testing.T, f *Fixture) {
		s := f.Store()
		o := f.Organization()
		w, stays := f.Website(o.ID), f.Website(o.ID)
		key := f.Key(o.ID, w.ID)
		service := website.NewService(s, f.Clock.Now)
		if _, err := service.Delete(t.Context(), somebody, managed.Target{OrganizationID: o.ID, Ref: w.ID}); err != nil {
			t.Fatal(err)
		}
		deleted := kept(f.Clock.Now())
		for by, want := range map[time.Time]int{deleted.Add(-time.Millisecond): 0, deleted: 1} {
			if found, err := s.DeletedWebsites(t.Context(), by, 10); err != nil || len(found) != want {
				t.Errorf("by %s, %d websites are found, %v; want %d", by, len(found), err, want)
			}
		}
		e := anErasure("era_1", o.ID, w.ID, tombstone.Website)
		if err := s.CreateErasure(t.Context(), audit.BySystem(), e); err != nil {
			t.Fatal(err)
		}
		if found, err := s.DeletedWebsites(t.Context(), deleted, 10); err != nil || len(found) != 0 {
			t.Errorf("%d websites are found again, %v", len(found), err)
		}
		if err := s.CreateErasure(t.Context(), audit.BySystem(),
			anErasure("era_2", o.ID, w.ID, tombstone.Website)); err == nil {
			t.Error("a website has two erasures")
		}
		e.State, e.DoneAt = erasure.Done, kept(Start)
		if err := s.SaveErasure(t.Context(), e, Start); err != nil {
			t.Fatal(err)
		}
		if _, err := s.AnyWebsite(t.Context(), w.ID); !errors.Is(err, website.ErrNotFound) {
			t.Errorf("the website is there still: %v", err)
		}
		if _, err := s.AnyWebsite(t.Context(), stays.ID); err != nil {
			t.Errorf("another website: %v", err)
		}
		if _, err := s.KeyByID(t.Context(), key.ID); err == nil {
			t.Error("a key of the website is there still")
		}
		entries, err := s.AuditEntries(t.Context(),
			audit.Filter{OrganizationID: w.OrganizationID, ResourceID: key.ID, Action: "apikey.revoked"})
		if err != nil || len(entries) != 1 || entries[0].By.Actor != audit.BySystem().Actor {
			t.Errorf("entries of the key: %+v, %v", entries, err)
		}
		entries, err = s.AuditEntries(t.Context(),
			audit.Filter{OrganizationID: w.OrganizationID, ResourceID: w.ID, Action: "website.purged"})
		if err != nil || len(entries) != 1 || entries[0].ResourceName != w.Name {
			t.Errorf("entries of the audit: %+v, %v", entries, err)
		}
	},
}
