package management

import (
	"context"
	"time"

	"github.com/millrace/millrace/internal/api/rpc"
	"github.com/millrace/millrace/internal/tenant/auth"
)

func (s *Websites) moving() rpc.Operation {
	return rpc.Op(rpc.Spec{
		Name: "move", Summary: "Hand a website over to another organization", Class: auth.OwnOrganization,
		Audit: "website.moved",
		Detail: "For who owns both. Everything stored of the website goes with it, its ids and settings stay. Within a " +
			"second the other organization's " +
			"members and keys reach it and these do not any more; API keys that are limited to it are revoked. " +
			"Events count for the organization that they were received for. The audit of both organizations tells of it.",
	}, s.move)
}

type websiteMove struct {
	WebsiteChange

	ToOrganizationID string `json:"toOrganizationId" minLength:"1" maxLength:"30" doc:"The organization that gets the website; the caller has to own it too."`
}

type movedBody struct {
	Website        websiteBody `json:"website"`
	RevokedAPIKeys int         `json:"revokedApiKeys" doc:"How many API keys were limited to the website, and are revoked now."`
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
