package flagapi

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/millrace/millrace/internal/api/httpkit"
	"github.com/millrace/millrace/internal/resource/flag"
	"github.com/millrace/millrace/internal/resource/flag/flagset"
)

// definitions serves GET /public/v1/flags/definitions: the flags that the website has,
// active or not, and the segments that they may ask for. A key of one website is told of what
// is that website's own, as everywhere. All of it may be hundreds of megabytes, so it is
// written while it is made.
func (h *Host) definitions(c *fiber.Ctx, w *work) error {
	if err := h.load(c.UserContext(), &w.caller); err != nil {
		return err
	}
	d := &definitions{shapes: h.deps.Shapes, now: h.deps.Now()}
	told := func(websiteID string) bool {
		return websiteID == w.website.ID || websiteID == "" && w.principal.WebsiteID == ""
	}
	for f := range w.set.All(w.website.ID) {
		if told(f.WebsiteID) {
			d.flags = append(d.flags, f)
		}
	}
	for _, g := range w.set.Segments {
		if told(g.WebsiteID) {
			d.segments = append(d.segments, g)
		}
	}
	c.Set(fiber.HeaderCacheControl, "private, no-store")
	w.bill(c)
	httpkit.WhenSent(c, w.hold(c.UserContext()))
	return httpkit.SendStream(c, &httpkit.Stream{
		ContentType: fiber.MIMEApplicationJSON, Compress: true, Write: d.write,
	})
}

// definitions are flags and segments to be told as the management operations tell them.
type definitions struct {
	shapes   Shapes
	now      time.Time
	flags    []*flagset.Flag
	segments []*flag.Segment
}

// write writes all of them as one JSON object.
func (d *definitions) write(_ context.Context, w io.Writer) error {
	if _, err := fmt.Fprintf(w, `{"count":%d,"flags":[`, len(d.flags)); err != nil {
		return err
	}
	for i, f := range d.flags {
		if err := writeElement(w, i, d.shapes.Flag(f.Record, d.now)); err != nil {
			return err
		}
	}
	if _, err := io.WriteString(w, `],"segments":[`); err != nil {
		return err
	}
	for i, g := range d.segments {
		if err := writeElement(w, i, d.shapes.Segment(g)); err != nil {
			return err
		}
	}
	_, err := io.WriteString(w, "]}")
	return err
}

// writeElement writes one of the elements of a JSON array.
func writeElement(w io.Writer, i int, shape any) error {
	text, err := json.Marshal(shape)
	if err != nil {
		return fmt.Errorf("encoding element %d of definitions: %w", i, err)
	}
	if i > 0 {
		if _, err := w.Write([]byte{','}); err != nil {
			return err
		}
	}
	_, err = w.Write(text)
	return err
}
