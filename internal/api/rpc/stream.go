package rpc

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/gofiber/fiber/v2"

	"github.com/millrace/millrace/internal/api/httpkit"
	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/tenant/auth"
)

// Stream is the response of an operation that writes it while it is made: a file,
// and not the JSON object that all others answer with. What the operation rejects
// it rejects before, as others do.
type Stream struct {
	httpkit.Stream

	// FileName is what a browser would save the response as: letters, digits, dots,
	// dashes and underscores.
	FileName string
	// May reports whether the caller, who is still one of the operation's class, may have the rest: nil, or
	// the error that a new call would get. May be nil.
	May func(ctx context.Context, p auth.Principal) error
	// Header are further fields of the response, by their names.
	Header map[string]string
}

// Streamed declares what an operation's stream looks like.
type Streamed struct {
	// ContentTypes are those that the stream may have.
	ContentTypes []string
	// Header and Trailers are the fields of Stream, with what they say.
	Header, Trailers map[string]string
}

// OpStream binds a handler that streams to its row. In is as for Op.
func OpStream[In any](
	spec Spec, streamed Streamed, handle func(context.Context, *Call, *In) (*Stream, error),
) Operation {
	return Operation{
		Spec: spec, in: reflect.TypeFor[In](), streamed: &streamed,
		run: func(ctx context.Context, call *Call, body []byte) (any, error) {
			in := new(In)
			if err := json.Unmarshal(body, in); err != nil {
				return nil, apierr.Wrap(apierr.Internal, fmt.Errorf("decoding a body that fits the schema: %w", err))
			}
			return handle(ctx, call, in)
		},
	}
}

// send answers with a stream, and cuts it off when the caller's right to the call ends.
func (e *endpoint) send(c *fiber.Ctx, call *Call, s *Stream) error {
	secret := bytes.Clone(httpkit.Credential(c))
	s.Check = func(ctx context.Context) error {
		p, err := e.deps.Identifier.again(ctx, secret, call)
		if err == nil {
			err = auth.Admit(p, e.operation.Class)
		}
		if err == nil && s.May != nil {
			err = s.May(ctx, p)
		}
		if err != nil && !ofCaller(err) {
			return nil // it is not known now
		}
		return err
	}
	write := s.Write
	s.Write = func(ctx context.Context, w io.Writer) error {
		if err := write(ctx, w); err != nil {
			return e.seen(err)
		}
		return nil
	}
	if err := httpkit.SendStream(c, &s.Stream); err != nil {
		return err
	}
	c.Status(http.StatusOK)
	c.Set(fiber.HeaderCacheControl, "no-store")
	c.Set(fiber.HeaderXContentTypeOptions, "nosniff")
	c.Set(fiber.HeaderContentDisposition, `attachment; filename="`+s.FileName+`"`)
	for name, value := range s.Header {
		c.Set(name, value)
	}
	return nil
}

// response is what the document says of a stream.
func (s *Streamed) response() *huma.Response {
	r := &huma.Response{
		Description: "Streamed result. A body without its end, the last chunk of the chunked encoding, was cut off.",
		Content:     map[string]*huma.MediaType{}, Headers: map[string]*huma.Param{},
	}
	for _, t := range s.ContentTypes {
		media, _, _ := strings.Cut(t, ";")
		r.Content[media] = &huma.MediaType{} // no schema: it is no JSON
	}
	for name, doc := range s.Header {
		r.Headers[name] = &huma.Param{Description: doc, Schema: &huma.Schema{Type: huma.TypeString}}
	}
	for name, doc := range s.Trailers {
		r.Headers[name] = &huma.Param{
			Description: "Trailer, after the body. " + doc, Schema: &huma.Schema{Type: huma.TypeString},
		}
	}
	return r
}
