package ingestapi

import (
	"bytes"
	"compress/gzip"
	"io"
	"strings"
	"sync"

	"github.com/andybalholm/brotli"
	"github.com/gofiber/fiber/v2"

	"github.com/millrace/millrace/internal/api/httpkit"
	"github.com/millrace/millrace/web/tracker"
)

// How long a response may be used without asking again.
const (
	// byName is short: it is how long an upgrade takes to reach the pages.
	byName = "public, max-age=3600, must-revalidate"
	byHash = "public, max-age=31536000, immutable"
	// stranger is for a hash that is not known here, such as that of a newer
	// release while edges are being replaced: the response is not what was named.
	stranger = "no-cache"
)

// scripts are the files of the tracker by path. They are the same for everybody.
type scripts struct {
	byPath map[string]*asset
	named  map[string]*asset // the current files by the stem of their name
}

// asset is one file in the codings in which it can be sent.
type asset struct {
	etag   string
	cached string // Cache-Control
	plain  []byte
	packed func() (gzipped, brotlied []byte)
}

func newAsset(f *tracker.File, cached string) *asset {
	return &asset{
		etag: `W/"` + f.Hashed + `"`, cached: cached, plain: f.Content,
		packed: sync.OnceValues(func() (gzipped, brotlied []byte) { return gzipOf(f.Content), brotliOf(f.Content) }),
	}
}

// newScripts lays out the files of the tracker.
func newScripts(current, kept []*tracker.File) *scripts {
	s := &scripts{byPath: map[string]*asset{}, named: map[string]*asset{}}
	for _, f := range kept {
		s.byPath["/"+f.Hashed] = newAsset(f, byHash)
	}
	for _, f := range current {
		s.byPath["/"+f.Hashed] = newAsset(f, byHash)
		s.byPath["/"+f.Name] = newAsset(f, byName)
		s.named[strings.TrimSuffix(f.Name, ".js")] = newAsset(f, stranger)
	}
	return s
}

// find returns the file at a path; nil when none can be there. For a hash that is
// not known it is the current file: a page whose tag has a checksum rejects it,
// as it would reject a 404, and all others go on counting.
func (s *scripts) find(path string) *asset {
	if a := s.byPath[path]; a != nil {
		return a
	}
	stem, rest, _ := strings.Cut(strings.TrimPrefix(path, "/"), ".")
	if hash, isScript := strings.CutSuffix(rest, ".js"); !isScript || !tracker.IsHash(hash) {
		return nil
	}
	return s.named[stem]
}

// script serves GET /tracker.js and the other files of the tracker.
func (h *handlers) script(c *fiber.Ctx) error {
	a := h.scripts.find(c.Path())
	if a == nil {
		return fiber.ErrNotFound
	}
	header := &c.Context().Response.Header
	// Every page gets the same, so caches keep one response and not one for each
	// origin, as they must for responses to events.
	header.Del(fiber.HeaderAccessControlAllowCredentials)
	header.Set(fiber.HeaderAccessControlAllowOrigin, "*")
	header.Set(fiber.HeaderVary, fiber.HeaderAcceptEncoding)
	header.Set("Cross-Origin-Resource-Policy", "cross-origin")
	header.Set(fiber.HeaderXContentTypeOptions, "nosniff")
	header.Set(fiber.HeaderCacheControl, a.cached)
	header.Set(fiber.HeaderETag, a.etag)
	if httpkit.Unchanged(c.Get(fiber.HeaderIfNoneMatch), a.etag) {
		return c.SendStatus(fiber.StatusNotModified)
	}
	header.SetContentType("text/javascript; charset=utf-8")
	body, coding := a.choose(c.Get(fiber.HeaderAcceptEncoding))
	if coding != "" {
		header.Set(fiber.HeaderContentEncoding, coding)
	}
	httpkit.SendShared(c, body)
	return nil
}

// choose returns the smallest form that a caller with this Accept-Encoding reads,
// and the name of its coding; "" for the plain one.
func (a *asset) choose(accepted string) (body []byte, coding string) {
	if accepted == "" {
		return a.plain, ""
	}
	gzipped, brotlied := a.packed()
	switch {
	case accepts(accepted, "br"):
		return brotlied, "br"
	case accepts(accepted, "gzip"):
		return gzipped, "gzip"
	}
	return a.plain, ""
}

// accepts reports whether an Accept-Encoding names a coding and does not reject
// it. "*" is not taken as a name: what asks so is no browser.
func accepts(header, coding string) bool {
	for entry := range strings.SplitSeq(header, ",") {
		name, parameter, _ := strings.Cut(entry, ";")
		if !strings.EqualFold(strings.TrimSpace(name), coding) {
			continue
		}
		quality, has := strings.CutPrefix(strings.ReplaceAll(strings.ToLower(parameter), " ", ""), "q=")
		return !has || strings.Trim(quality, "0.") != ""
	}
	return false
}

func gzipOf(content []byte) []byte {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil { // not with a level of the package's own
		return nil
	}
	return pack(&b, w, content)
}

func brotliOf(content []byte) []byte {
	var b bytes.Buffer
	return pack(&b, brotli.NewWriterLevel(&b, brotli.BestCompression), content)
}

// pack writes content through w, which ends in b.
func pack(b *bytes.Buffer, w io.WriteCloser, content []byte) []byte {
	// A buffer takes everything.
	_, _ = w.Write(content)
	_ = w.Close()
	return b.Bytes()
}
