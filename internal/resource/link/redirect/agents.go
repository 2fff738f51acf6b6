package redirect

import (
	"bytes"

	"github.com/millrace/millrace/internal/pipeline/enrich"
	"github.com/millrace/millrace/internal/resource/link/click"
)

// Words with which a browser says that nobody has asked for the page yet.
var (
	fetched  = [][]byte{[]byte("prefetch")}
	rendered = [][]byte{[]byte("prefetch"), []byte("prerender")}
	shown    = [][]byte{[]byte("prefetch"), []byte("preview")}
	anyOf    = [][]byte{[]byte("prefetch"), []byte("prerender"), []byte("preview")}
)

// prefetchWords are the words by the header that has them, named as net/textproto does.
// Programs that only show where a link leads, as Safari's favourites do, say X-Purpose.
func prefetchWords(header []byte) [][]byte {
	switch string(header) { // no map: it is asked of every header of a request
	case "Sec-Purpose":
		return rendered
	case "Purpose":
		return anyOf
	case "X-Moz":
		return fetched
	case "X-Purpose":
		return shown
	}
	return nil
}

// IsPrefetch reports whether a header says that a browser asks for what it may need.
func IsPrefetch(header, value []byte) bool {
	for _, word := range prefetchWords(header) {
		if bytes.Contains(bytes.ToLower(value), word) {
			return true
		}
	}
	return false
}

// botOf returns why a visitor is no person; empty for one. What a program calls itself
// goes before what it fetches for.
func botOf(agent *enrich.Agent, prefetch bool) string {
	switch {
	case agent.BotKind == enrich.BotPreview:
		return click.BotPreview
	case agent.BotKind != "":
		return click.BotCrawler
	case prefetch:
		return click.BotPrefetch
	}
	return ""
}
