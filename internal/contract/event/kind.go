package event

// Kind is what an event tells of.
type Kind uint8

// The kinds. All but the first are what browsers send by themselves.
const (
	Custom       Kind = iota // whatever the caller names
	PageView                 // a page was shown: name screen_view
	PageExit                 // a page was left: name page_exit
	OutgoingLink             // a link to elsewhere was followed: name outgoing_link
	Engagement               // what a visitor did on a page: name engagement
	Vital                    // a measurement of a page: the name is the metric's
	Error                    // an error in a page's script: the name is the error's type
	Identify                 // who a visitor is: name identify
)
