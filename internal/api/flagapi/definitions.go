package flagapi

import (
	"encoding/json"
	"fmt"

	"github.com/gofiber/fiber/v2"

	"github.com/millrace/millrace/internal/httpkit"
)

// definitionsBody is what flags and segments are made of, as the management operations tell
// it.
type definitionsBody struct {
	Count    int   `json:"count"`
	Flags    []any `json:"flags"`
	Segments []any `json:"segments"`
}

// definitions serves GET /public/v1/flags/definitions: the flags that the website has,
// active or not, and the segments that they may ask for. A key of one website is told of what
// is that website's own, as everywhere.
func (h *Host) definitions(c *fiber.Ctx, w *work) error {
	if err := h.load(c.UserContext(), &w.caller); err != nil {
		return err
	}
	told := func(websiteID string) bool {
		return websiteID == w.website.ID || websiteID == "" && w.principal.WebsiteID == ""
	}
	body, now := definitionsBody{Flags: []any{}, Segments: []any{}}, h.deps.Now()
	for f := range w.set.All(w.website.ID) {
		if told(f.WebsiteID) {
			body.Flags = append(body.Flags, h.deps.Shapes.Flag(f.Record, now))
		}
	}
	for _, g := range w.set.Segments {
		if told(g.WebsiteID) {
			body.Segments = append(body.Segments, h.deps.Shapes.Segment(g))
		}
	}
	body.Count = len(body.Flags)
	text, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("writing %d flags: %w", body.Count, err)
	}
	c.Set(fiber.HeaderCacheControl, "private, no-store")
	return httpkit.Send(c, fiber.MIMEApplicationJSON, text)
}
