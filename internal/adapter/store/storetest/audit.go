package storetest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/adapter/store"
	"github.com/millrace/millrace/internal/tenant/audit"
)

// record writes an entry, numbered so that later ones have greater ids.
func (f *Fixture) record(n int, e audit.Entry) audit.Entry {
	f.tb.Helper()
	e.ID, e.At = fmt.Sprintf("aud_%03d", n), kept(Start.Add(time.Duration(n)*time.Minute))
	err := f.Store().InTx(f.tb.Context(), func(ctx context.Context, tx *store.Store) error { return tx.Record(ctx, e) })
	if err != nil {
		f.tb.Fatal(err)
	}
	return e
}

var auditTests = map[string]func(*testing.T, *Fixture){
	"an entry is read as it was written": func(t *testing.T, f *Fixture) {
		want := f.record(1,
			audit.New(somebody, "org_1", "website", "updated", Start).Of("web_1", awkward).With(map[string]audit.Change{
				"name": {From: "a", To: awkward}, "isPublic": {From: false, To: true}, "secret": {From: nil, To: audit.Masked},
				"scopes": {From: []any{"read:data"}, To: []any{}},
			}))
		got, err := f.Store().AuditEntries(t.Context(), audit.Filter{OrganizationID: "org_1"})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]audit.Entry{want}, got); diff != "" {
			t.Errorf("AuditEntries() (-want +got):\n%s", diff)
		}
	},
	"what changed nothing is remembered by itself, once": func(t *testing.T, f *Fixture) {
		want := audit.New(somebody, "org_1", "events", "exported", kept(Start)).Of("web_1",
			"Shop").With(map[string]audit.Change{"rows": {To: 3.0}})
		if err := f.Store().Remember(t.Context(), want); err != nil {
			t.Fatal(err)
		}
		if err := f.Store().Remember(t.Context(), want); err == nil {
			t.Error("the same entry is remembered twice")
		}
		got, err := f.Store().AuditEntries(t.Context(), audit.Filter{OrganizationID: "org_1"})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]audit.Entry{want}, got); diff != "" {
			t.Errorf("AuditEntries() (-want +got):\n%s", diff)
		}
	},
	"entries are filtered and read newest first": func(t *testing.T, f *Fixture) {
		other := audit.By{Actor: audit.Actor{Type: audit.APIKey, ID: "key_1", Name: "ci"}}
		f.record(1, audit.New(somebody, "org_1", "website", "created", Start).Of("web_1", "Shop"))
		f.record(2, audit.New(other, "org_1", "website", "updated", Start).Of("web_1", "Shop"))
		f.record(3, audit.New(somebody, "org_1", "apikey", "created", Start).Of("key_2", "ci"))
		f.record(4, audit.New(somebody, "org_2", "website", "created", Start).Of("web_9", "Else"))
		f.record(5, audit.New(somebody, "org_1", "apikey", "rotated", Start).Of("key_2", "ci"))
		f.record(6, audit.New(somebody, "", "user", "passwordChanged", Start).Of("usr_1", "a@example.com"))
		minute := func(n int) time.Time { return Start.Add(time.Duration(n) * time.Minute) }
		for name, tc := range map[string]struct {
			filter audit.Filter
			want   []string
		}{
			"no organization": {audit.Filter{}, []string{"aud_006"}}, // not every one
			"everything": {
				audit.Filter{EveryOrganization: true}, []string{"aud_006", "aud_005", "aud_004", "aud_003", "aud_002", "aud_001"},
			},
			"an organization": {audit.Filter{OrganizationID: "org_1"}, []string{"aud_005", "aud_003", "aud_002", "aud_001"}},
			"a resource type": {audit.Filter{OrganizationID: "org_1", ResourceType: "apikey"}, []string{"aud_005", "aud_003"}},
			"a resource": {
				audit.Filter{OrganizationID: "org_1", ResourceType: "website", ResourceID: "web_1"}, []string{"aud_002", "aud_001"},
			},
			"an actor":  {audit.Filter{OrganizationID: "org_1", ActorID: "key_1"}, []string{"aud_002"}},
			"an action": {audit.Filter{OrganizationID: "org_1", Action: "website.created"}, []string{"aud_001"}},
			"a time": {
				audit.Filter{OrganizationID: "org_1", From: minute(2), To: minute(4)}, []string{"aud_003", "aud_002"},
			},
			"a page": {audit.Filter{OrganizationID: "org_1", Limit: 2}, []string{"aud_005", "aud_003"}},
			"the page after": {
				audit.Filter{OrganizationID: "org_1", Limit: 2, Before: "aud_003"}, []string{"aud_002", "aud_001"},
			},
			"nothing of these": {audit.Filter{OrganizationID: "org_1", Action: "it's"}, nil},
		} {
			got, err := f.Store().AuditEntries(t.Context(), tc.filter)
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			var ids []string
			for _, e := range got {
				ids = append(ids, e.ID)
			}
			if diff := cmp.Diff(tc.want, ids); diff != "" {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
		}
	},
}
