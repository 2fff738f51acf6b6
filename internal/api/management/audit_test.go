package management

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/api/rpc"
	"github.com/millrace/millrace/internal/tenant/audit"
	"github.com/millrace/millrace/internal/tenant/auth"
)

// entries are an audit that keeps what it was asked for.
type entries struct {
	found []audit.Entry
	asked audit.Filter
}

func (e *entries) AuditEntries(_ context.Context, f audit.Filter) ([]audit.Entry, error) {
	e.asked = f
	return e.found[:min(f.Limit, len(e.found))], nil
}

func TestTheAuditIsReadPageByPageInTheCallersOrganization(t *testing.T) {
	t.Parallel()
	store := &entries{}
	for i := range 3 {
		store.found = append(store.found,
			audit.Entry{ID: fmt.Sprintf("aud_%d", 9-i), At: time.UnixMilli(1), Action: "website.updated"})
	}
	a := &Audit{Entries: store}
	call := &rpc.Call{Principal: auth.Principal{OrganizationID: "org_1"}}
	in := &auditInput{ResourceType: "website", Actor: "usr_1"}
	in.OrganizationID, in.Limit = "org_2", 2 // the registry has decided already
	got, err := a.list(t.Context(), call, in)
	if err != nil {
		t.Fatal(err)
	}
	want := audit.Filter{OrganizationID: "org_1", ResourceType: "website", ActorID: "usr_1", Limit: 3}
	if diff := cmp.Diff(want, store.asked); diff != "" {
		t.Errorf("asked the store (-want +got):\n%s", diff)
	}
	if len(got.Items) != 2 || got.Next != "aud_8" || got.Items[0].Changes == nil {
		t.Errorf("a page of 2: %+v", got)
	}
}
