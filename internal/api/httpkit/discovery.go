package httpkit

import (
	"encoding/json"
	"net/url"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/millrace/millrace/internal/platform/buildinfo"
)

// Routes of the MCP endpoints.
const (
	QueryMCPPath     = "/v1/mcp"
	IngestionMCPPath = "/mcp"
)

// MCPRevisions are the protocol revisions that the MCP endpoints serve, newest first.
var MCPRevisions = []string{"2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"}

// Routes of the discovery documents. The path of a resource may follow resourceMetadataPath, and
// serverCardPath follows the route of an MCP endpoint.
const (
	resourceMetadataPath = "/.well-known/oauth-protected-resource"
	apiCatalogPath       = "/.well-known/api-catalog"
	aiCatalogPath        = "/.well-known/ai-catalog.json"
	securityPath         = "/.well-known/security.txt"
	serverCardPath       = "/server-card"
	openAPIPath          = "/openapi.json"
)

// Media types of the documents.
const (
	mediaLinkset    = "application/linkset+json"
	mediaServerCard = "application/mcp-server-card+json"
	mediaAICatalog  = "application/ai-catalog+json"
	mediaHTML       = "text/html"
	catalogProfile  = `; profile="https://www.rfc-editor.org/info/rfc9727"`
)

// profile is the part of a host's documents that does not depend on settings.
type profile struct {
	// api is the route that anchors the API in catalogs, and mcp the route of the MCP endpoint.
	api, mcp string
	// docs is the documentation, with its media type, and status the health of the host.
	docs, docsType, status string
	// name, title and summary describe the MCP server. A summary has at most 100 characters.
	name, title, summary string
}

var profiles = map[Host]profile{
	Query: {
		api: "/v1/query", mcp: QueryMCPPath, docs: "/docs", docsType: mediaHTML, status: healthPath,
		name: "millrace", title: "Millrace",
		summary: "Query web analytics, and manage short links and feature flags.",
	},
	Ingestion: {
		api: "/track", mcp: IngestionMCPPath, docs: openAPIPath, docsType: fiber.MIMEApplicationJSON,
		status: healthPath + "/status", name: "millrace-ingestion", title: "Millrace ingestion",
		summary: "Send events to web analytics.",
	},
}

// DocumentRoute is the route of a discovery document.
type DocumentRoute struct{ Path, MediaType, Help string }

// DocumentRoutes lists the routes of a host's discovery documents.
func DocumentRoutes(host Host) []DocumentRoute {
	mcp := profiles[host].mcp
	return []DocumentRoute{
		{resourceMetadataPath, fiber.MIMEApplicationJSON, "Get the accepted credentials, as in RFC 9728."},
		{
			resourceMetadataPath + mcp, fiber.MIMEApplicationJSON,
			"Get the accepted credentials of the MCP endpoint, as in RFC 9728.",
		},
		{apiCatalogPath, mediaLinkset, "Get links to the APIs of both hosts, as in RFC 9727."},
		{aiCatalogPath, mediaAICatalog, "Get links to the MCP servers of both hosts, as in AI Catalog 1.0."},
		{mcp + serverCardPath, mediaServerCard, "Get the description of the MCP server, as in SEP-2127."},
		{securityPath, fiber.MIMETextPlain, "Get the contact for vulnerability reports, as in RFC 9116."},
	}
}

// Discovery configures the discovery documents of a host.
type Discovery struct {
	Host Host
	// QueryURL and IngestURL are the origins of both hosts. The documents leave out a host whose
	// origin is empty.
	QueryURL, IngestURL string
	// Scopes are the scopes that the routes of the host require.
	Scopes []string
	// Contact is a URI for reports of vulnerabilities. Without one, there is no security.txt.
	Contact string
}

// Documents returns the discovery documents by route.
func (d *Discovery) Documents() Documents {
	own := d.origin(d.Host)
	mcp := profiles[d.Host].mcp
	all := Documents{
		resourceMetadataPath:       NewDocument(fiber.MIMEApplicationJSON, d.resourceMetadata("")),
		resourceMetadataPath + mcp: NewDocument(fiber.MIMEApplicationJSON, d.resourceMetadata(mcp)),
		apiCatalogPath:             NewDocument(mediaLinkset+catalogProfile, d.apiCatalog()),
		aiCatalogPath:              NewDocument(mediaAICatalog, d.aiCatalog()),
		mcp + serverCardPath:       NewDocument(mediaServerCard, d.serverCard()),
	}
	all[apiCatalogPath].link = "<" + own + apiCatalogPath + `>; rel="api-catalog"`
	if d.Contact != "" {
		all[securityPath] = &Document{
			contentType: fiber.MIMETextPlainCharsetUTF8,
			render:      func(now time.Time) []byte { return securityText(d.Contact, own, now) },
		}
	}
	return all
}

