package queryapi

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"strconv"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/millrace/millrace/internal/analytics"
	"github.com/millrace/millrace/internal/platform/buildinfo"
)

// format is how a response is written.
type format uint8

// The formats, the one first that is written where the caller has no wish.
const (
	formatJSON format = iota
	formatCSV
	formatNDJSON
)

// formats is the table of them.
var formats = []struct {
	mediaTypes  []string // by which it can be asked for
	contentType string
}{
	formatJSON:   {[]string{"application/json", "application/*", "*/*"}, fiber.MIMEApplicationJSON},
	formatCSV:    {[]string{"text/csv", "text/*"}, "text/csv; charset=utf-8; header=present"},
	formatNDJSON: {[]string{"application/x-ndjson", "application/ndjson"}, "application/x-ndjson"},
}

// listOf is a header that is a list, whose items may stand in several fields.
func listOf(c *fiber.Ctx, name string) string {
	return string(bytes.Join(c.Request().Header.PeekAll(name), []byte{','}))
}

// formatOf returns the format that an Accept header likes best: of several alike the
// first of the table, and JSON where it names none of them.
func formatOf(accept string) format {
	best, most := formatJSON, 0.0
	for f := range formats {
		weight, exact := 0.0, len(formats[f].mediaTypes)
		for item := range strings.SplitSeq(accept, ",") {
			name, parameters, _ := strings.Cut(item, ";")
			for i, m := range formats[f].mediaTypes[:exact] { // the more exact name counts
				if strings.EqualFold(strings.TrimSpace(name), m) {
					weight, exact = quality(parameters), i
					break
				}
			}
		}
		if weight > most {
			best, most = format(f), weight
		}
	}
	return best
}

// quality reads the weight of an item of a header; 1 without one, and 0 for one that
// makes no sense.
func quality(parameters string) float64 {
	for p := range strings.SplitSeq(parameters, ";") {
		if key, value, found := strings.Cut(strings.TrimSpace(p), "="); found && strings.EqualFold(key, "q") {
			q, err := strconv.ParseFloat(value, 64)
			if err != nil || !(0 <= q && q <= 1) {
				return 0
			}
			return q
		}
	}
	return 1
}

// freshnessOf reads what a caller wants of responses that are kept.
func freshnessOf(c *fiber.Ctx) (wants analytics.Freshness) {
	for item := range strings.SplitSeq(listOf(c, fiber.HeaderCacheControl), ",") {
		switch strings.ToLower(strings.TrimSpace(item)) {
		case "no-store":
			wants.NoRead, wants.NoStore = true, true
		case "no-cache", "max-age=0":
			wants.NoRead = true
		}
	}
	return wants
}

// etagOf names a response by all that it is made of: what was asked, of what state of
// the data, in what form, by which build. It is a weak one: the response repeats the
// request's id.
func etagOf(tag []byte, parts ...string) string {
	h := sha256.New()
	for _, p := range append(parts, buildinfo.Version()) {
		h.Write([]byte(strconv.Itoa(len(p)) + ":" + p))
	}
	h.Write(tag)
	return `W/"` + base64.RawURLEncoding.EncodeToString(h.Sum(nil)[:18]) + `"`
}

// matches reports whether an If-None-Match header names a response.
func matches(header, etag string) bool {
	for item := range strings.SplitSeq(header, ",") {
		item = strings.TrimSpace(item)
		if strings.TrimPrefix(item, "W/") == strings.TrimPrefix(etag, "W/") {
			return true
		}
	}
	return false
}
