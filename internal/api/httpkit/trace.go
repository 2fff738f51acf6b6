package httpkit

import (
	"context"
	"strconv"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"
	"go.opentelemetry.io/otel/codes"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/millrace/millrace/internal/platform/telemetry"
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

// traced runs fiber's handler inside the request's span. It is a child of the span that
// a trusted proxy names, traced where that is. Whether anybody else's request is traced is
// not for its caller to say: the span begins a trace of ours, and links to theirs.
func (k *kit) traced(rc *fasthttp.RequestCtx, r *request) {
	ctx := telemetry.ContextWithRequestID(context.Background(), string(r.ctx.id))
	options := append(make([]trace.SpanStartOption, 0, 2), trace.WithSpanKind(trace.SpanKindServer))
	caller := telemetry.ContextWithTraceparent(ctx, string(rc.Request.Header.Peek(headerTraceparent)))
	if k.cfg.Proxies.trusts(peer(rc)) {
		ctx = caller
	} else if sc := trace.SpanContextFromContext(caller); sc.IsValid() {
		options = append(options, trace.WithLinks(trace.Link{SpanContext: sc}))
	}
	ctx, span := k.tracer.Start(ctx, "HTTP", options...)
	defer span.End()
	r.ctx.mu.Lock()
	r.ctx.values = ctx
	r.ctx.mu.Unlock()
	k.handler(rc)
	describe(span, rc, r)
}

// describe says what was asked and answered, in the terms of OpenTelemetry's
// conventions, and nothing of who asked: no address, no agent, no query.
func describe(span trace.Span, rc *fasthttp.RequestCtx, r *request) {
	if !span.IsRecording() {
		return
	}
	status := rc.Response.StatusCode()
	span.SetAttributes(semconv.HTTPResponseStatusCode(status))
	if r.route == nil {
		span.SetAttributes(semconv.HTTPRequestMethodOther) // whatever a caller made up
	} else {
		span.SetName(r.route.Method + " " + r.route.Path)
		span.SetAttributes(semconv.HTTPRequestMethodKey.String(r.route.Method), semconv.HTTPRoute(r.route.Path))
	}
	if status >= fasthttp.StatusInternalServerError {
		span.SetStatus(codes.Error, "")
		span.SetAttributes(semconv.ErrorTypeKey.String(strconv.Itoa(status)))
	}
}
