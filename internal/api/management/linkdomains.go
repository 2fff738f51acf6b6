package management

import (
	"context"

	"github.com/millrace/millrace/internal/api/rpc"
	"github.com/millrace/millrace/internal/contract/wire"
	"github.com/millrace/millrace/internal/resource/link"
	"github.com/millrace/millrace/internal/tenant/auth"
)

// Domains returns the rows of the domains of short links.
func (s *Links) Domains() rpc.Resource {
	return rpc.Resource{
		Name: "linkDomains", Summary: "Custom domains for an organization's short links.",
		Failures: linkFailures,
		Operations: []rpc.Operation{
			rpc.Op(rpc.Spec{
				Name: "create", Summary: "Claim a hostname", Class: auth.ManageLinks, Creates: true, Audit: "linkDomain.created",
				Detail: "The domain is pending and serves nothing until verify finds the TXT record that the response contains " +
					"in verification.",
			}, s.createDomain),
			rpc.Op(rpc.Spec{Name: "get", Summary: "Get a domain", Class: auth.ViewLinks}, s.getDomain),
			rpc.Op(
				rpc.Spec{Name: "list", Summary: "List domains", Class: auth.ViewLinks, Detail: "Oldest first."},
				s.listDomains),
			rpc.Op(rpc.Spec{
				Name: "verify", Summary: "Verify a domain by its DNS record", Class: auth.ManageLinks, Audit: "linkDomain.checked",
				Detail: "Queries DNS once, for up to 5 seconds, and returns the domain, verified or with a problem. Returns 409 " +
					"if another organization has verified the hostname and its record still exists. At most 10 calls a minute.",
			}, s.verifyDomain),
			rpc.Op(rpc.Spec{
				Name: "update", Summary: "Update the redirects of a domain", Class: auth.ManageLinks, Audit: "linkDomain.updated",
				Detail: "Absent fields keep their values. Hostname and caseSensitive cannot be changed.",
			}, s.updateDomain),
			rpc.Op(rpc.Spec{
				Name: "delete", Summary: "Delete a domain", Class: auth.ManageLinks, Audit: "linkDomain.deleted",
				Detail: "Returns 409 if the domain has links that are not deleted. Deleted links of the domain can no longer be " +
					"restored.",
			}, s.deleteDomain),
		},
	}
}

// DomainSettings are the fields of a domain that are told alike when it is made and when it
// is changed.
type DomainSettings struct {
	RootURL     rpc.Patch[string] `json:"rootUrl,omitzero" minLength:"1" maxLength:"2048" nullable:"true" doc:"URL to which the hostname itself redirects; null for none."`
	NotFoundURL rpc.Patch[string] `json:"notFoundUrl,omitzero" minLength:"1" maxLength:"2048" nullable:"true" doc:"URL to which unknown paths redirect; null for none."`
	ExpiredURL  rpc.Patch[string] `json:"expiredUrl,omitzero" minLength:"1" maxLength:"2048" nullable:"true" doc:"URL to which expired and exhausted links without expiredUrl redirect; null for none."`
}

func (in *DomainSettings) fields() link.DomainFields {
	return link.DomainFields{RootURL: sent(in.RootURL), NotFoundURL: sent(in.NotFoundURL), ExpiredURL: sent(in.ExpiredURL)}
}

type domainCreate struct {
	rpc.InOrganization
	DomainSettings

	Hostname      string `json:"hostname" minLength:"1" maxLength:"253" doc:"Hostname that you control, such as go.example.com."`
	CaseSensitive bool   `json:"caseSensitive,omitempty" doc:"Whether slugs are case-sensitive. It cannot be changed later."`
}

type domainGet struct {
	rpc.InOrganization
	rpc.ID
}

type domainList struct {
	rpc.InOrganization
	rpc.Page
}

type domainUpdate struct {
	LinkChange
	DomainSettings
}

// DomainRecord is the DNS record that proves a domain.
type DomainRecord struct {
	Type  string `json:"type" enum:"TXT"`
	Name  string `json:"name"`
	Value string `json:"value"`
}

