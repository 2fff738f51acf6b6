package queryapi

import (
	"bytes"
	"fmt"
	"html/template"

	"github.com/gofiber/fiber/v2"

	"github.com/millrace/millrace/internal/api/httpkit"
	"github.com/millrace/millrace/internal/api/rpc"
	"github.com/millrace/millrace/internal/tenant/auth"
	"github.com/millrace/millrace/web/docs"
)

// newDocuments renders the reference of a table, and the discovery documents.
func newDocuments(cfg *Config, doc *rpc.Document, resources []rpc.Resource) (httpkit.Documents, error) {
	page, err := renderDocs(doc, resources)
	if err != nil {
		return nil, err
	}
	style, err := docs.Files.ReadFile("style.css")
	if err != nil {
		return nil, err
	}
	discovery := httpkit.Discovery{
		Host: httpkit.Query, QueryURL: cfg.Site.PublicURL, IngestURL: cfg.IngestURL,
		Scopes: auth.AllScopes().Strings(), Contact: cfg.SecurityContact,
	}
	all := discovery.Documents()
	all["/openapi.json"] = httpkit.NewDocument(fiber.MIMEApplicationJSON, doc.Text)
	all["/docs"] = httpkit.NewDocument(fiber.MIMETextHTMLCharsetUTF8, page)
	all["/docs/style.css"] = httpkit.NewDocument("text/css; charset=utf-8", style)
	return all, nil
}

func renderDocs(doc *rpc.Document, resources []rpc.Resource) ([]byte, error) {
	t, err := template.ParseFS(docs.Files, "page.html.tmpl")
	if err != nil {
		return nil, fmt.Errorf("reading the reference's template: %w", err)
	}
	var b bytes.Buffer
	err = t.Execute(&b, map[string]any{
		"Title": doc.Info().Title, "Version": doc.Info().Version, "Description": doc.Info().Description,
		"Sections": doc.Reference(resources), "Codes": httpkit.Codes,
	})
	if err != nil {
		return nil, fmt.Errorf("writing the reference: %w", err)
	}
	return b.Bytes(), nil
}

// sendDocument serves the documents of the host.
func (h *handlers) sendDocument(c *fiber.Ctx, _ *request) error { return h.documents.Serve(c) }
