package telemetry

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/millrace/millrace/internal/platform/buildinfo"
	"github.com/millrace/millrace/internal/platform/config"
)

const (
	spanQueue     = 4096 // spans waiting to be sent; more are dropped
	spanBatch     = 512
	exportTimeout = 10 * time.Second
	closeTimeout  = 5 * time.Second
)

// newTracer returns a tracer that sends to cfg.Endpoint, or one that only passes
// a caller's trace context on when there is no endpoint.
func newTracer(
	cfg config.Trace, component string, log *slog.Logger,
) (trace.Tracer, func(context.Context) error, error) {
	if cfg.Endpoint == "" {
		return noop.NewTracerProvider().Tracer(scope), func(context.Context) error { return nil }, nil
	}
	endpoint, err := tracesURL(cfg.Endpoint)
	if err != nil {
		return nil, nil, fmt.Errorf("trace.endpoint: %w", err)
	}
	exporter := otlptracehttp.NewUnstarted(
		otlptracehttp.WithEndpointURL(endpoint),
		otlptracehttp.WithTimeout(exportTimeout),
		otlptracehttp.WithCompression(otlptracehttp.GzipCompression),
	)
	provider := sdktrace.NewTracerProvider(
		sdktrace.WithBatcher(exporter,
			sdktrace.WithMaxQueueSize(spanQueue),
			sdktrace.WithMaxExportBatchSize(spanBatch),
			sdktrace.WithExportTimeout(exportTimeout),
		),
		sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.TraceIDRatioBased(cfg.Ratio))),
		sdktrace.WithResource(resource.NewSchemaless(
			attribute.String("service.namespace", "millrace"),
			attribute.String("service.name", component),
			attribute.String("service.version", buildinfo.Version()),
		)),
	)
	// The library reports failed exports to one handler of the process, which
	// would otherwise write to the standard logger.
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		log.Warn("sending spans failed", slog.Any("error", err))
	}))
	return provider.Tracer(scope), func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, closeTimeout)
		defer cancel()
		return provider.Shutdown(ctx)
	}, nil
}

// tracesURL puts the path of traces behind an endpoint that names only a host,
// as the protocol's specification does.
func tracesURL(endpoint string) (string, error) {
	u, err := url.Parse(endpoint)
	if err != nil {
		return "", err
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = "/v1/traces"
	}
	return u.String(), nil
}

// Traceparent returns the W3C trace context of ctx for a Kafka or HTTP header,
// or "" when its trace is not sampled.
func Traceparent(ctx context.Context) string {
	if !trace.SpanContextFromContext(ctx).IsSampled() {
		return ""
	}
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	return carrier["traceparent"]
}

// ContextWithTraceparent returns a context that continues the trace of a
// traceparent header; one that is empty or malformed leaves ctx as it is.
func ContextWithTraceparent(ctx context.Context, traceparent string) context.Context {
	if traceparent == "" {
		return ctx
	}
	return propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{"traceparent": traceparent})
}

// StartChild starts a span below that of ctx, or returns a span that records
// nothing where that one does not: options are asked for only where they count, so
// that what is not traced pays nothing for them.
func StartChild(
	ctx context.Context, name string, options func() []trace.SpanStartOption,
) (context.Context, trace.Span) {
	parent := trace.SpanFromContext(ctx)
	if !parent.IsRecording() {
		return ctx, noop.Span{}
	}
	return parent.TracerProvider().Tracer(scope).Start(ctx, name, options()...) //nolint:spancheck // its caller ends it
}

// End ends a span, as failed where err is not nil. What err says stays in the log:
// it may name what belongs to a caller.
func End(span trace.Span, err error) {
	if err != nil {
		span.SetStatus(codes.Error, "")
	}
	span.End()
}