func (d *Discovery) origin(host Host) string {
	if host == Query {
		return d.QueryURL
	}
	return d.IngestURL
}

// known returns the hosts whose origin is known.
func (d *Discovery) known() []Host {
	var hosts []Host
	for _, host := range []Host{Query, Ingestion} {
		if d.origin(host) != "" {
			hosts = append(hosts, host)
		}
	}
	return hosts
}

// resourceMetadata returns the document of RFC 9728 about a resource: the host itself, with an empty
// path, or one of its routes. Every response with 401 names the document. It lists no authorization
// server, because people create API keys.
func (d *Discovery) resourceMetadata(path string) []byte {
	own := d.origin(d.Host)
	return encode(struct {
		Resource      string   `json:"resource"`
		Name          string   `json:"resource_name"`
		Documentation string   `json:"resource_documentation"`
		Methods       []string `json:"bearer_methods_supported"`
		Scopes        []string `json:"scopes_supported"`
	}{own + path, "Millrace", own + profiles[d.Host].docs, []string{"header"}, d.Scopes})
}

// challenge returns the WWW-Authenticate header of RFC 9728, which names the metadata document of a
// resource. The address is the host's public one, because a caller can send any Host header. path is
// the resource's, as in resourceMetadata.
func challenge(public, path string) string {
	if public == "" {
		return "Bearer"
	}
	return `Bearer resource_metadata="` + public + resourceMetadataPath + path + `"`
}

// link is the target of a link in a linkset.
type link struct {
	Href string `json:"href"`
	Type string `json:"type"`
}

// catalogued is an API in a linkset, with the link relations of RFC 8631.
type catalogued struct {
	Anchor string `json:"anchor"`
	Desc   []link `json:"service-desc"`
	Docs   []link `json:"service-doc"`
	Status []link `json:"status"`
}

// apiCatalog returns the document of RFC 9727, a linkset (RFC 9264) with two APIs for each host.
func (d *Discovery) apiCatalog() []byte {
	apis := []catalogued{}
	for _, host := range d.known() {
		p, at := profiles[host], d.origin(host)
		docs, status := []link{{at + p.docs, p.docsType}}, []link{{at + p.status, fiber.MIMEApplicationJSON}}
		apis = append(apis,
			catalogued{at + p.api, []link{{at + openAPIPath, fiber.MIMEApplicationJSON}}, docs, status},
			catalogued{at + p.mcp, []link{{at + p.mcp + serverCardPath, mediaServerCard}}, docs, status})
	}
	return encode(map[string]any{"linkset": apis})
}

// aiCatalog returns the AI Catalog with the MCP servers of both hosts. The domain in an identifier is
// that of the host, because each installation publishes servers of its own.
func (d *Discovery) aiCatalog() []byte {
	type entry struct {
		ID   string `json:"identifier"`
		Name string `json:"displayName"`
		Type string `json:"type"`
		URL  string `json:"url"`
	}
	entries := []entry{}
	for _, host := range d.known() {
		p, at := profiles[host], d.origin(host)
		domain := at
		if u, err := url.Parse(at); err == nil {
			domain = u.Hostname()
		}
		entries = append(entries,
			entry{"urn:air:" + domain + ":mcp:" + p.name, p.title, mediaServerCard, at + p.mcp + serverCardPath})
	}
	return encode(map[string]any{"specVersion": "1.0", "entries": entries})
}

// serverCard returns the description of the host's MCP server, as SEP-2127 proposes it.
func (d *Discovery) serverCard() []byte {
	p, at := profiles[d.Host], d.origin(d.Host)
	return encode(map[string]any{
		"$schema": "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json",
		"name":    "io.github.millrace/" + p.name, "title": p.title, "description": p.summary,
		"version": buildinfo.Version(), "websiteUrl": at + p.docs,
		"remotes": []any{map[string]any{
			"type": "streamable-http", "url": at + p.mcp, "supportedProtocolVersions": MCPRevisions,
			"headers": []any{map[string]any{
				"name": "x-api-key", "description": "API key of Millrace", "isRequired": true, "isSecret": true,
			}},
		}},
	})
}

// securityLifetime is how long a copy of security.txt is valid. RFC 9116 recommends less than a year.
const securityLifetime = 180 * 24 * time.Hour

// securityText returns the security.txt of RFC 9116 about a host. It changes once a day, in UTC. own is
// the origin of the host; empty if unknown.
func securityText(contact, own string, now time.Time) []byte {
	expires := now.UTC().Truncate(24 * time.Hour).Add(securityLifetime)
	text := "Contact: " + contact + "\nExpires: " + expires.Format(time.RFC3339) + "\nPreferred-Languages: en\n"
	if own != "" {
		text += "Canonical: " + own + securityPath + "\n"
	}
	return []byte(text)
}

// encode returns the JSON of texts and of lists and objects of texts.
func encode(v any) []byte {
	text, _ := json.Marshal(v) // fails for none of these
	return text
}
