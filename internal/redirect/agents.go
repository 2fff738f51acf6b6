package redirect

import (
	"bytes"

	"github.com/millrace/millrace/internal/click"
	"github.com/millrace/millrace/internal/enrich"
)

// prefetchValues are the words with which a browser says that nobody has asked for the
// page yet, by the header in which it does. Programs that only show where a link leads,
// as Safari's favourites do, use the last one.
var prefetchValues = map[string][]string{
	"Sec-Purpose": {"prefetch", "prerender"},
	"Purpose":     {"prefetch", "prerender", "preview"},
	"X-Moz":       {"prefetch"},
	"X-Purpose":   {"prefetch", "preview"},
}

// PrefetchHeaders are the headers by which IsPrefetch is answered.
var PrefetchHeaders = []string{"Sec-Purpose", "Purpose", "X-Moz", "X-Purpose"}

// IsPrefetch reports whether a header of PrefetchHeaders says that a browser asks for what
// it may need.
func IsPrefetch(header string, value []byte) bool {
	for _, word := range prefetchValues[header] {
		if bytes.Contains(bytes.ToLower(value), []byte(word)) {
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
