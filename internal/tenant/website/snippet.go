package website

import (
	"cmp"
	"html"
	"strconv"
	"strings"

	"github.com/millrace/millrace/web/tracker"
)

// ScriptURL returns the address of the tracker on an ingestion host, by the name
// under which the version of the running release is found.
func ScriptURL(ingestURL string) string { return fileURL(ingestURL, tracker.ScriptName) }

// Snippet returns the tag that a website's pages carry in their head. It names the
// tracker of this release by its checksum, so that a browser runs these bytes or
// none; later releases go on serving them. It holds the client id, which is
// public, and when a session is over where that is not DefaultSessionTimeout;
// nothing else of the website.
func (w *Website) Snippet(ingestURL string) string {
	script := tracker.Script()
	return w.tag(ingestURL, attribute("src", fileURL(ingestURL, script.Hashed))+
		attribute("integrity", script.Integrity)+attribute("crossorigin", "anonymous"))
}

// FloatingSnippet returns the tag without a version: pages follow the releases of
// the ingestion host, and nothing is checked.
func (w *Website) FloatingSnippet(ingestURL string) string {
	return w.tag(ingestURL, attribute("src", ScriptURL(ingestURL)))
}

// collected are the options of the tag that say what is collected besides page
// views: told in the tag, so that who puts it into a page sees what it does.
var collected = []string{"data-track-web-vitals", "data-track-errors", "data-track-outgoing-links"}

func (w *Website) tag(ingestURL, source string) string {
	var b strings.Builder
	b.WriteString(`<script async` + source + attribute("data-client-id", w.ClientID) +
		attribute("data-api-url", strings.TrimSuffix(ingestURL, "/")))
	for _, option := range collected {
		b.WriteString(attribute(option, "true"))
	}
	if m := cmp.Or(w.SessionTimeoutMinutes, DefaultSessionTimeout); m != DefaultSessionTimeout {
		b.WriteString(attribute("data-session-timeout-minutes", strconv.Itoa(m)))
	}
	b.WriteString(`></script>`)
	return b.String()
}

func fileURL(ingestURL, name string) string { return strings.TrimSuffix(ingestURL, "/") + "/" + name }

func attribute(name, value string) string { return " " + name + `="` + html.EscapeString(value) + `"` }
