package website

import (
	"html"
	"strings"
)

// ScriptPath is where the ingestion host serves the tracker.
const ScriptPath = "/tracker.js"

// ScriptURL returns the address of the tracker on an ingestion host.
func ScriptURL(ingestURL string) string { return strings.TrimSuffix(ingestURL, "/") + ScriptPath }

// Snippet returns the tag that a website's pages carry in their head. It holds
// the client id, which is public, and nothing else of the website.
func (w *Website) Snippet(ingestURL string) string {
	return `<script async` + attribute("src", ScriptURL(ingestURL)) + attribute("data-client-id", w.ClientID) +
		attribute("data-api-url", strings.TrimSuffix(ingestURL, "/")) + `></script>`
}

func attribute(name, value string) string { return " " + name + `="` + html.EscapeString(value) + `"` }
