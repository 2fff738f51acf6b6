package management

import (
	"context"

	"github.com/millrace/millrace/internal/api/rpc"
	"github.com/millrace/millrace/internal/auth"
)

// Sessions are the operations of signing in and out.
type Sessions struct{}

// Resource returns the rows.
func (s *Sessions) Resource() rpc.Resource {
	return rpc.Resource{
		Name: "session", Summary: "Signing in and out, and the sessions of the person who is signed in.",
		Operations: []rpc.Operation{
			rpc.Op(rpc.Spec{
				Name: "get", Summary: "Say who is signed in",
				Detail: "The person of the session's cookie and the organizations that they belong to.",
				Class:  auth.Account,
			}, s.get),
		},
	}
}

type sessionBody struct {
	ID            string      `json:"id" doc:"The session's id."`
	User          userBody    `json:"user"`
	Organizations []placeBody `json:"organizations" doc:"Where the person belongs, oldest first; the first one is meant where a call names none."`
}

type userBody struct {
	ID        string    `json:"id"`
	Email     string    `json:"email"`
	Name      string    `json:"name"`
	CreatedAt *rpc.Time `json:"createdAt"`
}

type placeBody struct {
	ID   string `json:"id" doc:"The organization's id."`
	Role string `json:"role" enum:"owner,admin,editor,viewer"`
}

func (*Sessions) get(_ context.Context, call *rpc.Call, _ *rpc.Empty) (*sessionBody, error) {
	body := &sessionBody{
		ID: call.Principal.SessionID,
		User: userBody{
			ID: call.User.ID, Email: call.User.Email, Name: call.User.Name, CreatedAt: rpc.At(call.User.CreatedAt),
		},
		Organizations: make([]placeBody, len(call.Places)),
	}
	for i, m := range call.Places {
		body.Organizations[i] = placeBody{ID: m.OrganizationID, Role: string(m.Role)}
	}
	return body, nil
}
