package management

import (
	"context"

	"github.com/millrace/millrace/internal/api/rpc"
	"github.com/millrace/millrace/internal/tenant/audit"
	"github.com/millrace/millrace/internal/tenant/auth"
)

// Audit is the operation that reads who changed what.
type Audit struct {
	Entries AuditEntries
}

// AuditEntries reads the audit; *store.Store is one.
type AuditEntries interface {
	// AuditEntries returns the entries that a filter wants, newest first.
	AuditEntries(ctx context.Context, f audit.Filter) ([]audit.Entry, error)
}

// Resource returns the rows.
func (a *Audit) Resource() rpc.Resource {
	return rpc.Resource{
		Name: "audit", Summary: "Changes in the organization, with their time and author.",
		Operations: []rpc.Operation{
			rpc.Op(rpc.Spec{
				Name: "list", Summary: "List the changes", Class: auth.ReadAudit,
				Detail: "Newest first. Entries are never changed or removed and contain no secrets. They do not cover queries " +
					"and events. They cover sign-ins, failed sign-ins, sessions and passwords of users who belonged to the " +
					"organization at that time.",
			}, a.list),
		},
	}
}

type auditInput struct {
	rpc.InOrganization
	rpc.Page

	ResourceType string    `json:"resourceType,omitempty" maxLength:"64" doc:"Kind of record, such as apikey."`
	ResourceID   string    `json:"resourceId,omitempty" maxLength:"64" doc:"Id of the record."`
	Actor        string    `json:"actor,omitempty" maxLength:"64" doc:"Id of the user or key that made the change."`
	Action       string    `json:"action,omitempty" maxLength:"64" doc:"Action, such as apikey.rotated."`
	From         *rpc.Time `json:"from,omitempty" doc:"Start of the time range, included."`
	To           *rpc.Time `json:"to,omitempty" doc:"End of the time range, excluded."`
}

type auditBody struct {
	ID        string                `json:"id"`
	At        *rpc.Time             `json:"at"`
	Actor     auditActor            `json:"actor"`
	Action    string                `json:"action" doc:"Kind of record and action."`
	Resource  auditResource         `json:"resource"`
	Changes   map[string]auditField `json:"changes" doc:"Fields that changed. Secrets are masked."`
	IP        string                `json:"ip" doc:"IP address of the client; empty for the operator's command."`
	UserAgent string                `json:"userAgent"`
	RequestID string                `json:"requestId" doc:"Id of the request that made the change."`
}

type auditActor struct {
	Type string `json:"type" enum:"user,apiKey,operator,system"`
	ID   string `json:"id"`
	Name string `json:"name" doc:"Name at the time of the change: the e-mail address of a user, or the name of a key."`
}

type auditResource struct {
	Type string `json:"type"`
	ID   string `json:"id"`
	Name string `json:"name" doc:"Name at the time of the change."`
}

type auditField struct {
	From any `json:"from"`
	To   any `json:"to"`
}

func (a *Audit) list(ctx context.Context, call *rpc.Call, in *auditInput) (*rpc.List[auditBody], error) {
	f := audit.Filter{
		OrganizationID: call.OrganizationID(), ResourceType: in.ResourceType, ResourceID: in.ResourceID,
		ActorID: in.Actor, Action: in.Action, Limit: in.Size() + 1,
	}
	if in.From != nil {
		f.From = in.From.Time
	}
	if in.To != nil {
		f.To = in.To.Time
	}
	if _, err := in.After(&f.Before); err != nil {
		return nil, err
	}
	entries, err := a.Entries.AuditEntries(ctx, f)
	if err != nil {
		return nil, err
	}
	bodies := make([]auditBody, len(entries))
	for i := range entries {
		bodies[i] = auditBodyOf(&entries[i])
	}
	return rpc.Cut(bodies, in.Size(), func(b auditBody) any { return b.ID }), nil
}

func auditBodyOf(e *audit.Entry) auditBody {
	b := auditBody{
		ID: e.ID, At: rpc.At(e.At), Action: e.Action,
		Actor:    auditActor{Type: string(e.By.Actor.Type), ID: e.By.Actor.ID, Name: e.By.Actor.Name},
		Resource: auditResource{Type: e.ResourceType, ID: e.ResourceID, Name: e.ResourceName},
		Changes:  make(map[string]auditField, len(e.Changes)),
		IP:       e.By.IP, UserAgent: e.By.UserAgent, RequestID: e.By.RequestID,
	}
	for name, c := range e.Changes {
		b.Changes[name] = auditField(c)
	}
	return b
}
