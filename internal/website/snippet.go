package website

import (
	"fmt"
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
	return fmt.Sprintf(`<script async src="%s" data-client-id="%s" data-api-url="%s"></script>`,
		html.EscapeString(ScriptURL(ingestURL)), html.EscapeString(w.ClientID), html.EscapeString(strings.TrimSuffix(ingestURL, "/")))
}
