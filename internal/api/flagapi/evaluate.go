package flagapi

import (
	"strconv"

	"github.com/gofiber/fiber/v2"

	"github.com/millrace/millrace/internal/resource/flag/flageval"
	"github.com/millrace/millrace/internal/resource/flag/flagset"
)

// evaluate serves GET /public/v1/flags/evaluate.
func (h *Host) evaluate(c *fiber.Ctx, w *work) error {
	if err := h.begin(c, w); err != nil {
		return err
	}
	f := w.find(w.text[paramKey])
	r, ok, err := w.evaluate(f)
	if err != nil {
		return err
	}
	body := c.Context().Response.SwapBody(nil)[:0]
	if ok {
		h.expose(w, f, r)
		body = appendResult(body, f, r)
	} else {
		body = append(body, missing...)
	}
	w.respond(c, body, body)
	return nil
}

// bulk serves GET /public/v1/flags/bulk: the flags of a list of keys that are there for the
// caller, or all of them.
func (h *Host) bulk(c *fiber.Ctx, w *work) error {
	list := w.text[paramKeys]
	var err error
	if w.keys, err = split(w.keys, list); err != nil {
		return err
	}
	if err := h.begin(c, w); err != nil {
		return err
	}
	b := listing{body: append(c.Context().Response.SwapBody(nil)[:0], `{"flags":{`...)}
	if list != "" {
		err = h.named(c, w, &b)
	} else {
		err = b.all(c, w)
	}
	if err != nil {
		return err
	}
	body := strconv.AppendInt(append(b.body, `},"count":`...), int64(b.n), 10)
	result := len(body) // what follows is no part of it
	body = w.at.UTC().AppendFormat(append(body, `,"timestamp":"`...), timestamp)
	w.respond(c, append(body, `"}`...), body[:result])
	return nil
}

// timestamp is the form of times on the wire.
const timestamp = "2006-01-02T15:04:05.000Z"

// named lists the flags of the keys that the caller names.
func (h *Host) named(c *fiber.Ctx, w *work, b *listing) error {
	for _, key := range w.keys {
		f := w.find(key)
		r, ok, err := b.add(w, f)
		if err != nil {
			return err
		}
		if ok {
			w.served = append(w.served, served{f, r})
		}
		if w.outgrows(b.body) {
			if b.body, err = w.claimNamed(c, b.body); err != nil {
				return err
			}
		}
	}
	for _, s := range w.served {
		h.expose(w, s.flag, s.result)
	}
	return nil
}

// listing is the flags of a bulk, as JSON.
type listing struct {
	body []byte
	n    int
}

// all lists the flags that the caller sees.
func (b *listing) all(c *fiber.Ctx, w *work) error {
	for f := range w.set.All(w.website.ID) {
		if !w.sees(f) {
			continue
		}
		_, _, err := b.add(w, f)
		if err != nil {
			return err
		}
		if w.outgrows(b.body) {
			if b.body, err = w.claimAll(c, b.body); err != nil {
				return err
			}
		}
	}
	return nil
}

// add appends what the person gets of a flag, unless that is as good as none.
func (b *listing) add(w *work, f *flagset.Flag) (r flageval.Result, ok bool, err error) {
	if r, ok, err = w.evaluate(f); !ok {
		return r, false, err
	}
	if b.n++; b.n > 1 {
		b.body = append(b.body, ',')
	}
	b.body = append(append(append(b.body, '"'), f.Key()...), `":`...)
	b.body = appendResult(b.body, f, r)
	return r, true, nil
}
