package queryapi

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"html/template"

	"github.com/gofiber/fiber/v2"

	"github.com/millrace/millrace/internal/api/httpkit"
	"github.com/millrace/millrace/internal/api/rpc"
	"github.com/millrace/millrace/internal/tenant/auth"
	"github.com/millrace/millrace/web/docs"
)

// file is a response that is always the same.
type file struct {
	contentType, etag string
	body              []byte
}

func newFile(contentType string, body []byte) *file {
	sum := sha256.Sum256(body)
	return &file{contentType, `"` + hex.EncodeToString(sum[:8]) + `"`, body}
}

// serve answers with the file, which anybody may read from anywhere.
func (f *file) serve(c *fiber.Ctx) error {
	if len(c.Response().Header.Peek(fiber.HeaderAccessControlAllowOrigin)) == 0 {
		c.Set(fiber.HeaderAccessControlAllowOrigin, "*")
	}
	c.Set(fiber.HeaderCacheControl, "public, max-age=300")
	c.Set(fiber.HeaderETag, f.etag)
	if c.Get(fiber.HeaderIfNoneMatch) == f.etag {
		return c.SendStatus(fiber.StatusNotModified)
	}
	// The page needs its own style and nothing else, from nowhere else.
	c.Set(fiber.HeaderContentSecurityPolicy,
		"default-src 'none'; style-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'")
	c.Set(fiber.HeaderXContentTypeOptions, "nosniff")
	c.Context().Response.Header.SetContentType(f.contentType)
	c.Context().Response.SetBodyRaw(f.body)
	return nil
}

// files are the reference of the host by path.
type files map[string]*file

// newFiles renders the reference of a table.
func newFiles(site *httpkit.Site, doc *rpc.Document, resources []rpc.Resource) (files, error) {
	page, err := renderDocs(doc, resources)
	if err != nil {
		return nil, err
	}
	style, err := docs.Files.ReadFile("style.css")
	if err != nil {
		return nil, err
	}
	metadata := site.ResourceMetadata("", auth.AllScopes().Strings(), "/docs")
	return files{
		"/openapi.json":              newFile(fiber.MIMEApplicationJSON, doc.Text),
		"/docs":                      newFile(fiber.MIMETextHTMLCharsetUTF8, page),
		"/docs/style.css":            newFile("text/css; charset=utf-8", style),
		httpkit.ResourceMetadataPath: newFile(fiber.MIMEApplicationJSON, metadata),
		httpkit.ResourceMetadataPath + MCPPath: newFile(fiber.MIMEApplicationJSON,
			site.ResourceMetadata(MCPPath, auth.AllScopes().Strings(), "/docs")),
	}, nil
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

// file serves what is always the same.
func (h *handlers) file(c *fiber.Ctx, _ *request) error { return h.files[c.Route().Path].serve(c) }
