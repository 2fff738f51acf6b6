package analytics

import "strings"

// The names of events that mean something to us, from whatever route they came.
const (
	ScreenView   = "screen_view"   // a page view
	PageExit     = "page_exit"     // leaving a page; time_on_page holds seconds
	LinkOut      = "link_out"      // a click on a link to elsewhere
	OutgoingLink = "outgoing_link" // the same, from older trackers
	Engagement   = "engagement"    // what a visitor did on a page
)

// ReservedNames lists the events that are not custom events. Every other name is
// the caller's own.
var ReservedNames = []string{ScreenView, PageExit, LinkOut, OutgoingLink, Engagement}

// customEvent is the predicate of a custom event.
var customEvent = "e.name NOT IN (" + quoteAll(ReservedNames) + ")"

// outgoing is the predicate of a click on a link to elsewhere.
var outgoing = "e.name IN (" + quoteAll([]string{LinkOut, OutgoingLink}) + ")"

const pageView = "e.name = '" + ScreenView + "'"

// quoteAll returns constants of ours as SQL literals. Never give it input.
func quoteAll(names []string) string {
	return "'" + strings.Join(names, "', '") + "'"
}
