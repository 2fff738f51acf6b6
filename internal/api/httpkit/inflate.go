package httpkit

import (
	"bytes"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/valyala/fasthttp"

	"github.com/millrace/millrace/internal/contract/apierr"
)

// maxWindow is the largest zstd window accepted, in bytes: what RFC 8878 asks of
// every decoder, and what one decoder costs at most.
const maxWindow = 8 << 20

// encoding is one content encoding that a body may have. Its readers are reused.
type encoding struct {
	names []string
	// reset points reader, nil for the first time, at src.
	reset func(reader io.Reader, src io.Reader) (io.Reader, error)
	idle  sync.Pool
}

// encodings is the table of what is accepted besides "identity".
var encodings = []*encoding{
	{names: []string{"gzip", "x-gzip"}, reset: func(r, src io.Reader) (io.Reader, error) {
		if z, ok := r.(*gzip.Reader); ok {
			return z, z.Reset(src)
		}
		return gzip.NewReader(src)
	}},
	{names: []string{"br"}, reset: func(r, src io.Reader) (io.Reader, error) {
		if z, ok := r.(*brotli.Reader); ok {
			return z, z.Reset(src)
		}
		return brotli.NewReader(src), nil
	}},
	{names: []string{"zstd"}, reset: func(r, src io.Reader) (io.Reader, error) {
		if z, ok := r.(*zstd.Decoder); ok {
			return z, z.Reset(src)
		}
		return zstd.NewReader(src, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(maxWindow))
	}},
}

// inflating bounds the decompressions at work, and so their memory: the body is
// already here, so none of them waits for a caller.
var inflating = make(chan struct{}, runtime.GOMAXPROCS(0))

// encodingOf returns the request's encoding; nil when the body is plain.
func encodingOf(h *fasthttp.RequestHeader) (*encoding, error) {
	value := h.Peek(fasthttp.HeaderContentEncoding)
	if len(value) == 0 {
		return nil, nil
	}
	if len(h.PeekAll(fasthttp.HeaderContentEncoding)) > 1 || bytes.IndexByte(value, ',') >= 0 {
		return nil, rejectedEncoding("Only one Content-Encoding is accepted")
	}
	name := strings.ToLower(strings.TrimSpace(string(value)))
	if name == "identity" {
		return nil, nil
	}
	for _, e := range encodings {
		if slices.Contains(e.names, name) {
			return e, nil
		}
	}
	return nil, rejectedEncoding("Content-Encoding must be gzip, br, zstd or identity")
}

func rejectedEncoding(message string) *apierr.Error {
	return &apierr.Error{Code: apierr.Validation, Details: []apierr.Detail{
		{Index: apierr.NoIndex, Field: "Content-Encoding", Rule: "unsupported_encoding", Message: message},
	}}
}

// inflate decompresses raw up to the body limit.
func (r *request) inflate(rc *fasthttp.RequestCtx, e *encoding, raw []byte) ([]byte, error) {
	if len(r.inflated.b) > 0 { // asked before
		return r.inflated.b, nil
	}
	limit := r.limit
	first := min(4*len(raw), limit) + 1
	// Before the slot, so that nobody waits for memory in it.
	if err := r.claim(rc, len(raw)+first); err != nil {
		return nil, err
	}
	inflating <- struct{}{}
	defer func() { <-inflating }()

	idle, _ := e.idle.Get().(io.Reader)
	z, err := e.reset(idle, bytes.NewReader(raw))
	if err != nil {
		return nil, brokenEncoding(e, err)
	}
	defer e.put(z)
	for size := first; ; size = min(2*size, limit+1) {
		if size > first {
			r.openClaim(rc)
			if err := r.claimed.Take(int64(len(raw)+size) - r.claimed.Bytes()); err != nil {
				return nil, err
			}
		}
		r.inflated.grow(size)
		before := len(r.inflated.b)
		err := r.inflated.fill(z, size, size)
		// At once, so that a few bytes that become much cost no more than they may.
		if err := r.meter.add(r.inflated.b[before:]); err != nil {
			return nil, err
		}
		switch {
		case len(r.inflated.b) > limit:
			return nil, apierr.New(apierr.PayloadTooLarge)
		case err == io.EOF: //nolint:errorlint // io.Reader's own contract
			return r.inflated.b, nil
		case err != nil:
			return nil, brokenEncoding(e, err)
		}
	}
}

// put keeps a reader for the next body without keeping this one's bytes.
func (e *encoding) put(z io.Reader) {
	if _, err := e.reset(z, bytes.NewReader(nil)); err == nil || err == io.EOF { //nolint:errorlint // gzip's for no bytes
		e.idle.Put(z)
	}
}

func brokenEncoding(e *encoding, err error) *apierr.Error {
	message := "The body is not valid " + e.names[0]
	return &apierr.Error{Code: apierr.Validation, Err: err, Details: []apierr.Detail{
		{Index: apierr.NoIndex, Rule: "invalid_encoding", Message: message},
	}}
}