type domainBody struct {
	ID             string       `json:"id"`
	OrganizationID string       `json:"organizationId"`
	Version        int64        `json:"version" doc:"Number that increases with every change, except DNS checks without a new result."`
	Hostname       string       `json:"hostname" doc:"Hostname in ASCII form and lower case."`
	Status         string       `json:"status" enum:"pending,verified,failing" doc:"failing: the record was missing for three days; the domain still serves links until another organization verifies it."`
	CaseSensitive  bool         `json:"caseSensitive"`
	RootURL        *string      `json:"rootUrl" nullable:"true"`
	NotFoundURL    *string      `json:"notFoundUrl" nullable:"true"`
	ExpiredURL     *string      `json:"expiredUrl" nullable:"true"`
	Verification   DomainRecord `json:"verification" doc:"DNS record that verifies the domain. It must remain in place."`
	Problem        *string      `json:"problem" nullable:"true" doc:"Problem found by the last DNS check."`
	PointsHere     bool         `json:"pointsHere" doc:"Whether the hostname pointed to the short-link host at the last DNS check, by a CNAME record or by its address."`
	CheckedAt      *rpc.Time    `json:"checkedAt" nullable:"true" doc:"Time of the last DNS check. Verified domains are checked daily."`
	VerifiedAt     *rpc.Time    `json:"verifiedAt" nullable:"true"`
	CreatedAt      *rpc.Time    `json:"createdAt"`
	UpdatedAt      *rpc.Time    `json:"updatedAt"`
	CreatedBy      *string      `json:"createdBy" nullable:"true" doc:"Id of the user who created the domain; null for the operator's command."`
}

func newDomainBody(d *link.Domain) domainBody {
	return domainBody{
		ID: d.ID, OrganizationID: d.OrganizationID, Version: d.Version, Hostname: d.Name, Status: string(d.Status),
		CaseSensitive: d.CaseSensitive,
		RootURL:       wire.OrNull(d.RootURL), NotFoundURL: wire.OrNull(d.NotFoundURL), ExpiredURL: wire.OrNull(d.ExpiredURL),
		Verification: DomainRecord{Type: "TXT", Name: d.RecordName(), Value: d.RecordValue()},
		Problem:      wire.OrNull(d.Problem), PointsHere: d.PointsHere, CheckedAt: rpc.At(d.CheckedAt),
		VerifiedAt: rpc.At(d.VerifiedAt),
		CreatedAt:  rpc.At(d.CreatedAt), UpdatedAt: rpc.At(d.UpdatedAt), CreatedBy: wire.OrNull(d.CreatedBy),
	}
}

func toldDomain(d *link.Domain, err error) (*domainBody, error) {
	if err != nil {
		return nil, err
	}
	b := newDomainBody(d)
	return &b, nil
}

func (s *Links) createDomain(ctx context.Context, call *rpc.Call, in *domainCreate) (*domainBody, error) {
	return toldDomain(s.Service.CreateDomain(ctx, call.By, call.OrganizationID(), in.Hostname,
		in.CaseSensitive, in.fields()))
}

func (s *Links) getDomain(ctx context.Context, call *rpc.Call, in *domainGet) (*domainBody, error) {
	change := LinkChange{ID: in.ID}
	return toldDomain(s.Service.Domain(ctx, change.target(call)))
}

func (s *Links) listDomains(ctx context.Context, call *rpc.Call, in *domainList) (*rpc.List[domainBody], error) {
	var after string
	if _, err := in.After(&after); err != nil {
		return nil, err
	}
	found, err := s.Service.ListDomains(ctx, call.OrganizationID(), after, in.Size()+1)
	if err != nil {
		return nil, err
	}
	return rpc.Cut(each(found, newDomainBody), in.Size(), func(b domainBody) any { return b.ID }), nil
}

func (s *Links) verifyDomain(ctx context.Context, call *rpc.Call, in *LinkChange) (*domainBody, error) {
	return toldDomain(s.Service.VerifyDomain(ctx, call.By, in.target(call)))
}

func (s *Links) updateDomain(ctx context.Context, call *rpc.Call, in *domainUpdate) (*domainBody, error) {
	return toldDomain(s.Service.UpdateDomain(ctx, call.By, in.target(call), in.fields()))
}

type deletedDomain struct {
	ID string `json:"id" doc:"Id of the deleted domain."`
}

func (s *Links) deleteDomain(ctx context.Context, call *rpc.Call, in *LinkChange) (*deletedDomain, error) {
	d, err := s.Service.DeleteDomain(ctx, call.By, in.target(call))
	if err != nil {
		return nil, err
	}
	return &deletedDomain{ID: d.ID}, nil
}
