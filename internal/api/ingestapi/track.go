package ingestapi

import (
	"strconv"

	"github.com/gofiber/fiber/v2"

	"github.com/millrace/millrace/internal/httpkit"
	"github.com/millrace/millrace/internal/ingest"
)

// track serves POST /track. Everything that it passes on aliases fiber's
// memory; the tracker keeps none of it.
func (h *handlers) track(c *fiber.Ctx) error {
	body, err := httpkit.Body(c)
	if err != nil {
		return err
	}
	count, err := h.tracker.Track(c.UserContext(), ingest.Request{
		Body:        body,
		Key:         httpkit.Credential(c),
		From:        httpkit.ClientAddr(c),
		WebsiteID:   c.Context().QueryArgs().Peek("website_id"),
		Addr:        httpkit.ClientAddr(c),
		ID:          httpkit.RequestIDBytes(c),
		Traceparent: httpkit.Traceparent(c),
	})
	if err != nil {
		return err
	}
	var space [96]byte
	out := append(space[:0], `{"status":"success","type":"custom_event","count":`...)
	return answer(c, append(strconv.AppendInt(out, int64(count), 10), '}'))
}
