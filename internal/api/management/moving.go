package management

import (
	"context"
	"time"

	"github.com/millrace/millrace/internal/api/rpc"
	"github.com/millrace/millrace/internal/tenant/auth"
)

func (s *Websites) moving() rpc.Operation {
	return rpc.Op(rpc.Spec{
		Name: "move", Summary: "Move a website to another organization", Class: auth.OwnOrganization,
		Audit: "website.moved",
		Detail: "The caller must own both organizations. All stored data moves with the website; its ids and settings " +
			"remain. Within a second, members and keys of the new organization can access the website, and those of the old " +
			"one cannot. API keys that are limited to the website are revoked. Events count toward the quota of the " +
			"organization that received them. The audits of both organizations record the move.",
	}, s.move)
}

type websiteMove struct {
	WebsiteChange

	ToOrganizationID string `json:"toOrganizationId" minLength:"1" maxLength:"30" doc:"Id of the organization that receives the website. The caller must own it too."`
}

type movedBody struct {
	Website        websiteBody `json:"website"`
	RevokedAPIKeys int         `json:"revokedApiKeys" doc:"Number of API keys that were limited to the website and are now revoked."`
}

func (s *Websites) move(ctx context.Context, call *rpc.Call, in *websiteMove) (*movedBody, error) {
	there, err := auth.Enter(call.Principal.SessionID, call.User, call.Memberships, in.ToOrganizationID)
	if err != nil {
		return nil, err
	}
	if err := auth.Admit(there, auth.OwnOrganization); err != nil {
		return nil, err
	}
	also := auth.Grant(there, auth.OwnOrganization, nil, call.Client)
	moved, err := s.Service.Move(ctx, call.By, in.target(call), in.ToOrganizationID, also)
	if err != nil {
		return nil, err
	}
	return &movedBody{*s.body(moved.Website, time.Now()), moved.RevokedKeys}, nil
}
