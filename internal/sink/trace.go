package sink

import (
	"context"
	"slices"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/millrace/millrace/internal/telemetry"
)

// maxLinks bounds the requests that one range's span names.
const maxLinks = 32

// startSpan begins the span of a range. A range holds events of many requests,
// each with a trace of its own: the span continues that of the first one that
// was traced and links to the others. Without any there is no span.
func (s *Sink) startSpan(ctx context.Context, p Partition, r *frozen) (context.Context, trace.Span) {
	if s.deps.Tracer == nil {
		return ctx, noop.Span{}
	}
	links := linksOf(ctx, r.traced)
	if len(links) == 0 {
		return ctx, noop.Span{}
	}
	ctx = trace.ContextWithRemoteSpanContext(ctx, links[0].SpanContext)
	return s.deps.Tracer.Start(ctx, "store "+p.Topic, //nolint:spancheck // its caller ends it
		trace.WithSpanKind(trace.SpanKindConsumer),
		trace.WithLinks(links[1:]...),
		trace.WithAttributes(
			attribute.Int("partition", int(p.Index)),
			attribute.Int64("first_offset", r.First), attribute.Int64("last_offset", r.Last),
			attribute.Int("records", len(r.records)),
		))
}

// linksOf names the traced requests of a range, each once, up to maxLinks.
func linksOf(ctx context.Context, requests []traced) []trace.Link {
	var seen []trace.SpanContext
	for _, r := range requests {
		sc := trace.SpanContextFromContext(telemetry.ContextWithTraceparent(ctx, r.parent))
		if sc.IsSampled() && !slices.ContainsFunc(seen, sc.Equal) {
			seen = append(seen, sc)
		}
		if len(seen) == maxLinks {
			break
		}
	}
	links := make([]trace.Link, len(seen))
	for i := range seen {
		links[i] = trace.Link{SpanContext: seen[i]}
	}
	return links
}
