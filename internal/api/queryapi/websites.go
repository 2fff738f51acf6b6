package queryapi

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/gofiber/fiber/v2"

	"github.com/millrace/millrace/internal/api/httpkit"
	"github.com/millrace/millrace/internal/api/rpc"
	"github.com/millrace/millrace/internal/tenant/auth"
	"github.com/millrace/millrace/internal/tenant/org"
	"github.com/millrace/millrace/internal/tenant/website"
)

// MaxWebsites is the most websites of one organization that are listed.
const MaxWebsites = 10_000

// Tenants reads websites and organizations; *store.Store is one.
type Tenants interface {
	ListWebsites(ctx context.Context, f website.Filter) ([]*website.Website, error)
	OrganizationByID(ctx context.Context, id string) (*org.Organization, error)
}

// websitesBody is the response of GET /v1/query/websites.
type websitesBody struct {
	Success   bool             `json:"success"`
	RequestID string           `json:"requestId"`
	Total     int              `json:"total"`
	Websites  []queriedWebsite `json:"websites"`
}

type queriedWebsite struct {
	ID               string    `json:"id"`
	ClientID         string    `json:"clientId"`
	Name             string    `json:"name"`
	Domain           string    `json:"domain"`
	IsPublic         bool      `json:"isPublic"`
	Timezone         string    `json:"timezone"`
	CreatedAt        *rpc.Time `json:"createdAt"`
	OrganizationID   string    `json:"organizationId"`
	OrganizationName string    `json:"organizationName"`
}

// websites serves GET /v1/query/websites: those that a key covers, or those of a
// person's organizations, of which organization_id picks one.
func (h *handlers) websites(c *fiber.Ctx, caller *request) error {
	principals, err := reach(caller, c.Query("organization_id"))
	if err != nil {
		return err
	}
	body := websitesBody{Success: true, RequestID: httpkit.RequestID(c), Websites: []queriedWebsite{}}
	for _, p := range principals {
		if !p.Has(auth.ScopeReadData) {
			continue
		}
		if body.Websites, err = h.appendWebsites(c.UserContext(), body.Websites, p); err != nil {
			return err
		}
	}
	body.Total = len(body.Websites)
	text, err := json.Marshal(&body)
	if err != nil {
		return err
	}
	c.Set(fiber.HeaderCacheControl, "no-store") // it is the caller's, and may change with every call
	return httpkit.Send(c, fiber.MIMEApplicationJSON, text)
}

// reach returns the caller in each organization that it may list, or in the one
// named.
func reach(caller *request, organizationID string) ([]auth.Principal, error) {
	if organizationID != "" || caller.Principal.Kind != auth.KindSession {
		p, err := caller.In(organizationID)
		if errors.Is(err, org.ErrNotFound) {
			err = denied("organization", err)
		}
		return []auth.Principal{p}, err
	}
	all := make([]auth.Principal, len(caller.Memberships))
	for i, membership := range caller.Memberships {
		var err error
		if all[i], err = caller.In(membership.OrganizationID); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// appendWebsites adds the websites that a principal reaches, oldest first.
func (h *handlers) appendWebsites(
	ctx context.Context, to []queriedWebsite, p auth.Principal,
) ([]queriedWebsite, error) {
	o, err := h.tenants.OrganizationByID(ctx, p.OrganizationID)
	if errors.Is(err, org.ErrNotFound) {
		return to, nil // it went away in the meantime
	}
	if err != nil {
		return nil, err
	}
	filter := website.Filter{OrganizationID: p.OrganizationID, ID: p.WebsiteID, Brief: true}
	for first := len(to); len(to)-first < MaxWebsites; {
		found, err := h.tenants.ListWebsites(ctx, filter)
		if err != nil {
			return nil, err
		}
		if len(found) == 0 {
			break
		}
		for _, w := range found[:min(len(found), MaxWebsites-(len(to)-first))] {
			to = append(to, queriedWebsite{
				ID: w.ID, ClientID: w.ClientID, Name: w.Name, Domain: w.Domain, IsPublic: w.Public, Timezone: w.Timezone,
				CreatedAt: rpc.At(w.CreatedAt), OrganizationID: o.ID, OrganizationName: o.Name,
			})
		}
		filter.After = found[len(found)-1].ID
	}
	return to, nil
}
