package sink

import (
	"context"
	"slices"
	"strconv"

	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/millrace/millrace/internal/platform/telemetry"
)

// maxLinks bounds the requests that one range's span names.
const maxLinks = 32

// startSpan begins the span of a range. A range holds events of many requests,
// each with a trace of its own: the span continues that of the first one that
// was traced and links to the others. Without any there is no span.
func (s *settler) startSpan(ctx context.Context, j *job) (context.Context, trace.Span) {
	if s.deps.Tracer == nil {
		return ctx, noop.Span{}
	}
	links := linksOf(ctx, j.Traced())
	if len(links) == 0 {
		return ctx, noop.Span{}
	}
	ctx = trace.ContextWithRemoteSpanContext(ctx, links[0].SpanContext)
	return s.deps.Tracer.Start(ctx, "store "+s.partition.Topic, //nolint:spancheck // its caller ends it
		trace.WithSpanKind(trace.SpanKindConsumer),
		trace.WithLinks(links[1:]...),
		trace.WithAttributes(
			semconv.MessagingSystemKafka, semconv.MessagingOperationName("store"), semconv.MessagingOperationTypeProcess,
			semconv.MessagingDestinationName(s.partition.Topic),
			semconv.MessagingDestinationPartitionID(strconv.Itoa(int(s.partition.Index))),
			semconv.MessagingConsumerGroupName(s.cfg.Group), semconv.MessagingBatchMessageCount(len(j.Records)),
			semconv.MessagingKafkaOffset(int(j.First)), attribute.Int64("millrace.last_offset", j.Last),
		))
}

// startInsert begins the span of one insert of a range that is traced.
func startInsert(ctx context.Context, topic string, b Block) (context.Context, trace.Span) {
	return telemetry.StartChild(ctx, "INSERT "+topic, func() []trace.SpanStartOption {
		return []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(
			semconv.DBSystemNameClickHouse, semconv.DBOperationName("INSERT"), semconv.DBOperationBatchSize(b.Rows()),
		)}
	})
}

// linksOf names the traced requests of a range, each once, up to maxLinks.
func linksOf(ctx context.Context, parents []string) []trace.Link {
	var seen []trace.SpanContext
	for _, parent := range parents {
		sc := trace.SpanContextFromContext(telemetry.ContextWithTraceparent(ctx, parent))
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
