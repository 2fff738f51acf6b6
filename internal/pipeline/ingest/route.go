package ingest

import (
	"github.com/millrace/millrace/internal/contract/event"
	"github.com/millrace/millrace/internal/tenant/ratelimit"
)

// Route is one way in: what differs between them is here, and the steps are the
// same for all.
type Route struct {
	// Name stands in metrics.
	Name string
	// Form and Shape say what a body holds.
	Form  *event.Form
	Shape event.Shape
	// Each says that every event of a body stands for itself: those that break a rule
	// do not keep the others out.
	Each bool
	// BodyID says that the client id may be the body's websiteId.
	BodyID bool
	// OfWebsite says that the events are a website's, and never an organization's.
	OfWebsite bool
	// Family is under which limit requests are counted.
	Family ratelimit.Family
}

// The routes.
var (
	Track      = &Route{Name: "track", Form: event.Track, Shape: event.OneOrMany, BodyID: true, Family: ratelimit.Track}
	Page       = &Route{Name: "page", Form: event.Pages, Shape: event.One, Family: ratelimit.Page}
	Batch      = &Route{Name: "batch", Form: event.Pages, Shape: event.Many, Each: true, Family: ratelimit.Batch}
	Vitals     = &Route{Name: "vitals", Form: event.Vitals, Shape: event.Many, Family: ratelimit.Vitals}
	Errors     = &Route{Name: "errors", Form: event.Errors, Shape: event.Many, Family: ratelimit.Errors}
	Engagement = &Route{Name: "engagement", Form: event.Engagements, Shape: event.Many, Family: ratelimit.Engagement}
	Identify   = &Route{
		Name: "identify", Form: event.Identities, Shape: event.One, BodyID: true, OfWebsite: true, Family: ratelimit.Identify,
	}
)

// The routes of the pixel, by the type of its event.
var (
	PixelPage  = &Route{Name: "pixel", Form: event.Pixels, Shape: event.One, Family: ratelimit.Pixel}
	PixelVital = &Route{Name: "pixel", Form: event.Vitals, Shape: event.One, Family: ratelimit.Pixel}
	PixelError = &Route{Name: "pixel", Form: event.Errors, Shape: event.One, Family: ratelimit.Pixel}
)
