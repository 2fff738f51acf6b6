package httpkit

import (
	"context"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/millrace/millrace/internal/telemetry"
)

const headerTraceparent = "Traceparent"

// recording returns nil for a tracer that records nothing, so that requests pay
// nothing for it.
func recording(t trace.Tracer) trace.Tracer {
	if _, ok := t.(noop.Tracer); ok {
		return nil
	}
	return t
}

// Traceparent returns the W3C trace context of the request's span, for records
// that the request leaves behind; "" where it is not recorded.
func Traceparent(c *fiber.Ctx) string {
	r := requestOf(c.Context())
	if r == nil || r.kit.tracer == nil {
		return ""
	}
	return telemetry.Traceparent(r.ctx)
}

// traced runs fiber's handler inside the request's span, a child of the caller's
// where the request names one.
func (k *kit) traced(rc *fasthttp.RequestCtx, r *request) {
	ctx := telemetry.ContextWithRequestID(context.Background(), string(r.ctx.id))
	ctx = telemetry.ContextWithTraceparent(ctx, string(rc.Request.Header.Peek(headerTraceparent)))
	ctx, span := k.tracer.Start(ctx, string(rc.Method()), trace.WithSpanKind(trace.SpanKindServer))
	defer span.End()
	r.ctx.mu.Lock()
	r.ctx.values = ctx
	r.ctx.mu.Unlock()
	k.handler(rc)
	if r.route != nil {
		span.SetName(r.route.Method + " " + r.route.Path)
	}
	if rc.Response.StatusCode() >= fasthttp.StatusInternalServerError {
		span.SetStatus(codes.Error, "")
	}
}
